"""Files with text inside: subtitles (SubRip and WebVTT) and gettext catalogues.

Of subtitles, only the lines of a cue's text are replaced: times, numbers, settings, styles and notes are
never taken apart, and so come out byte for byte. The libraries for subtitles write them anew and lose some:
pysubs2 settings, styles, notes and numbers, srt the cues with a name for a number and hundredths of seconds,
webvtt-py the order of blocks and line ends. Catalogues are read and written by polib.
"""

import logging
import math
import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import regex

from nmt.errors import NMTError
from nmt.translator.markup import Tag, put_back, take_off
from nmt.translator.requests import Request
from nmt.translator.translation import Translation

log = logging.getLogger(__name__)

_TIMES = regex.compile(r"\s*(?:\d+:)?\d+:\d\d[.,]\d+\s*-->\s*(?:\d+:)?\d+:\d\d[.,]\d+")
_DASH = regex.compile(r"\s*[-‐–—]\s*(?=[\p{L}<])")  # begins somebody's speech
_VARIABLE = (
    r"%(?:\d+\$)?(?:\(\w+\))?[-+#0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?(?:hh|h|ll|l|L|q|j|z|t)?[diouxXeEfFgGaAcspn]"
    r"|%%|%\d+|\$?\{[^{}\s]*\}|\$\w+|&\w+;|&\#\d+;|\\[nt]"
)
_PLACEHOLDER = regex.compile(_VARIABLE + r"|</?[A-Za-z][^<>]*>")
_CORE = regex.compile(rf"((?:{_VARIABLE}|\s)*)(.*?)((?:{_VARIABLE}|\s)*)", regex.DOTALL)


class Document(Protocol):
    """A file of which some parts are to be translated."""

    def requests(self) -> list[Request]:
        """The texts to translate."""

    def filled(self, translations: Sequence[Translation]) -> str:
        """The whole file with the translations of all `requests`."""


def open_document(path: str, text: str) -> Document:
    """The document with the contents `text`, of the kind that the ending of `path` says."""
    return Catalogue(path, text) if path.lower().endswith(".po") else Subtitles(path, text)


class _Sentence(NamedTuple):
    """Lines [first, last) of a file that are one text, the dash that it begins with, and its tags."""

    first: int
    last: int
    dash: str
    plain: str
    tags: list[Tag]


class Subtitles:
    """A .srt or .vtt file. A cue's lines are one text, but those that begin with a dash are each its own."""

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._escaped = path.lower().endswith(".vtt")
        self._lines = text.split("\n")
        self._sentences = [
            sentence for first, last in self._cues() for sentence in self._sentences_of(first, last)
        ]

    def _cues(self) -> list[tuple[int, int]]:
        """The lines [first, last) of each cue's text."""
        cues, number = [], 0
        while number < len(self._lines):
            if _TIMES.match(self._lines[number]):
                first = number + 1
                while number + 1 < len(self._lines) and self._lines[number + 1].strip():
                    number += 1
                if first <= number:
                    cues.append((first, number + 1))
            number += 1
        return cues

    def _sentences_of(self, first: int, last: int) -> list[_Sentence]:
        starts = [
            number for number in range(first, last) if number == first or _DASH.match(self._lines[number])
        ]
        sentences = []
        for start, end in zip(starts, [*starts[1:], last], strict=True):
            text = " ".join(line.strip() for line in self._lines[start:end])
            dash = match[0] if (match := _DASH.match(text)) else ""
            plain, tags = take_off(text.removeprefix(dash), self._escaped)
            if plain.strip():
                sentences.append(_Sentence(start, end, dash, plain, tags))
        return sentences

    def requests(self) -> list[Request]:
        return [
            Request(sentence.plain, place=f"{self._path}, line {sentence.first + 1}")
            for sentence in self._sentences
        ]

    def filled(self, translations: Sequence[Translation]) -> str:
        lines: list[str | None] = list(self._lines)
        for sentence, translation in zip(self._sentences, translations, strict=True):
            ending = "\r" if self._lines[sentence.first].endswith("\r") else ""
            text = sentence.dash + put_back(translation, sentence.tags, self._escaped)
            count = sentence.last - sentence.first
            wrapped = [line + ending for line in broken(text, count)]
            lines[sentence.first : sentence.last] = [*wrapped, *[None] * (count - len(wrapped))]
        return "\n".join(line for line in lines if line is not None)


