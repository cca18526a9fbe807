"""Tags such as ``<i>…</i>``: taken off before translating, and put back where the attention says.

A pair of tags goes around the target words that are linked to the words inside it; a tag that stands alone
goes before the first target word that is linked to the source words after it.
"""

import html
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import regex

from nmt.errors import NMTError
from nmt.translator.translation import Translation

_TAG = regex.compile(r"<(?P<close>/?)(?P<name>[A-Za-z]\w*)[^<>]*>|<\d[\d:.]*>|\{\\[^{}]*\}")
_SPACE = regex.compile(r"\s+")


class Tag(NamedTuple):
    """A tag and its partner, if it has one, and what is between them, in characters that are no spaces."""

    text: str
    closing: str
    start: int
    end: int


class _Span(NamedTuple):
    start: int
    end: int


def take_off(text: str, escaped: bool = False) -> tuple[str, list[Tag]]:
    """`text` without its tags, and these in the order in which they begin.

    Where signs that could begin a tag are `escaped` (``&lt;``, ``&amp;``), they come out as they are.
    """
    plain, end = "", 0
    read = html.unescape if escaped else str
    tags: list[Tag] = []
    open_tags: list[
        tuple[str, int]
    ] = []  # names of tags that may still be closed, and their places in `tags`
    for match in _TAG.finditer(text):
        plain += read(text[end : match.start()])
        end = match.end()
        position = len(_SPACE.sub("", plain))
        partner = next((each for each in reversed(open_tags) if each[0] == match["name"]), None)
        if match["close"] and partner:
            open_tags.remove(partner)
            tags[partner[1]] = tags[partner[1]]._replace(closing=match[0], end=position)
        else:
            if match["name"] and not match["close"]:
                open_tags.append((match["name"], len(tags)))
            tags.append(Tag(match[0], "", position, position))
    return plain + read(text[end:]), tags


def put_back(translation: Translation, tags: Sequence[Tag], escaped: bool = False) -> str:
    """The best translation of a text from which `tags` were taken, with them; `escaped` as it was then."""
    text = translation.text
    if not text:
        return "".join(tag.text + tag.closing for tag in tags)
    spans = _target_spans(translation, tags)
    inserts = [
        (span.start, 1, place, tag.text) for place, (tag, span) in enumerate(zip(tags, spans, strict=True))
    ]
    inserts += [
        (span.end, 0, -place, tag.closing)
        for place, (tag, span) in enumerate(zip(tags, spans, strict=True))
        if tag.closing
    ]  # where both meet, what ends comes before what begins, and the inner end first
    result, done = "", 0
    for place, _, _, inserted in sorted(inserts):
        result += _written(text[done:place], escaped) + inserted
        done = place
    return result + _written(text[done:], escaped)


def _written(text: str, escaped: bool) -> str:
    return html.escape(text, quote=False) if escaped else text


def _target_spans(translation: Translation, tags: Sequence[Tag]) -> list[_Span]:
    """Where in the translation each of `tags` begins and ends."""
    whole = _Span(0, len(translation.text))
    length = len(_SPACE.sub("", translation.source))
    if all(tag.start == 0 and tag.end in (0, length) for tag in tags):
        return [whole] * len(tags)
    try:
        alignment = translation.alignment
    except NMTError:  # a model without attention
        return [whole] * len(tags)
    ends = list(accumulate(map(len, alignment.source)))
    places = _word_spans(translation.text, alignment.target)
    spans = []
    for tag in tags:
        last = tag.end if tag.closing else length
        inside = {
            word
            for word, end in enumerate(ends)
            if tag.start < end and end - len(alignment.source[word]) < last
        }
        linked = [places[target] for source, target in alignment.links if source in inside]
        if tag.start == 0 and last == length:
            spans.append(whole)
        elif linked:
            spans.append(_Span(min(span.start for span in linked), max(span.end for span in linked)))
        else:
            spans.append(whole if tag.closing else _Span(whole.end, whole.end))
    return spans


def _word_spans(text: str, words: Sequence[str]) -> list[_Span]:
    """Where each of `words` stands in `text`, in order."""
    spans, end = [], 0
    for word in words:
        start = max(text.find(word, end), end)
        end = min(start + len(word), len(text))
        spans.append(_Span(start, end))
    return spans
