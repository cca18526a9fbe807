"""Sentences as a model can take them: tidied, cut where too long; and the words that pieces are of."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import regex

from nmt.data.tokenizer import Encoded
from nmt.data.words import Word

# Any run of white space is one space to a model, but for the spaces that French sets before its punctuation.
_WHITE_SPACE = regex.compile(r"[^\S\u00a0\u202f]+")


class Segment(NamedTuple):
    """A part of a sentence that a model can take at once."""

    ids: list[int]
    word_of_piece: list[int]  # index into the words of the whole sentence
    spans: list[tuple[int, int]]  # the characters [start, end) of the whole sentence, for each piece
    decapitalised: bool = False  # it begins a sentence and is read without the capital that this has


def tidy(line: str) -> str:
    """`line` without a byte order mark and outer white space, and with single spaces inside."""
    return _WHITE_SPACE.sub(" ", line.removeprefix("\ufeff")).strip()


def cut(encoded: Encoded, limit: int) -> list[Segment]:
    """`encoded` in as few segments of about equal length as hold at most `limit` pieces each.

    Cuts lie between words; only a word of more than a segment's length is cut itself. No piece is lost.
    """
    ids, words, spans = encoded.ids, encoded.word_of_piece, encoded.spans
    size = math.ceil(len(ids) / math.ceil(len(ids) / limit)) if ids else 0
    segments, start = [], 0
    while start < len(ids):
        end = min(start + size, len(ids))
        while start < end < len(ids) and words[end] == words[end - 1]:
            end -= 1
        if end == start:
            end = start + size
        segments.append(Segment(ids[start:end], words[start:end], spans[start:end]))
        start = end
    return segments


def words_of_spans(text: str, words: Sequence[Word], spans: Iterable[tuple[int, int]]) -> list[int]:
    """For each span [start, end) of `text` the word (index) it begins in, or else the next or the last one.

    White space at a span's start counts as none of it. `words` must not be empty.
    """
    ends = [word.end for word in words]
    found = []
    for start, end in spans:
        while start < end and text[start].isspace():
            start += 1
        found.append(min(bisect_right(ends, start), len(words) - 1))
    return found
