"""Words under construction: tokens that remember their counterparts, and the spelling of whole sentences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

# What a French word becomes before a vowel sound, whatever its role.
BEFORE_VOWEL = {
    "je": "j'", "le": "l'", "la": "l'", "me": "m'", "te": "t'", "se": "s'", "ne": "n'", "de": "d'",
    "que": "qu'", "ma": "mon", "ta": "ton", "sa": "son", "ce": "cet",
    "beau": "bel", "vieux": "vieil", "nouveau": "nouvel",
}  # fmt: skip
CONTRACTED = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}
VOWELS = "aeiouâàäéèêëîïôöùûüœh"
# No elision before these: numbers, and nouns with an aspirated h.
ASPIRATED = {"huit", "onze", "héros"}


class Token:
    """A word of either language; French ones carry the links to their English counterparts.

    `article` marks a definite article, which contracts with de and à (the clitics le, les do not).
    """

    __slots__ = ("article", "possible", "sure", "text")  # millions of them are made

    def __init__(
        self,
        text: str,
        sure: list[Token] | None = None,
        possible: list[Token] | None = None,
        article: bool = False,
    ):
        self.text = text
        self.sure = [] if sure is None else sure
        self.possible = [] if possible is None else possible
        self.article = article


Tokens = list[Token]


class Pair(NamedTuple):
    """A phrase in both languages."""

    en: Tokens
    fr: Tokens


def english(text: str) -> Tokens:
    """The tokens of an English phrase written with spaces between all words."""
    return [Token(word) for word in text.split()]


def french(text: str, sure: Iterable[Token] = (), possible: Iterable[Token] = ()) -> Tokens:
    """The tokens of a French phrase; the last word is linked surely to `sure`, all others only possibly."""
    words = text.split()
    strong, weak = list(sure), list(possible)
    tokens = [Token(word, [], strong + weak) for word in words[:-1]]
    return [*tokens, Token(words[-1], strong, weak)]


def vowel_sound(word: str) -> bool:
    """Whether a French word makes the word before it elide."""
    return word not in ASPIRATED and (word[0].lower() in VOWELS or word == "y")


def _contract(tokens: Tokens) -> Tokens:
    """Merge de / à with a following definite article, unless that article elides."""
    result: Tokens = []
    for index, token in enumerate(tokens):
        merged = CONTRACTED.get((result[-1].text, token.text)) if result and token.article else None
        elides = token.text == "le" and index + 1 < len(tokens) and vowel_sound(tokens[index + 1].text)
        if merged and not elides:
            before = result.pop()
            sure = before.sure or token.sure
            rest = [link for link in before.possible + token.sure + token.possible if link not in sure]
            result.append(Token(merged, sure, rest))
        else:
            result.append(token)
    return result


def spell_french(tokens: Tokens) -> tuple[Tokens, set[str]]:
    """The tokens as written, and which of the rules `contraction` and `elision` applied."""
    written = _contract(tokens)
    applied = {"contraction"} if len(written) < len(tokens) else set()
    for token, following in zip(written, written[1:], strict=False):
        short = BEFORE_VOWEL.get(token.text, token.text)
        if token.text == "si" and following.text in ("il", "ils"):
            short = "s'"
        if short != token.text and vowel_sound(following.text):
            token.text = short
            if short.endswith("'"):
                applied.add("elision")
    return written, applied


def join_english(tokens: Tokens) -> str:
    """The sentence: punctuation and 's, 'm, 're, 'll, 've follow their word at once."""
    text = ""
    for token in tokens:
        text += token.text if token.text[0] in ".,?!'" or not text else " " + token.text
    return text


def join_french(tokens: Tokens) -> str:
    """The sentence: nothing after an elided word, a space before ? and !, none before , and full stop."""
    text = ""
    for token in tokens:
        text += token.text if token.text in ".," or text.endswith("'") or not text else " " + token.text
    return text


def align(pair: Pair) -> str:
    """The links of a finished pair, e.g. `0-0 1?1`, in the order of the target."""
    position = {id(token): index for index, token in enumerate(pair.en)}
    links = []
    for target, token in enumerate(pair.fr):
        if len(token.sure) == 1 and not token.possible:
            links.append(f"{position[id(token.sure[0])]}-{target}")
            continue
        marks = {position[id(source)]: "?" for source in token.possible}
        marks |= {position[id(source)]: "-" for source in token.sure}
        links += [f"{source}{marks[source]}{target}" for source in sorted(marks)]
    return " ".join(links)
