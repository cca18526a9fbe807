"""The figures of a comparison as PNG and PDF: scores, learning curves, breakdowns, alignments."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from nmt.comparison.breakdown import Breakdown
from nmt.comparison.curves import METRICS, curve, mean_curve
from nmt.comparison.scoring import Comparison

COLOURS = ("#1f77b4", "#d95f02", "#2a9d5c", "#9467bd", "#c2185b", "#7f6000", "#17a2b8", "#555555", "#8fae00")
_MOST_PLACES = 8  # buckets of a breakdown that are drawn as lines; more are a table of colours
_MATRICES_A_ROW = 5
_DOTS_PER_INCH = 150


def colour(number: int) -> str:
    """Of the variant numbered so, in every figure."""
    return COLOURS[number % len(COLOURS)]


def dashed(number: int) -> bool:
    """Whether that variant's lines are dashed and its marks hollow, since another has its colour."""
    return number // len(COLOURS) % 2 == 1


def _style(number: int) -> dict[str, Any]:
    return {
        "color": colour(number),
        "linestyle": "--" if dashed(number) else "-",
        "marker": "o",
        "markersize": 4,
        "markerfacecolor": "white" if dashed(number) else colour(number),
    }


def write_figures(comparison: Comparison, parts: Sequence[Breakdown], folder: Path) -> list[str]:
    """Write each figure there is data for as `folder`/NAME.png and .pdf; returns the names."""
    drawings: dict[str, Callable[[], Any]] = {"bleu": partial(_scores, comparison)}
    for metric in METRICS:
        if any(curve(system, metric) for row in comparison.rows for system in row.variant.systems):
            drawings[f"learning-{metric}"] = partial(_learning, comparison, metric)
    for part in parts:
        name = "-".join(part.title.lower().split()[:4])
        drawings[name] = partial(_breakdown, comparison, part)
    if any(row.variant.systems[0].matrices for row in comparison.rows):
        drawings["alignments"] = partial(_alignments, comparison)
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in drawings.items():
        figure = draw()
        for ending in ("png", "pdf"):
            figure.savefig(folder / f"{name}.{ending}", dpi=_DOTS_PER_INCH, bbox_inches="tight")
    return list(drawings)


def _axes(width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False).ravel()


def _legend(figure: Any, axes: Any) -> None:
    """The names of the lines in `axes`, beside all of `figure`."""
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper", frameon=False)


def _scores(comparison: Comparison) -> Any:
    """BLEU with its bootstrap interval, and each seed as a dot."""
    rows = comparison.rows
    figure, (axes,) = _axes(6, 1 + 0.35 * len(rows))
    for place, row in enumerate(rows):
        axes.plot([row.verdict.low, row.verdict.high], [place, place], color=colour(place), linewidth=2)
        axes.plot(row.verdict.bleu, place, "D", color=colour(place))
        axes.plot(
            row.facts["bleu"].values, [place] * len(row.facts["bleu"].values), ".", color="0.3", zorder=3
        )
    axes.set_yticks(range(len(rows)), [row.variant.name for row in rows])
    axes.set(xlabel="BLEU, 95 % interval, and seeds")
    axes.invert_yaxis()
    axes.grid(axis="x", alpha=0.3)
    return figure


def _learning(comparison: Comparison, metric: str) -> Any:
    """The mean over seeds as a line, by updates and by time; each seed's validations as dots."""
    figure, both = _axes(11, 3.8, columns=2)
    for number, row in enumerate(comparison.rows):
        course = mean_curve(row.variant.systems, metric)
        points = [point for system in row.variant.systems for point in curve(system, metric)]
        for axes, by in zip(both, ("update", "minutes"), strict=True):
            xs, values = [getattr(point, by) for point in points], [point.value for point in points]
            axes.plot(xs, values, ".", color=colour(number), alpha=0.35, markeredgewidth=0)
            xs, values = [getattr(point, by) for point in course], [point.value for point in course]
            axes.plot(xs, values, **_style(number), label=row.variant.name)
    for axes, title in zip(both, ("updates", "minutes of training"), strict=True):
        axes.set(xlabel=title, ylabel=METRICS[metric])
        axes.grid(alpha=0.3)
        if metric == "perplexity":
            axes.set_yscale("log")
    _legend(figure, both[0])
    return figure


