"""Draws relative clauses."""

from __future__ import annotations

from dataclasses import replace

from corpus.clauses import Clause, realise
from corpus.options import Options, weights_of
from corpus.phrases import Context, NounPhrase, human
from corpus.subjects import subject
from corpus.timing import fit_tense
from corpus.tokens import Token
from corpus.verbs import complete, draw_frame, draw_verb


def with_relative(ctx: Context, phrase: NounPhrase) -> NounPhrase:
    """the man who sings, the letter that I wrote, the friend I invited."""
    person = "person" in phrase.classes
    ctx.tags.add("relative_clause")
    if person and ctx.chance(0.6) or "animal" in phrase.classes and ctx.chance(0.5):
        return _subject_relative(ctx, phrase, person)
    verbs = [v for v in ctx.lexicon.verbs_of["obj"] if v.object & phrase.classes and v.name != "have"]
    verbs = [v for v in verbs if person is ("person" in v.object & phrase.classes)]
    if not verbs:
        return _subject_relative(ctx, phrase, person)
    verb = ctx.rng.choice(verbs)
    owner = subject(ctx, {"subj": "pronoun:5,name:3,noun:1"}, {})
    while owner.en[0].text == "that":
        owner = human(ctx)
    tense = fit_tense(
        ctx, ctx.choose({"present": 3, "progressive": 1, "past": 5, "future": 1}), verb, owner, ""
    )
    drawn = Clause(owner, [verb], tense, gap=phrase, contract=ctx.chance(0.7))
    body = realise(ctx, drawn)
    if not person:
        ctx.combinations.add((verb.name, phrase.key))
    that = [Token("that")] if ctx.chance(0.7) else []
    link = Token("que", that, [] if that else phrase.en[-1:])
    return replace(phrase, en=phrase.en + that + body.en, fr=[*phrase.fr, link, *body.fr])


def _subject_relative(ctx: Context, phrase: NounPhrase, person: bool) -> NounPhrase:
    source = Token("who" if person else "that")
    owner = replace(phrase, en=[source], fr=[Token("qui", [source])], kind="relative", key="")
    options = (
        {"frame": "intr:3,obj:4,in:2", "plain": "1"} if person else {"frame": "intr:2,obj:2", "plain": "1"}
    )
    options["tense"] = "present:3,progressive:3,past:3,future:1"
    body = realise(ctx, _relative_body(ctx, options, owner))
    return replace(phrase, en=phrase.en + body.en, fr=phrase.fr + body.fr)


def _relative_body(ctx: Context, options: Options, owner: NounPhrase) -> Clause:
    frame = draw_frame(ctx, options, owner)
    verb = draw_verb(ctx, frame, owner, options)
    negation = "not" if ctx.chance(0.08) else ""
    tense = fit_tense(ctx, ctx.choose(weights_of(options["tense"])), verb, owner, negation)
    drawn = Clause(owner, [verb], tense, negation, contract=ctx.chance(0.7))
    complete(ctx, drawn, options, {})
    return drawn
