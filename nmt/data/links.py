"""Files of word links: which words of a sentence pair translate each other.

Three formats, recognised from content:

- **TALP**: a line a sentence, positions from 0: ``i-j`` is a sure link, ``i?j`` or ``ipj`` a possible one;
- **Pharaoh**: the same with ``i-j`` alone;
- **NAACL** (Mihalcea and Pedersen 2003): a line a link, ``sentence source target [S|P [confidence]]``, all
  from 1; without the letter the link is sure.

The first position is always the source word's, the second the target word's.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from nmt.data.lines import read_lines
from nmt.errors import NMTError

Link = tuple[int, int]
_TALP_LINK = re.compile(r"([0-9]{1,9})([-?p])([0-9]{1,9})")
_NAACL_LINE = re.compile(r"([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,9})(?:\s+([SP])(?:\s+[-+.0-9eE]+)?)?")


class Links(NamedTuple):
    """A sentence pair's links as (source, target) positions from 0; `possible` holds every `sure` one too."""

    sure: frozenset[Link]
    possible: frozenset[Link]


class LinkFile(NamedTuple):
    """The links of a file's sentence pairs, in order.

    `numbered` is true for NAACL, which numbers its sentences, so that those without links leave no trace and
    how many sentences there are stays unknown.
    """

    sentences: list[Links]
    numbered: bool


def sure_links(links: Iterable[Link]) -> Links:
    """Links that are all sure."""
    links = frozenset(links)
    return Links(links, links)


def turned(links: Links) -> Links:
    """The links of the other direction: source and target change places."""
    return Links(*(frozenset((target, source) for source, target in part) for part in links))


def read_links(
    path: str | Path, lengths: Sequence[tuple[int, int]] | None = None, base: int | None = None
) -> LinkFile:
    """The links in the file `path`, in whichever of the three formats it is.

    `lengths`, where given, holds each sentence pair's number of source and target words: an index beyond them
    is an error, and sentences without links are filled in up to their number. `base` (0 or 1) overrides the
    format's own first position. Every error names the file and the line.
    """
    if base not in (None, 0, 1):
        raise NMTError(f"base={base} is not a first position of word links: give base=0 or base=1")
    lines = list(read_lines(path))
    first = next((line for line in lines if line.strip()), "")
    numbered = re.match(r"\s*[0-9]+(\s|$)", first) is not None
    if numbered:
        sentences = _parse_naacl(path, lines, 1 if base is None else base, lengths)
    else:
        sentences = list(_parse_talp(path, lines, base or 0, lengths))
        if lengths is not None and len(sentences) != len(lengths):
            raise NMTError(
                f"{path} has links for {len(sentences)} sentences, but the text has {len(lengths)}"
            )
    return LinkFile(sentences, numbered)


def parse_links(line: str, base: int = 0) -> Links:
    """The links of one line in TALP or Pharaoh format, whose positions count from `base`."""
    sure, possible = set(), set()
    for token in line.split():
        match = _TALP_LINK.fullmatch(token)
        if match is None:
            raise NMTError(f"{token!r} is no word link: write i-j (sure), i?j or ipj (possible)")
        link = (int(match[1]) - base, int(match[3]) - base)
        if min(link) < 0:
            raise NMTError(f"the link {token!r} has a position below {base}, where counting starts")
        possible.add(link)
        if match[2] == "-":
            sure.add(link)
    return Links(frozenset(sure), frozenset(possible))


def _parse_talp(
    path: str | Path, lines: Sequence[str], base: int, lengths: Sequence[tuple[int, int]] | None
) -> Iterator[Links]:
    for number, line in enumerate(lines, start=1):
        try:
            links = parse_links(line, base)
            if lengths is not None and number <= len(lengths):
                check_range(links.possible, lengths[number - 1], base)
        except NMTError as error:
            raise NMTError(f"{path}, line {number}: {error}") from None
        yield links


def _parse_naacl(
    path: str | Path, lines: Sequence[str], base: int, lengths: Sequence[tuple[int, int]] | None
) -> list[Links]:
    sure: dict[int, set[Link]] = {}
    possible: dict[int, set[Link]] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            sentence, link, is_sure = _parse_naacl_line(line, base)
            if lengths is not None:
                if sentence >= len(lengths):
                    raise NMTError(f"there is no sentence {sentence + 1}: the text has {len(lengths)}")
                check_range([link], lengths[sentence], base)
        except NMTError as error:
            raise NMTError(f"{path}, line {number}: {error}") from None
        possible.setdefault(sentence, set()).add(link)
        if is_sure:
            sure.setdefault(sentence, set()).add(link)
    count = len(lengths) if lengths is not None else max(possible, default=-1) + 1
    return [Links(frozenset(sure.get(n, ())), frozenset(possible.get(n, ()))) for n in range(count)]


def _parse_naacl_line(line: str, base: int) -> tuple[int, Link, bool]:
    """The sentence (from 0), the link (from 0) and whether it is sure."""
    match = _NAACL_LINE.fullmatch(line.strip())
    if match is None:
        raise NMTError(f"{line.strip()!r} is no word link: write sentence source target [S|P]")
    sentence, link = int(match[1]) - 1, (int(match[2]) - base, int(match[3]) - base)
    if sentence < 0:
        raise NMTError("sentence 0: sentences count from 1")
    if min(link) < 0:
        raise NMTError(
            f"position 0 in {line.strip()!r}, but positions count from 1: give base=0 if they do not"
        )
    return sentence, link, match[4] != "P"


def check_range(links: Iterable[Link], lengths: tuple[int, int], base: int) -> None:
    """Raise if a link points beyond the words of its sentence pair."""
    for source, target in sorted(links):
        for side, position, length in (("source", source, lengths[0]), ("target", target, lengths[1])):
            if position >= length:
                raise NMTError(
                    f"{side} position {position + base} is out of range: "
                    f"the sentence has {length} words, counted from {base}"
                )


def talp_line(links: Links) -> str:
    """One sentence's links in TALP format: the sure ones, then those that are possible only."""
    sure = [f"{source}-{target}" for source, target in sorted(links.sure)]
    return " ".join(sure + [f"{source}?{target}" for source, target in sorted(links.possible - links.sure)])


def pharaoh_line(links: Links) -> str:
    """One sentence's links in Pharaoh format, which knows no difference between sure and possible."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links.possible))


def naacl_lines(sentence: int, links: Links) -> list[str]:
    """One sentence's links in NAACL format; `sentence` counts from 0 and is written from 1."""
    return [
        f"{sentence + 1} {source + 1} {target + 1} {'S' if (source, target) in links.sure else 'P'}"
        for source, target in sorted(links.possible)
    ]
