"""Alignment matrices for a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import regex

if TYPE_CHECKING:
    from nmt.alignment.alignment import Alignment

_SHADES = " ░▒▓█"  # less than 1/20, then up to 1/4, 1/2, 3/4, 1
_SHADE_LIMITS = (0.05, 0.25, 0.5, 0.75)
_LONGEST_LABEL = 24  # columns of the terminal
_GAP = "  "


def matrix_text(alignment: Alignment, width: int | None = None) -> str:
    """The matrix of `alignment` as lines: a column a source word, a row a target word, then `end`.

    The column `end` is end-of-sentence's share of the row, which the other numbers leave out; it stands there
    only where it is at least one percent somewhere. A matrix wider than `width` columns of the terminal is
    broken into blocks that repeat the target words.
    """
    rows = ["", *(_label(word) for word in alignment.target)]
    columns = [
        [_label(word), *(_cell(weight) for weight in weights)]
        for word, weights in zip(alignment.source, alignment.weights.T, strict=True)
    ]
    if len(alignment.eos) and alignment.eos.max() >= 0.01:
        columns.append(["end", *(_number(share) for share in alignment.eos)])
    margin = _padded(rows, left=True)
    blocks = []
    for block in _blocks([_padded(column) for column in columns], width, display_width(margin[0])):
        lines = [_GAP.join(cells).rstrip() for cells in zip(margin, *block, strict=True)]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def columns_text(rows: Sequence[Sequence[str]]) -> str:
    """Cells of a table under each other: the first column at its left edge, the others at their right."""
    columns = [
        _padded([_label(cell) for cell in column], left=number == 0)
        for number, column in enumerate(zip(*rows, strict=True))
    ]
    return "".join(_GAP.join(cells).rstrip() + "\n" for cells in zip(*columns, strict=True))


def _blocks(columns: list[list[str]], width: int | None, margin: int) -> Iterator[list[list[str]]]:
    """Runs of columns that fit into `width` beside a margin; always at least one column."""
    block: list[list[str]] = []
    used = margin
    for column in columns:
        needed = len(_GAP) + display_width(column[0])
        if block and width is not None and used + needed > width:
            yield block
            block, used = [], margin
        block.append(column)
        used += needed
    yield block


def _cell(weight: float) -> str:
    """A weight as a shade and two decimals: `██ .94`."""
    shade = _SHADES[sum(weight >= limit for limit in _SHADE_LIMITS)]
    return f"{shade * 2} {_number(weight)}"


def _number(weight: float) -> str:
    """Three characters: `.94`, `1.0`, or a dot in place of a zero."""
    rounded = f"{weight:.2f}"
    if rounded == "0.00":
        return " · "
    return "1.0" if rounded == "1.00" else rounded[1:]


def _padded(cells: list[str], left: bool = False) -> list[str]:
    """The cells filled with spaces to the width of the widest, at the right if `left` is true."""
    widths = [display_width(cell) for cell in cells]
    spaces = [" " * (max(widths) - width) for width in widths]
    return [cell + fill if left else fill + cell for cell, fill in zip(cells, spaces, strict=True)]


def _label(word: str) -> str:
    """A word that can do no harm to the terminal: no control characters, and cut where it is very long."""
    clusters = regex.findall(
        r"\X", regex.sub(r"[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]", "\N{REPLACEMENT CHARACTER}", word)
    )
    if sum(map(_cluster_width, clusters)) <= _LONGEST_LABEL:
        return "".join(clusters)
    kept, used = [], 1
    for cluster in clusters:
        used += _cluster_width(cluster)
        if used > _LONGEST_LABEL:
            break
        kept.append(cluster)
    return "".join(kept) + "…"


def display_width(text: str) -> int:
    """How many columns of a terminal `text` takes: two for wide characters, none for combining marks."""
    return sum(_cluster_width(cluster) for cluster in regex.findall(r"\X", text))


def _cluster_width(cluster: str) -> int:
    """The width of what is drawn as one character; an emoji presentation selector makes it wide."""
    if "\N{VARIATION SELECTOR-16}" in cluster:
        return 2
    return max(map(_character_width, cluster))


def _character_width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