def _breakdown(comparison: Comparison, part: Breakdown) -> Any:
    """Means with their deviations, a line a variant; as a table of colours where buckets are many."""
    if len(part.buckets) > _MOST_PLACES:
        return _coloured_table(comparison, part)
    places = np.arange(len(part.buckets))
    figure, (axes,) = _axes(4 + 1.2 * len(places), 4)
    for number, row in enumerate(comparison.rows):
        shift = 0.4 * ((number + 0.5) / len(comparison.rows) - 0.5)  # bars of deviations side by side
        means, deviations = (np.array(each[number], dtype=float) for each in (part.means, part.deviations))
        style = {**_style(number), "linewidth": 1, "label": row.variant.name}
        axes.errorbar(places + shift, means, np.nan_to_num(deviations), **style)
    labels = [f"{name}\n({size})" for name, size in zip(part.buckets, part.sizes, strict=True)]
    axes.set_xticks(places, labels)
    axes.set(ylabel=part.title.split(" by ")[0].split(" of ")[0], xlabel=part.unit, title=part.title)
    axes.grid(axis="y", alpha=0.3)
    _legend(figure, axes)
    return figure


def _coloured_table(comparison: Comparison, part: Breakdown) -> Any:
    """A row a bucket, those that variants differ most in first."""
    values = np.array(part.means, dtype=float).T
    order = np.argsort(np.nanmin(values, axis=1) - np.nanmax(values, axis=1), kind="stable")
    values = values[order]
    names = [row.variant.name for row in comparison.rows]
    figure, (axes,) = _axes(2.5 + 0.55 * len(names), 1.5 + 0.23 * len(order))
    image = axes.imshow(values, aspect="auto", cmap="Blues")
    for (place, variant), value in np.ndenumerate(values):
        if not np.isnan(value):
            ink = "white" if image.norm(value) > 0.6 else "black"
            axes.text(variant, place, f"{value:.0f}", ha="center", va="center", color=ink, size=8)
    axes.set_xticks(range(len(names)), names, rotation=45, ha="left", rotation_mode="anchor")
    axes.set_yticks(range(len(order)), [f"{part.buckets[number]} ({part.sizes[number]})" for number in order])
    axes.tick_params(length=0, top=False, labeltop=True, bottom=False, labelbottom=False)
    axes.set_xlabel(part.title)
    return figure


def _alignments(comparison: Comparison) -> Any:
    """The first kept sentence, of each variant that attends."""
    from nmt.alignment.alignment import Alignment

    shown = [row for row in comparison.rows if row.variant.systems[0].matrices]
    matrices = [row.variant.systems[0].matrices[0] for row in shown]
    columns = min(len(shown), _MATRICES_A_ROW)
    rows = -(-len(shown) // columns)
    height = 1.2 + 0.3 * max(len(matrix["target"]) for matrix in matrices)
    width = 1.2 + 0.3 * max(len(matrix["source"]) for matrix in matrices)
    figure, places = _axes(columns * width, rows * height, rows, columns)
    figure.get_layout_engine().execute(figure)
    for axes in places[len(shown) :]:
        axes.axis("off")
    for row, matrix, axes in zip(shown, matrices, places, strict=False):
        weights, eos = np.array(matrix["weights"]), np.array(matrix["eos"])
        alignment = Alignment.of(matrix["source"], matrix["target"], weights * (1 - eos)[:, None], eos)
        alignment.plot(axes, numbers=False)
        axes.set_xlabel(row.variant.name)
    return figure
