"""Draws verbs with their objects and complements."""

from __future__ import annotations

from functools import cache

from corpus.clauses import Clause
from corpus.lexicon import Lexicon, Verb
from corpus.objects import direct_object, language, recipient
from corpus.options import Options, Slots, weights_of
from corpus.phrases import (
    PERSONAL,
    Context,
    NounPhrase,
    adverb,
    destination,
    geography,
    location,
    month,
    on_date,
    origin,
    weekday,
)
from corpus.predicates import age, attribute
from corpus.subjects import subject

FRAMES = {
    "intr": 2.5,
    "obj": 6,
    "dat": 0.9,
    "ditr": 1.2,
    "to": 1.2,
    "in": 1.2,
    "de": 0.5,
    "à": 0.3,
    "attribute": 2,
}


def draw_frame(ctx: Context, options: Options, owner: NounPhrase) -> str:
    if "frame" in options:
        return ctx.choose(weights_of(options["frame"]))
    if "animal" in owner.classes:
        return ctx.choose({"intr": 3, "obj": 3, "attribute": 2})
    if owner.kind == "noun" and "person" not in owner.classes:
        return "attribute"
    return ctx.choose(FRAMES)


def draw_verb(ctx: Context, frame: str, owner: NounPhrase, options: Options) -> Verb:
    kind = "animal" if "animal" in owner.classes else "person"
    return ctx.rng.choice(_fitting_verbs(ctx.lexicon, frame, kind, tuple(options.items())))


@cache
def _fitting_verbs(
    lexicon: Lexicon, frame: str, kind: str, wanted: tuple[tuple[str, str], ...]
) -> list[Verb]:
    """The verbs of a frame that take a subject of the kind and that the options of the slot allow."""
    options = dict(wanted)
    if "verb" in options:
        names = options["verb"].replace("_", " ").split(",")
        return [v for v in lexicon.verbs_of[frame] if v.name in names]
    found = [v for v in lexicon.verbs_of[frame] if kind in v.subject or frame == "weather"]
    if options.get("tense") in ("imperative", "lets"):
        found = [v for v in found if "accident" not in v.flags]
    if "active" in options:
        found = [v for v in found if not v.flags & {"state", "still"}]
    if "class" in options:
        found = [v for v in found if options["class"] in v.object]
    if options.get("obj") in PERSONAL or options.get("obj") == "name":
        found = [v for v in found if "person" in v.object]
    if "aux" in options:
        found = [v for v in found if lexicon.conjugation.takes_etre(v.french)]
    if "reflexive" in options:
        found = [v for v in found if v.reflexive]
    return found


def takes_modal(verb: Verb, owner: NounPhrase, tense: str) -> bool:
    """Whether one can want, try … to do this."""
    chained = verb.frame in ("attribute", "age", "weather") or verb.flags & {"state", "accident"}
    return not chained and "person" in (owner.classes or {"person"}) and tense not in ("imperative", "lets")


def draw_modal(ctx: Context, options: Options) -> Verb:
    names = options.get("modals")
    found = [v for v in ctx.lexicon.verbs_of["inf"] if "going" not in v.flags]
    if names:
        found = [v for v in found if v.name in names.split(",")]
    weights = [3 if v.name in ("want", "can", "must", "have") else 1 for v in found]
    return ctx.rng.choices(found, weights)[0]


def complete(ctx: Context, drawn: Clause, options: Options, slots: Slots) -> None:
    """Add the objects and complements that the frame of the verb asks for."""
    verb, frame = drawn.main, drawn.main.frame
    asked = drawn.question is not None or "q" in options
    if options.get("obj") == "none" or drawn.negation in ("nobody", "nothing"):
        return
    if options.get("obj", "").startswith("@"):
        drawn.direct = subject(ctx, {"subj": options["obj"]}, slots)
        return
    if frame in ("obj", "ditr", "de", "à"):
        if "language" in verb.object and (verb.object == {"language"} or ctx.chance(0.4)):
            drawn.direct = language(ctx, verb.name != "speak")
        else:
            drawn.direct = direct_object(ctx, drawn, options, asked)
    if frame in ("dat", "ditr"):
        drawn.indirect = recipient(ctx, drawn, options)
        if drawn.direct and drawn.direct.kind == "pronoun" and drawn.indirect.kind == "pronoun":
            drawn.double_object = False
        else:
            drawn.double_object = "single" not in verb.flags and ctx.chance(0.75)
    if options.get("q") == "where":
        return
    if frame == "to":
        commanded = drawn.tense in ("imperative", "lets") and not drawn.negation
        if ctx.chance(0.15) and verb.name != "come" and not commanded:
            drawn.there = True
        elif verb.name == "come":
            drawn.tail.append(origin(ctx))
        else:
            drawn.tail.append(destination(ctx))
    if frame == "in":
        if verb.name == "live" and ctx.chance(0.1):
            drawn.there = True
        else:
            drawn.tail.append(location(ctx) if ctx.chance(0.95) else adverb(ctx, {"place"}))
    if frame == "born":
        drawn.tail.append(
            ctx.rng.choice([on_date, month, weekday, lambda c: geography(c, "in", "city")])(ctx)
        )
    if frame == "attribute":
        drawn.tail.append(attribute(ctx, drawn.subject, options.get("attr", "")))
    if frame == "age":
        drawn.tail.append(age(ctx, drawn.subject))
