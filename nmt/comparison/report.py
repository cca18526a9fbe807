"""The report of a comparison: one HTML page that needs nothing else, no network and no server.

The page (report.html, beside) holds the data as JSON and draws it.
"""

import json
from pathlib import Path
from typing import IO, Any

from nmt.comparison.breakdown import Breakdown, sentence_scores
from nmt.comparison.curves import METRICS, curve, mean_curve
from nmt.comparison.fairness import settings_by_variant
from nmt.comparison.figures import colour, dashed
from nmt.comparison.scoring import Comparison
from nmt.comparison.table import notes, tables

_PAGE = Path(__file__).with_name("report.html")
_MOST_SENTENCES = 2000  # those whose scores differ most; a page of more is slow to open


def write_report(comparison: Comparison, parts: list[Breakdown], file: IO[str]) -> None:
    """Write the page with `parts` as its breakdowns."""
    names = [row.variant.name for row in comparison.rows]
    content = {
        "task": comparison.task.name,
        "sentenceCount": len(comparison.task.references[0]),
        "command": comparison.command,
        "variants": names,
        "colours": [colour(number) for number in range(len(names))],
        "dashed": [dashed(number) for number in range(len(names))],
        "baseline": comparison.baseline,
        "tables": [table._asdict() for table in tables(comparison)],
        "notes": [note for note in notes(comparison) if not note.startswith("warning: ")],
        "warnings": comparison.warnings,
        "scores": _scores(comparison),
        "curves": _curves(comparison),
        "breakdowns": [part._asdict() for part in parts],
        "sentences": _sentences(comparison),
        "matrices": _matrices(comparison),
        "settings": settings_by_variant([row.variant for row in comparison.rows]),
    }
    # A < could end the script that holds the data.
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    before, after = _PAGE.read_text(encoding="utf-8").split("__DATA__")
    file.writelines([before, text, after])


def _scores(comparison: Comparison) -> list[dict[str, Any]]:
    return [
        {"low": row.verdict.low, "high": row.verdict.high, "values": row.facts["bleu"].values}
        for row in comparison.rows
    ]


def _curves(comparison: Comparison) -> list[dict[str, Any]]:
    """For each metric the points (update, minutes, value) of every run, and their mean over seeds."""
    found = []
    for metric, title in METRICS.items():
        series = [
            {
                "variant": number,
                "mean": mean_curve(row.variant.systems, metric),
                "seeds": {str(system.seed): curve(system, metric) for system in row.variant.systems},
            }
            for number, row in enumerate(comparison.rows)
        ]
        series = [each for each in series if each["mean"]]
        if series:
            found.append({"title": title, "series": series, "logarithmic": metric == "perplexity"})
    return found


def _sentences(comparison: Comparison) -> dict[str, Any]:
    """The sentences on which systems differ most, with each system's output and its chrF."""
    task = comparison.task
    named = [
        (number, row.variant.name + (f", seed {system.seed}" if len(row.variant.systems) > 1 else ""), system)
        for number, row in enumerate(comparison.rows)
        for system in row.variant.systems
    ]
    columns = [sentence_scores(system, task) for _, _, system in named]
    scores = [list(column) for column in zip(*columns, strict=True)]
    order = sorted(range(len(scores)), key=lambda number: min(scores[number]) - max(scores[number]))
    kept = sorted(order[:_MOST_SENTENCES])
    return {
        "systems": [name for _, name, _ in named],
        "variants": [number for number, _, _ in named],
        "numbers": [number + 1 for number in kept],
        "sources": None if task.sources is None else [task.sources[number] for number in kept],
        "references": [task.first_references[number] for number in kept],
        "outputs": [[system.translations[number] for number in kept] for _, _, system in named],
        "scores": [[round(value, 1) for value in scores[number]] for number in kept],
    }


def _matrices(comparison: Comparison) -> list[dict[str, Any]]:
    """For each sentence that is kept, the matrix of each variant's first run."""
    found: dict[int, dict[str, Any]] = {}
    for number, row in enumerate(comparison.rows):
        for matrix in row.variant.systems[0].matrices:
            views = found.setdefault(matrix["sentence"], {"number": matrix["sentence"] + 1, "views": []})
            views["views"].append({"variant": number, **{k: v for k, v in matrix.items() if k != "sentence"}})
    return list(found.values())
