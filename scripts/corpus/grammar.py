"""The template language of the grammar files: one line says one construction in both languages."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate
from pathlib import Path

from corpus.lexicon import Lexicon
from corpus.options import Options, Slots
from corpus.phrases import (
    Address,
    Context,
    adverb,
    at_time,
    clock,
    companion,
    day_of_month,
    destination,
    indoors,
    location,
    month,
    pair,
    weekday,
    weekdays,
)
from corpus.relatives import with_relative
from corpus.sampler import clause, phrase_slot
from corpus.subjects import subject
from corpus.tokens import Pair, Token, Tokens, align, join_english, join_french, spell_french

# {label:kind option=value …}, or a literal: word, English word#1, French word=1 (sure), word~1 (possible)
_PART = re.compile(r"\{[^}]*\}|\S+")
_MARK = re.compile(r"([#=~])(\w)")

VOCATIVES = [
    ("sir", "monsieur", Address(4)),
    ("madam", "madame", Address(4, True)),
    ("Mr Martin", "monsieur Martin", Address(4)),
    ("Mrs Martin", "madame Martin", Address(4, True)),
    ("Mr Dubois", "monsieur Dubois", Address(4)),
    ("Mrs Dubois", "madame Dubois", Address(4, True)),
    ("children", "les enfants", Address(4, False, True)),
    ("my friends", "mes amis", Address(4, False, True)),
]


@dataclass(frozen=True)
class Slot:
    label: str
    kind: str
    options: Options


@dataclass(frozen=True)
class Template:
    """One line of a grammar file."""

    weight: float
    tags: tuple[str, ...]
    english: tuple[str | Slot, ...]
    french: tuple[str | Slot, ...]
    final: str


def _lowered(tokens: Tokens) -> frozenset[str]:
    return frozenset([token.text.lower() for token in tokens])


@dataclass(frozen=True)
class Sentence:
    """A finished pair."""

    tokens: Pair
    tags: frozenset[str]
    combinations: frozenset[tuple[str, str]]

    @cached_property
    def words(self) -> tuple[frozenset[str], frozenset[str]]:
        """English and French, lower-cased."""
        return _lowered(self.tokens.en), _lowered(self.tokens.fr)

    @cached_property
    def english(self) -> str:
        return join_english(self.tokens.en)

    @cached_property
    def french(self) -> str:
        return join_french(self.tokens.fr)

    @property
    def alignment(self) -> str:
        return align(self.tokens)

    @property
    def length(self) -> int:
        """English words, punctuation included."""
        return len(self.tokens.en)

    @cached_property
    def key(self) -> str:
        """What makes two English sentences the same: the words, whatever case and final punctuation."""
        return self.english.lower().rstrip(" .?!")


class Choice:
    """A weighted choice among templates."""

    def __init__(self, templates: list[Template]):
        self.templates = templates
        self.weights = list(accumulate(template.weight for template in templates))

    def draw(self, rng: random.Random) -> Template:
        return rng.choices(self.templates, cum_weights=self.weights)[0]


def _parse_side(text: str) -> tuple[str | Slot, ...]:
    parts: list[str | Slot] = []
    for part in _PART.findall(text):
        if part.startswith("{"):
            head, *rest = part[1:-1].split()
            label, _, kind = head.partition(":")
            options = dict(item.split("=", 1) for item in rest)
            parts.append(Slot(label, kind, options))
        else:
            parts.append(part)
    return tuple(parts)


def read_grammar(path: Path) -> list[Template]:
    """The templates of a grammar file; empty lines and those that start with # say nothing."""
    templates = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        templates.append(parse_line(line))
    return templates


def parse_line(line: str) -> Template:
    """One template: weight | tags | English | French, `=` for the same slots in French."""
    weight, tags, source, target = (field.strip() for field in line.split("|"))
    final = source[-1] if source[-1] in "?!" else ""
    english = _parse_side(source.rstrip("?!"))
    french = english if target == "=" else _parse_side(target)
    return Template(float(weight), tuple(tags.split()), english, french, final)


# ---------------------------------------------------------------- slots


def _vocative(ctx: Context) -> Pair:
    """Someone spoken to: says whether `you` is tu or vous, and its gender."""
    if ctx.chance(0.35):
        text, feminine = ctx.rng.choice(ctx.lexicon.names)
        ctx.address = Address(1, feminine)
        token = Token(text)
        return Pair([token], [Token(text, [token])])
    source, target, ctx.address = ctx.rng.choice(VOCATIVES)
    ctx.tags.add("polite")
    en = [Token(word) for word in source.split()]
    words = target.split()
    if len(words) == len(en):
        return Pair(en, [Token(word, [token]) for word, token in zip(words, en, strict=True)])
    return Pair(en, [Token(words[0], [], list(en)), Token(words[1], list(en))])


def _please(ctx: Context) -> Pair:
    """s'il te plaît, s'il vous plaît."""
    source = Token("please")
    you = "te" if ctx.address.person == 1 else "vous"
    words = [Token(word, [], [source]) for word in ("s'", "il", you)]
    return Pair([source], [*words, Token("plaît", [source])])


