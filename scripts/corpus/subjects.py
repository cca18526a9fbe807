"""Draws the subjects of clauses."""

from __future__ import annotations

from corpus.clauses import Clause
from corpus.options import Options, Slots, weights_of
from corpus.phrases import Context, NounPhrase, human, name, noun_phrase, pronoun, pronoun_for
from corpus.tokens import Token

SUBJECTS = {"pronoun": 5.5, "name": 2, "noun": 2.5}


def subject(ctx: Context, options: Options, slots: Slots) -> NounPhrase:
    """A pronoun, name or noun phrase; `@x` takes up the subject of slot x, `@x.object` its object."""
    wanted = options.get("subj", "")
    if wanted.startswith("@"):
        label, _, role = wanted[1:].partition(".")
        earlier = slots[label]
        assert isinstance(earlier, Clause)
        return pronoun_for(ctx, earlier.direct if role and earlier.direct else earlier.subject)
    kind = ctx.choose(weights_of(wanted) if wanted else SUBJECTS)
    if kind == "pronoun":
        weights: dict[str, float] = {"i": 4, "you": 3, "he": 3, "she": 3, "we": 2, "they": 2}
        if "q" in options:
            weights |= {"i": 0.3, "you": 5}
        for same in {"you": ["you"], "i": ["i", "we"], "we": ["i", "we"]}.get(options.get("obj", ""), []):
            weights[same] = 0
        return pronoun(ctx, ctx.choose(weights))
    if kind == "name":
        return name(ctx)
    if kind == "couple":
        return couple(ctx)
    if kind == "animal":
        return noun_phrase(ctx, {"animal"}, {"the": 3, "mine": 2, "this": 0.5}, 0.15)
    if kind == "goods":
        return noun_phrase(
            ctx, {"small", "clothes", "vehicle"}, {"the": 5, "mine": 2, "this": 1, "that": 0.5}, 0.05
        )
    if kind == "thing":
        return noun_phrase(ctx, _describable(ctx), {"the": 5, "mine": 2, "this": 1, "that": 0.5}, 0.05)
    if kind == "noun":
        if "rel" in options:
            return noun_phrase(ctx, {"person"}, {"the": 1}, 0.05)
        return human(ctx, False if "q" in options else None)
    return pronoun(ctx, kind)


def _describable(ctx: Context) -> set[str]:
    """The class of things that the next description is about."""
    kinds = "thing clothes building device furniture show tale work room openable fruit drink vehicle picture"
    return {ctx.rng.choice(kinds.split())}


def couple(ctx: Context) -> NounPhrase:
    """Paul and Marie, Paul and my brother: third persons only."""
    first = name(ctx)
    second = name(ctx) if ctx.chance(0.6) else human(ctx, False)
    while second.key == first.key:
        second = name(ctx)
    link = Token("and")
    feminine = first.feminine and second.feminine
    en, fr = [*first.en, link, *second.en], [*first.fr, Token("et", [link]), *second.fr]
    ctx.tags.add("coordination")
    return NounPhrase(en, fr, 5, feminine, True, "name", "couple", frozenset({"person"}))
