"""Alignment matrices as heat maps (the figures of Bahdanau et al. 2015, section 5.2.1)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import regex

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    from nmt.alignment.alignment import Alignment

_LARGEST_CELL, _SMALLEST_CELL = 0.5, 0.24  # inches
_ROOMY = 10  # words up to which cells have their largest size; beyond, a figure grows more slowly
_LARGEST_SIDE = 60.0  # inches; very long sentences get smaller cells
_FONT_SIZE = 11.0  # points, the largest
_SMALLEST_NUMBER = 5.0  # points below which numbers in cells help nobody
_FONTS = (  # what is asked, in this order, for characters that the font before does not have
    "DejaVu Sans",
    "Noto Sans",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans CJK KR",
    "Noto Sans Arabic",
    "Noto Sans Hebrew",
    "Noto Sans Devanagari",
    "Noto Sans Thai",
    "WenQuanYi Micro Hei",
    "Hiragino Sans",
    "PingFang SC",
    "Microsoft YaHei",
    "Malgun Gothic",
    "Segoe UI",
    "Arial Unicode MS",
    "Noto Emoji",
    "Segoe UI Emoji",
)


def figure(alignment: Alignment) -> Figure:
    """A figure of `alignment` whose size follows the sentences: square cells and labels around them.

    The axes fill it: save it with ``bbox_inches="tight"``, which makes room for the labels.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns, rows = max(len(alignment.source), 1), max(len(alignment.target), 1)
    longest = max(columns, rows)
    cell = np.clip(_LARGEST_CELL * _ROOMY / longest, _SMALLEST_CELL, _LARGEST_CELL)
    cell = max(cell, _LARGEST_CELL - 0.01 * longest)
    cell = min(cell, _LARGEST_SIDE / longest)
    result = Figure(figsize=(cell * columns, cell * rows))
    FigureCanvasAgg(result)  # with its one renderer, measuring labels is fast
    draw(alignment, result.add_axes((0, 0, 1, 1)))
    return result


def draw(alignment: Alignment, axes: Axes, numbers: bool | None = None) -> None:
    """Draw the matrix on `axes`: source words on top, target words at the left, links framed.

    Font sizes follow the cells, so that neighbouring labels do not run into each other; source words stand
    upright where they fit over their columns and lean otherwise. `numbers` writes weights into their cells;
    by default where they stay legible.
    """
    rows, columns = alignment.weights.shape
    axes.imshow(
        alignment.weights if alignment.weights.size else np.zeros((1, 1)),
        cmap="Blues",
        vmin=0,
        vmax=1,
        aspect="auto",
        interpolation="nearest",
    )
    width, height = _cell_size(axes, max(rows, 1), max(columns, 1))
    size = float(np.clip(min(width, height) * 0.62, 1, _FONT_SIZE))
    _label(axes, alignment, size, width)
    for edge in ("top", "bottom", "left", "right"):
        axes.spines[edge].set_color("0.6")
    axes.hlines(np.arange(1, rows) - 0.5, -0.5, columns - 0.5, color="0.88", linewidth=0.5)
    axes.vlines(np.arange(1, columns) - 0.5, -0.5, rows - 0.5, color="0.88", linewidth=0.5)
    axes.tick_params(length=0)
    _frame_links(axes, alignment)
    number_size = min(width / 2.6, height / 2.2, 9.0)
    if numbers or (numbers is None and number_size >= _SMALLEST_NUMBER):
        _write_numbers(axes, alignment, number_size)


def _cell_size(axes: Axes, rows: int, columns: int) -> tuple[float, float]:
    """Width and height of a cell in points, as the axes stand now."""
    extent = axes.get_window_extent()
    points = 72 / _dots_per_inch(axes)
    return extent.width * points / columns, extent.height * points / rows


def _label(axes: Axes, alignment: Alignment, size: float, cell_width: float) -> None:
    """Words as tick labels: they are text, never mathematics, whatever `$` they hold."""
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(alignment.source)), [_printable(word) for word in alignment.source])
    axes.set_yticks(range(len(alignment.target)), [_printable(word) for word in alignment.target])
    for label in [*axes.get_xticklabels(), *axes.get_yticklabels()]:
        label.set(parse_math=False, fontsize=size, fontfamily=_installed_fonts())
    if any(_width(label) > cell_width * 0.94 for label in axes.get_xticklabels()):
        rotation = 45 if cell_width >= size * 1.5 else 90
        for label in axes.get_xticklabels():
            label.set(
                rotation=rotation,
                rotation_mode="anchor",
                ha="left",
                va="bottom" if rotation == 45 else "center",
            )


def _printable(word: str) -> str:
    """`word` without characters that have no picture."""
    return regex.sub(r"[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]", "\N{REPLACEMENT CHARACTER}", word)


def _width(label: Text) -> float:
    """How wide an upright label is, in points."""
    return label.get_window_extent().width * 72 / _dots_per_inch(label)


def _dots_per_inch(artist: Artist) -> float:
    """Of the figure that holds `artist`."""
    holder = artist.get_figure(root=True)
    assert holder is not None, "an artist without a figure cannot be measured"
    return holder.dpi


def _frame_links(axes: Axes, alignment: Alignment) -> None:
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    frames = [Rectangle((source - 0.5, target - 0.5), 1, 1) for source, target in alignment.links]
    axes.add_collection(
        PatchCollection(
            frames, facecolor="none", edgecolor="#d95f02", linewidth=1.2, zorder=3, clip_on=False
        ),
        autolim=False,
    )


def _write_numbers(axes: Axes, alignment: Alignment, size: float) -> None:
    """Weights, two decimals, in a colour legible on their cells; in small cells not the small ones."""
    smallest = 0.005 if size > 7 else 0.05
    for (row, column), weight in np.ndenumerate(alignment.weights):
        if weight >= smallest:
            text = "1.0" if weight >= 0.995 else f"{weight:.2f}"[1:]
            colour = "white" if weight > 0.55 else "0.25"
            axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=size)


@cache
def _installed_fonts() -> list[str]:
    """The fonts for labels that this machine has."""
    from matplotlib.font_manager import fontManager

    installed = set(fontManager.get_font_names())
    return [name for name in _FONTS if name in installed]