def broken(text: str, count: int) -> list[str]:
    """`text` in `count` lines of about the same length, or fewer; no tag is broken."""
    joined = regex.sub(r"<[^<>]*>", lambda match: match[0].replace(" ", "\0"), text)
    width = math.ceil(len(joined) / count)
    while True:
        lines = textwrap.wrap(joined, max(width, 1), break_long_words=False, break_on_hyphens=False) or [""]
        if len(lines) <= count:
            return [line.replace("\0", " ") for line in lines]
        width += 1


class Catalogue:
    """A .po file. Empty translations are filled in, unless placeholders would be lost; all else stays."""

    def __init__(self, path: str, text: str) -> None:
        try:
            import polib
        except ImportError:
            raise NMTError(f"{path}: catalogues need polib: pip install 'nmt[formats]'") from None
        try:
            self._file = polib.pofile(text)
        except (OSError, ValueError) as error:
            raise NMTError(f"{path} is no gettext catalogue ({error}): check it with msgfmt -c") from None
        self._path = path
        self._messages = [message for entry in self._file for message in _messages(entry)]

    def requests(self) -> list[Request]:
        return [
            Request(line.plain, place=f"{self._path}, line {message.entry.linenum}")
            for message in self._messages
            for line in message.lines
        ]

    def filled(self, translations: Sequence[Translation]) -> str:
        done = iter(translations)
        for message in self._messages:
            text = message.with_lines([put_back(next(done), line.tags) for line in message.lines])
            lost = _placeholders(message.source) - _placeholders(text)
            made_up = _placeholders(text) - _placeholders(message.source)
            if lost or made_up:
                log.warning(
                    "%s, line %d: left untranslated, as %s would not have been kept",
                    self._path, message.entry.linenum, ", ".join(sorted({**lost, **made_up})),
                )  # fmt: skip
            else:
                message.fill(text)
        self._file.encoding = "utf-8"
        if "Content-Type" in self._file.metadata:
            self._file.metadata["Content-Type"] = "text/plain; charset=UTF-8"
        return str(self._file).rstrip("\n") + "\n"


class _Line(NamedTuple):
    """A line of a message: what stands around its text, this and the tags taken from it."""

    before: str
    plain: str
    tags: list[Tag]
    after: str


class _Message(NamedTuple):
    """A text of a catalogue's entry, and which of the entry's translations it is for."""

    entry: Any  # polib.POEntry
    source: str
    forms: tuple[int, ...]  # plural forms; none for a message without

    @property
    def lines(self) -> list[_Line]:
        return [_line(text) for text in self.source.split("\n")]

    def with_lines(self, texts: Sequence[str]) -> str:
        """The message that has the translated `texts` for its lines."""
        return "\n".join(
            line.before + text + line.after if line.plain.strip() else line.before + line.after
            for line, text in zip(self.lines, texts, strict=True)
        )

    def fill(self, text: str) -> None:
        if self.forms:
            self.entry.msgstr_plural.update(dict.fromkeys(self.forms, text))
        else:
            self.entry.msgstr = text


def _line(text: str) -> _Line:
    """Placeholders at its ends are none of a line's text."""
    match = _CORE.fullmatch(text)
    assert match is not None
    return _Line(match[1], *take_off(match[2]), match[3])


def _messages(entry: Any) -> list[_Message]:
    """What is still to be translated in an entry; languages with one form use it for the plural."""
    if entry.obsolete or not entry.msgid:
        return []
    if not entry.msgid_plural:
        return [] if entry.msgstr else [_Message(entry, entry.msgid, ())]
    forms = sorted(entry.msgstr_plural)
    if any(entry.msgstr_plural.values()) or not forms:
        return []
    others = _Message(entry, entry.msgid_plural, tuple(forms[1:] or forms))
    return [_Message(entry, entry.msgid, (forms[0],)), others] if len(forms) > 1 else [others]


def _placeholders(text: str) -> Counter[str]:
    return Counter(_PLACEHOLDER.findall(text))
