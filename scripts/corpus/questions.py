"""Turns clauses into questions."""

from __future__ import annotations

from corpus.clauses import Clause
from corpus.lexicon import Verb
from corpus.phrases import Context, NounPhrase, noun_phrase
from corpus.tokens import Pair, Token

WORDS = {"what": "que", "who": "qui", "where": "où", "when": "quand", "why": "pourquoi", "how": "comment"}


def ask(ctx: Context, drawn: Clause, question: str) -> None:
    """Make a clause the question that option `q` names."""
    ctx.final = "?"
    if question == "yes":
        drawn.question = "yes"
        return
    if question == "subject":
        drawn.question = "subject"
        who = Token("who")
        drawn.subject = NounPhrase([who], [Token("qui", [who])], 2, kind="wh")
        return
    if question == "age":
        drawn.tail = []
    drawn.question = _fronted(ctx, drawn.main, question)


def _fronted(ctx: Context, verb: Verb, question: str) -> Pair:
    """The question word or phrase at the head of the clause."""
    if question in ("which", "many"):
        return _which(ctx, verb, question)
    if question == "age":
        source = [Token("how"), Token("old")]
        return Pair(source, [Token("quel", source[:1]), Token("âge", source[1:])])
    if question == "time":
        source = [Token("what"), Token("time")]
        target = [Token("à", [], list(source)), Token("quelle", source[:1]), Token("heure", source[1:])]
        return Pair(source, target)
    word = Token(question)
    return Pair([word], [Token(WORDS[question], [word])])


def _which(ctx: Context, verb: Verb, question: str) -> Pair:
    """which book, quel livre; how many apples, combien de pommes."""
    nouns = [
        noun for noun in ctx.lexicon.nouns_of(verb.object) if noun.countable and "person" not in noun.classes
    ]
    noun = ctx.rng.choice(nouns)
    plural = question == "many" or ctx.chance(0.3)
    phrase = noun_phrase(ctx, set(), {"zero": 1}, 0.05, noun, plural)
    ctx.combinations.add((verb.name, noun.singular))
    if question == "many":
        how, many = Token("how"), Token("many")
        return Pair(
            [how, many, *phrase.en], [Token("combien", [many], [how]), Token("de", [], [many]), *phrase.fr]
        )
    which = Token("which")
    form = ("quelle" if noun.feminine else "quel") + ("s" if plural else "")
    return Pair([which, *phrase.en], [Token(form, [which]), *phrase.fr])
