"""Draws tenses, negations and adverbials that suit the verb and each other."""

from __future__ import annotations

from corpus.clauses import Clause
from corpus.lexicon import Verb
from corpus.options import Options, Slots, weights_of
from corpus.phrases import (
    Context,
    NounPhrase,
    adverb,
    adverbial,
    at_time,
    companion,
    location,
    month,
    on_date,
    weekday,
    weekdays,
)
from corpus.tokens import Pair

TENSES = {
    "present": 4, "progressive": 3, "past": 4, "future": 2, "was": 0.5, "used": 0.4, "habit": 0.6,
    "perfect": 0.9, "going": 0.7,
}  # fmt: skip

NEGATED = {"": 82, "not": 13, "never": 2.5, "anymore": 1.5, "nobody": 0.4, "nothing": 0.6}


def draw_tense(ctx: Context, options: Options, slots: Slots) -> str:
    """A tense at random, or one that goes with that of an earlier clause (`@a`)."""
    wanted = options.get("tense", "")
    if wanted.startswith("@"):
        earlier = slots[wanted[1:]]
        assert isinstance(earlier, Clause)
        same = {"present": "present:3,progressive:1", "progressive": "present:1,progressive:2"}
        return ctx.choose(
            weights_of(same.get(earlier.tense, "future" if earlier.tense == "future" else "past"))
        )
    tense = ctx.choose(weights_of(wanted) if wanted else TENSES)
    if tense == "habit" and ("plain" in options or "q" in options):
        return "past"  # nothing in the clause would say that it is a habit
    return tense


def fit_tense(ctx: Context, tense: str, verb: Verb, owner: NounPhrase, negation: str) -> str:
    """The nearest tense that the verb has."""
    if verb.base in ("can", "must") and tense in ("future", "perfect", "used", "habit"):
        tense = "present"
    if verb.base == "must":
        return "present"
    if "going" in verb.flags:
        return "was" if tense in ("was", "past") and ctx.chance(0.5) else "progressive"
    if tense == "habit" and "state" in verb.flags and verb.frame not in ("intr", "in"):
        tense = "past"
    if verb.flags & {"state", "still"} or negation in ("never", "anymore"):
        tense = {"progressive": "present", "was": "past"}.get(tense, tense)
    if "state" in verb.flags:
        tense = {"perfect": "past"}.get(tense, tense)
    if "same" in verb.flags and tense == "present" and not owner.third and negation not in ("not", "anymore"):
        tense = "progressive"  # I read the book could be past
    if negation and tense in ("used", "was"):
        tense = "past"
    if negation == "anymore" and tense in ("perfect", "used", "was", "habit"):
        tense = "present"
    return tense


def draw_negation(ctx: Context, verb: Verb, tense: str, question: str | None) -> str:
    if question or tense in ("habit", "used", "was", "going"):
        return "not" if tense == "going" and ctx.chance(0.08) and not question else ""
    if tense == "imperative":
        return ctx.choose({"": 3, "not": 2, "never": 0.3})
    negation = ctx.choose(NEGATED)
    if negation == "nobody" and not (verb.frame == "obj" and "person" in verb.object):
        return "not"
    if negation == "nothing" and not (
        verb.frame == "obj" and verb.object & {"food", "thing", "small", "drink"}
    ):
        return "not"
    if negation in ("nobody", "nothing") and verb.flags & {"generic"}:
        return "not"
    if negation == "anymore" and tense not in ("present", "progressive", "future"):
        return "not"
    return negation


def ending(ctx: Context, tense: str, verb: Verb, owner: NounPhrase) -> list[Pair]:
    """At most two adverbials that suit the tense: company, place, time."""
    tail: list[Pair] = []
    if (
        verb.frame in ("attribute", "age", "weather")
        or "state" in verb.flags
        and verb.frame not in ("intr", "in")
    ):
        return _when_true(ctx, tense, verb)
    if tense == "habit":
        return [weekdays(ctx) if ctx.chance(0.25) else adverb(ctx, {"habit"})]
    if ctx.chance(0.62):
        return tail
    roll = ctx.rng.random()
    active = "state" not in verb.flags
    if (
        verb.frame == "intr"
        and active
        and roll < 0.2
        and verb.french not in ("venir", "partir", "arriver", "tomber")
    ):
        kinds = (
            {"manner"}
            if tense != "present" or verb.french not in ("chanter", "danser", "nager")
            else {"manner2"}
        )
        if verb.french in ("chanter", "danser", "nager", "courir", "travailler", "cuisiner"):
            return [adverb(ctx, kinds)] if verb.french != "cuisiner" or kinds != {"manner"} else tail
    if (
        active
        and not verb.reflexive
        and roll < 0.35
        and verb.frame in ("intr", "obj")
        and verb.object.isdisjoint({"person"})
    ):
        tail.append(companion(ctx, verb.frame == "obj") if ctx.chance(0.5) else location(ctx))
    if owner.plural and active and ctx.chance(0.1) and verb.frame == "intr":
        return [adverb(ctx, {"plural"})]
    if roll > 0.3:
        tail += _time(ctx, tense)
    return tail


def _when_true(ctx: Context, tense: str, verb: Verb) -> list[Pair]:
    """Time adverbials of states of affairs: only for the weather."""
    if verb.frame != "weather" or ctx.chance(0.4):
        return []
    kind = {"present": "present", "progressive": "present", "past": "past", "future": "future"}.get(tense)
    return [adverb(ctx, {kind})] if kind else []


def _time(ctx: Context, tense: str) -> list[Pair]:
    choices = {
        "present": ["habit", "habit", "weekdays", "clock"],
        "progressive": ["present"],
        "past": ["past", "past", "past", "weekday", "date", "clock", "month"],
        "future": ["future", "future", "future", "weekday", "date", "clock", "month"],
        "going": ["future", "future", "weekday"],
    }.get(tense)
    if not choices:
        return []
    kind = ctx.rng.choice(choices)
    special = {"weekdays": weekdays, "weekday": weekday, "date": on_date, "month": month, "clock": at_time}
    return [special[kind](ctx) if kind in special else adverb(ctx, {kind})]


def middle_adverb(ctx: Context, tense: str, negation: str, verb: Verb) -> tuple[Pair | None, str]:
    """often, always, really; a past with one of the first is a habit."""
    if negation not in ("", "not") or tense in ("was", "used", "progressive", "imperative", "lets"):
        return None, tense
    if tense == "perfect":
        return (adverbial("already", "déjà") if ctx.chance(0.7) and not negation else None), tense
    if ctx.chance(0.9):
        return None, tense
    if "state" in verb.flags and verb.name in ("be", "have", "want", "need", "know"):
        return adverb(ctx, {"sure"}) if verb.name in ("want", "need") else None, tense
    if negation:
        return (adverbial("often", "souvent") if tense == "present" else None), tense
    return adverb(ctx, {"mid"}), "habit" if tense == "past" else tense
