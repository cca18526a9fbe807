"""Draws whole clauses and noun phrases for the slots of templates."""

from __future__ import annotations

from corpus.clauses import Clause, realise
from corpus.lexicon import Verb
from corpus.options import Options, Slots, weights_of
from corpus.phrases import Context, NounPhrase, noun_phrase, pronoun
from corpus.questions import ask
from corpus.relatives import with_relative
from corpus.subjects import subject
from corpus.timing import draw_negation, draw_tense, ending, fit_tense, middle_adverb
from corpus.tokens import Pair
from corpus.verbs import complete, draw_frame, draw_modal, draw_verb, takes_modal


def clause(ctx: Context, options: Options, slots: Slots) -> tuple[Clause, Pair]:
    """Draw and spell one clause."""
    drawn = draw_clause(ctx, options, slots)
    return drawn, realise(ctx, drawn)


def draw_clause(ctx: Context, options: Options, slots: Slots) -> Clause:
    """Draw a clause; see the head of the grammar file for the options."""
    frame = ctx.choose(weights_of(options["frame"])) if "frame" in options else ""
    owner = pronoun(ctx, "it") if frame == "weather" else subject(ctx, options, slots)
    if options.get("rel") == "subject":
        owner = with_relative(ctx, owner)
    frame = frame or draw_frame(ctx, options, owner)
    verb = draw_verb(ctx, frame, owner, options)
    question = options.get("q")
    tense = draw_tense(ctx, options, slots)
    if "neg" in options:
        negation = ctx.choose(weights_of(options["neg"]))
    else:
        negation = draw_negation(ctx, verb, tense, question)
    verbs = [verb]
    if ctx.chance(float(options.get("modal", "0.07"))) and takes_modal(verb, owner, tense):
        verbs = [draw_modal(ctx, options), verb]
    verbs, tense, tail = _settle(ctx, verbs, tense, owner, negation or ("not" if question else ""))
    if verbs[0].french == "devoir" and verbs[0].base == "have":
        negation = ""  # not have to is not ne pas devoir
    if len(verbs) > 1 and negation in ("nobody", "nothing"):
        negation = "not"
    middle = None
    if not question and "plain" not in options and len(verbs) == 1 and frame != "weather":
        middle, tense = middle_adverb(ctx, tense, negation, verb)
    if tail is None:
        tail = [] if question or "plain" in options else ending(ctx, tense, verbs[0], owner)
    if middle and tense == "habit":
        tail = []
    drawn = Clause(owner, verbs, tense, negation, middle=middle, contract=ctx.chance(0.75))
    complete(ctx, drawn, options, slots)
    if options.get("rel") == "object" and drawn.direct and drawn.direct.kind == "noun":
        drawn.direct = with_relative(ctx, drawn.direct)
        tail = drawn.tail = []
    if drawn.tense == "habit" and not (tail or middle):
        drawn.tense = "past"
    drawn.tail += [] if "plain" in options and tense != "habit" else tail
    if question:
        ask(ctx, drawn, question)
    return drawn


def _settle(
    ctx: Context, verbs: list[Verb], tense: str, owner: NounPhrase, negation: str
) -> tuple[list[Verb], str, list[Pair] | None]:
    """The chain of verbs and a tense that it has; going to do something comes with its adverbials."""
    if tense == "going" and "state" in verbs[-1].flags:
        tense = "future"
    if tense == "going":
        go = next(v for v in ctx.lexicon.verbs_of["inf"] if "going" in v.flags)
        ctx.tags.add("near_future")
        return [go, verbs[-1]], "progressive", ending(ctx, "going", verbs[-1], owner)
    return verbs, fit_tense(ctx, tense, verbs[0], owner, negation), None


def phrase_slot(ctx: Context, options: Options) -> NounPhrase:
    """A noun phrase slot: `class`, `det`, `number` sg or pl, `adj` probability."""
    plural = {"sg": False, "pl": True}.get(options.get("number", ""))
    dets = weights_of(options.get("det", "the"))
    if options.get("class") == "person":
        nouns = ctx.lexicon.nouns_of({"person"})
    else:
        nouns = ctx.lexicon.nouns_of(set(options["class"].split(",")))
    if plural or plural is False and "a" in dets:
        nouns = [noun for noun in nouns if noun.countable]
    noun = ctx.rng.choice(nouns)
    return noun_phrase(ctx, set(), dets, float(options.get("adj", "0.25")), noun, plural)
