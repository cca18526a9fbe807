"""What people call words: the units of alignment matrices, and the walls that no piece crosses.

Punctuation stands alone. An elided clitic keeps its apostrophe and is a word of its own: French before its
host (*je | t' | aime | .*), English after it (*I | 'm | here | .*). Hyphenated words (*peut-être*),
contracted negations (*don't*) and numbers (*3.14*, *10:30*) are one word. ``'`` and ``’`` count alike.
"""

from typing import NamedTuple

import regex


class Word(NamedTuple):
    """A word and the half-open range of characters [start, end) of the text it stands in."""

    text: str
    start: int
    end: int


_LETTER = r"[\p{L}\p{M}\p{N}_]"
_APOSTROPHE = r"['’]"
_FRENCH_CLITIC = rf"(?<!{_LETTER})(?:l|d|j|t|s|m|n|c|qu|jusqu|lorsqu|puisqu|quoiqu){_APOSTROPHE}(?={_LETTER})"
_ENGLISH_CLITIC = rf"(?<={_LETTER}){_APOSTROPHE}(?:s|m|re|ve|ll|d)(?!{_LETTER})"
_NUMBER = r"\p{N}+(?:[.,:]\p{N}+)+(?![\p{L}\p{M}])"
_WORD = rf"{_LETTER}+(?:(?!{_ENGLISH_CLITIC})(?:{_APOSTROPHE}|-){_LETTER}+)*"
_TOKEN = regex.compile(rf"{_FRENCH_CLITIC}|{_ENGLISH_CLITIC}|{_NUMBER}|{_WORD}|(?!\s)\X", regex.IGNORECASE)


def split_words(text: str) -> list[Word]:
    """The words of `text` with their character ranges; only white space lies between them."""
    return [Word(match.group(), match.start(), match.end()) for match in _TOKEN.finditer(text)]
