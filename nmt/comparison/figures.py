"""The figures of a comparison as PNG and PDF: scores, learning curves, breakdowns, alignments."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from nmt.comparison.breakdown import Breakdown
from nmt.comparison.curves import METRICS, curve
from nmt.comparison.scoring import Comparison

COLOURS = ("#1f77b4", "#d95f02", "#2a9d5c", "#9467bd", "#c2185b", "#7f6000", "#17a2b8", "#555555", "#8fae00")
_DOTS_PER_INCH = 150


def colour(number: int) -> str:
    """Of the variant numbered so, in every figure."""
    return COLOURS[number % len(COLOURS)]


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


def _axes(width: float, height: float, columns: int = 1) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(1, columns, squeeze=False)[0]


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
    figure, both = _axes(10, 3.6, 2)
    for number, row in enumerate(comparison.rows):
        for place, system in enumerate(row.variant.systems):
            points = curve(system, metric)
            label = row.variant.name if place == 0 else None
            for axes, xs in zip(both, ([p.update for p in points], [p.minutes for p in points]), strict=True):
                axes.plot(
                    xs,
                    [point.value for point in points],
                    marker=".",
                    color=colour(number),
                    alpha=0.8,
                    label=label,
                )
    for axes, title in zip(both, ("updates", "minutes of training"), strict=True):
        axes.set(xlabel=title, ylabel=METRICS[metric])
        axes.grid(alpha=0.3)
        if metric == "perplexity":
            axes.set_yscale("log")
    both[0].legend(frameon=False)
    return figure


def _breakdown(comparison: Comparison, part: Breakdown) -> Any:
    places = np.arange(len(part.buckets))
    figure, (axes,) = _axes(max(6.0, 0.5 * len(places) + 2), 3.8)
    width = 0.8 / len(part.means)
    for number, (row, means, deviations) in enumerate(
        zip(comparison.rows, part.means, part.deviations, strict=True)
    ):
        heights = [0.0 if value is None else value for value in means]
        errors = [0.0 if value is None else value for value in deviations]
        shift = (number - (len(part.means) - 1) / 2) * width
        axes.bar(places + shift, heights, width, yerr=errors, color=colour(number), label=row.variant.name)
    labels = [f"{name}\n({size})" for name, size in zip(part.buckets, part.sizes, strict=True)]
    crowded = len(labels) > 8
    axes.set_xticks(places, labels, rotation=60 if crowded else 0, ha="right" if crowded else "center")
    axes.set(ylabel=part.title.split(" by ")[0].split(" of ")[0], xlabel=part.unit, title=part.title)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(frameon=False)
    return figure


def _alignments(comparison: Comparison) -> Any:
    """The first kept sentence, of each variant that attends."""
    from nmt.alignment.alignment import Alignment

    rows = [row for row in comparison.rows if row.variant.systems[0].matrices]
    shown = [row.variant.systems[0].matrices[0] for row in rows]
    height = 1.2 + 0.3 * max(len(matrix["target"]) for matrix in shown)
    width = sum(1.2 + 0.3 * len(matrix["source"]) for matrix in shown)
    figure, columns = _axes(width, height, len(shown))
    figure.get_layout_engine().execute(figure)
    for row, matrix, axes in zip(rows, shown, columns, strict=True):
        weights, eos = np.array(matrix["weights"]), np.array(matrix["eos"])
        alignment = Alignment.of(matrix["source"], matrix["target"], weights * (1 - eos)[:, None], eos)
        alignment.plot(axes, numbers=False)
        axes.set_xlabel(row.variant.name)
    return figure