def _day(ctx: Context) -> Pair:
    """Monday, lundi."""
    on = weekday(ctx)
    on.fr[0].possible = []
    return Pair(on.en[1:], on.fr)


ADVERBIALS = {
    "place": location,
    "indoors": indoors,
    "to": destination,
    "with": companion,
    "clock": clock,
    "at_time": at_time,
    "date": day_of_month,
    "weekday": weekday,
    "weekdays": weekdays,
    "month": month,
    "vocative": _vocative,
    "please": _please,
    "day": _day,
}


def _fill(ctx: Context, slot: Slot, slots: Slots) -> Pair:
    """Draw the content of a slot; `slots` keeps clauses and phrases that later slots refer to."""
    if slot.kind == "clause":
        slots[slot.label], drawn = clause(ctx, slot.options, slots)
        return drawn
    if slot.kind in ("np", "subject"):
        phrase = phrase_slot(ctx, slot.options) if slot.kind == "np" else subject(ctx, slot.options, slots)
        if "rel" in slot.options:
            phrase = with_relative(ctx, phrase)
        slots[slot.label] = phrase
        return pair(phrase)
    if slot.kind == "sentence":
        assert ctx.inner is not None
        return ctx.inner(ctx)
    if slot.kind == "adverb":
        return adverb(ctx, set(slot.options["of"].split(",")))
    return ADVERBIALS[slot.kind](ctx)


def _inner(ctx: Context, templates: Choice, accepts: Callable[[Sentence], bool]) -> Pair:
    """A whole sentence of another template; rather another one now than the long sentence in vain."""
    while True:
        template = templates.draw(ctx.rng)
        part = Context(ctx.rng, ctx.lexicon, ctx.address, set(template.tags), set(), ctx.final, ctx.inner)
        drawn = _draw(part, template)
        if accepts(_sentence(part, drawn)):
            ctx.tags |= part.tags
            ctx.combinations |= part.combinations
            return drawn


@cache
def _literal(part: str) -> tuple[str, dict[str, list[str]]]:
    """A literal word and its marks."""
    marks: dict[str, list[str]] = {"#": [], "=": [], "~": []}
    for sign, label in _MARK.findall(part):
        marks[sign].append(label)
    return _MARK.sub("", part), marks


def _assemble(template: Template, filled: dict[str, Pair]) -> Pair:
    """Put literals and slots together and link the literals."""
    if len(template.english) == 1 and template.french is template.english and filled:
        return next(iter(filled.values()))
    en: Tokens = []
    labelled: dict[str, Tokens] = {label: phrase.en[:1] for label, phrase in filled.items()}
    for part in template.english:
        if isinstance(part, Slot):
            en += filled[part.label].en
            continue
        text, marks = _literal(part)
        token = Token(text)
        for label in marks["#"]:
            labelled.setdefault(label, []).append(token)
        en.append(token)
    fr: Tokens = []
    for part in template.french:
        if isinstance(part, Slot):
            fr += filled[part.label].fr
            continue
        text, marks = _literal(part)
        sure = [token for label in marks["="] for token in labelled[label]]
        fr.append(Token(text, sure, [token for label in marks["~"] for token in labelled[label]]))
    return Pair(en, fr)


def _draw(ctx: Context, template: Template) -> Pair:
    """Fill the slots of a template."""
    slots: Slots = {}
    order = [part for part in template.english if isinstance(part, Slot)]
    order.sort(key=lambda slot: slot.kind != "vocative")  # what `you` means comes first
    filled = {slot.label: _fill(ctx, slot, slots) for slot in order}
    return _assemble(template, filled)


def joinable(templates: list[Template]) -> Choice:
    """The templates whose sentences can be parts of longer ones: statements to nobody in particular."""
    apart = {"question", "imperative", "vocative", "date", "time", "age", "birth", "enumeration"}
    return Choice([each for each in templates if not apart & set(each.tags)])


def generate(
    template: Template,
    lexicon: Lexicon,
    rng: random.Random,
    punctuated: bool,
    inner: Choice,
    accepts: Callable[[Sentence], bool],
) -> Sentence:
    """One random sentence of a template; a slot {x:sentence} takes one of `inner` that `accepts` likes."""
    ctx = Context(rng, lexicon, tags=set(template.tags))
    ctx.inner = lambda context: _inner(context, inner, accepts)
    drawn = _draw(ctx, template)
    final = (template.final or ctx.final) if punctuated else ""
    if final:
        mark = Token(final)
        drawn = Pair([*drawn.en, mark], [*drawn.fr, Token(final, [mark])])
    fr, applied = spell_french(drawn.fr)
    ctx.tags |= applied
    return _sentence(ctx, Pair(drawn.en, fr))


def _sentence(ctx: Context, drawn: Pair) -> Sentence:
    return Sentence(drawn, frozenset(ctx.tags), frozenset(ctx.combinations))
