"""Draws what follows be: adjectives, comparisons, professions, ages."""

from __future__ import annotations

from corpus.lexicon import Adjective, Noun
from corpus.phrases import (
    CLASHES,
    PERSONAL,
    Context,
    NounPhrase,
    fitting_adjectives,
    human,
    name,
    noun_phrase,
    pair,
    pronoun,
    stressed,
)
from corpus.tokens import Pair, Token, french


def attribute(ctx: Context, owner: NounPhrase, kind: str = "") -> Pair:
    """What follows be: an adjective, a profession, a comparison."""
    person = owner.kind != "noun" or "person" in owner.classes
    kind = kind or ctx.choose(
        {"adjective": 7, "job": 1, "compare": 1.2} if person else {"adjective": 6, "compare": 1}
    )
    if owner.key in ("it",) and kind != "adjective":
        kind = "adjective"
    if kind == "young":
        pool = [adjective for adjective in ctx.lexicon.adjectives if adjective.english in ("young", "small")]
        return _predicate(ctx, owner, ctx.rng.choice(pool), 0)
    if kind == "job" and person:
        return job(ctx, owner)
    pool = _predicates(ctx, owner, person)
    if kind == "mood":
        return _predicate(ctx, owner, ctx.rng.choice([a for a in pool if "mood" in a.classes]))
    if kind == "compare":
        graded = [adjective for adjective in pool if adjective.comparative]
        if graded and owner.key != "it" and (person or _peers(ctx, owner)):
            return _compare(ctx, owner, ctx.rng.choice(graded), person)
    adjective = ctx.rng.choice(pool)
    if not person and owner.kind == "noun":
        ctx.combinations.add((adjective.english, owner.key))
    return _predicate(ctx, owner, adjective)


def _predicate(ctx: Context, owner: NounPhrase, adjective: Adjective, much: float = 0.2) -> Pair:
    """An adjective after be, now and then with very or too."""
    source = Token(adjective.english)
    degree = ctx.rng.choice([("very", "très"), ("too", "trop")]) if ctx.chance(much) else None
    if degree and not adjective.comparative:
        degree = None
    target = french(adjective.form(owner.feminine, owner.plural), [source])
    ctx.tags.add("predicate_adjective")
    if owner.feminine or owner.plural:
        ctx.tags.add("agreement")
    if degree:
        word = Token(degree[0])
        return Pair([word, source], [Token(degree[1], [word]), *target])
    return Pair([source], target)


def _predicates(ctx: Context, owner: NounPhrase, person: bool) -> list[Adjective]:
    if person:
        return [a for a in ctx.lexicon.adjectives if "person" in a.classes]
    if owner.kind == "pronoun":
        return [a for a in ctx.lexicon.adjectives if "thing" in a.classes]
    noun = next(n for n in ctx.lexicon.nouns if n.singular == owner.key)
    return [a for a in fitting_adjectives(ctx.lexicon, noun, "bap") if a.english != "true"]


def _compare(ctx: Context, owner: NounPhrase, adjective: Adjective, person: bool) -> Pair:
    """taller than, more patient than, as tall as."""
    other = _other(ctx, owner, person)
    ctx.tags.add("comparative")
    equal = ctx.chance(0.25)
    better = not equal
    form = adjective.form(owner.feminine, owner.plural, compare=better)
    if owner.feminine or owner.plural:
        ctx.tags.add("agreement")
    if equal:
        source = [Token("as"), Token(adjective.english), Token("as")]
        target = [Token("aussi", source[:1]), *french(form, source[1:2])]
    elif adjective.comparative == "more":
        source = [Token("more"), Token(adjective.english), Token("than")]
        target = [Token("plus", source[:1]), *french(form, source[1:2])]
    else:
        source = [Token(adjective.comparative), Token("than")]
        degree = [] if adjective.better else [Token("plus", [], source[:1])]
        target = degree + french(form, source[:1])
    return Pair(source + other.en, [*target, Token("que", source[-1:]), *other.fr])


def _peers(ctx: Context, owner: NounPhrase) -> list[Noun]:
    """The nouns that it makes sense to compare a thing or animal with."""
    kinds = {
        "animal",
        "vehicle",
        "clothes",
        "building",
        "furniture",
        "fruit",
        "drink",
        "show",
    } & owner.classes
    return [noun for noun in ctx.lexicon.nouns_of(kinds) if noun.singular != owner.key]


def _other(ctx: Context, owner: NounPhrase, person: bool) -> Pair:
    if not person:
        dets = {"the": 3, "mine": 2, "this": 1}
        return pair(noun_phrase(ctx, set(), dets, 0.0, ctx.rng.choice(_peers(ctx, owner))))
    roll = ctx.rng.random()
    if roll < 0.45:
        keys = [k for k in PERSONAL if k != owner.key and (k, owner.key) not in CLASHES]
        return stressed(ctx, pronoun(ctx, ctx.rng.choice(keys)))
    if roll < 0.7:
        other = name(ctx)
        return pair(other) if other.key != owner.key else stressed(ctx, pronoun(ctx, "i"))
    return pair(human(ctx, False))


def job(ctx: Context, owner: NounPhrase) -> Pair:
    """a doctor, médecin: professions have no article in French."""
    jobs = ctx.lexicon.nouns_of({"job"})
    jobs = [n for n in jobs if (n.feminine or "epicene" in n.classes if owner.feminine else not n.feminine)]
    noun = ctx.rng.choice(jobs)
    phrase = noun_phrase(ctx, set(), {"zero" if owner.plural else "a": 1}, 0, noun, owner.plural)
    return Pair(phrase.en, phrase.fr[-1:])


def age(ctx: Context, owner: NounPhrase) -> Pair:
    """ten years old, dix ans."""
    low, high = 5, 60
    if owner.classes & {"job", "man", "woman", "father", "mother", "husband", "wife", "boss", "colleague"}:
        low = 20
    if "baby" in owner.classes:
        low, high = 2, 3
    elif owner.classes & {"child", "boy", "girl", "pupil"}:
        low, high = 2, 15
    text, form, _ = ctx.rng.choice([row for row in ctx.lexicon.numbers if low <= row[2] <= high])
    number, years, old = Token(text), Token("years"), Token("old")
    ctx.tags |= {"number", "age"}
    return Pair([number, years, old], [Token(form, [number]), Token("ans", [years], [old])])
