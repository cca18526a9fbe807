"""How runs learned: their validations, by updates and by time."""

from typing import NamedTuple

from nmt.comparison.systems import System

METRICS = {"bleu": "dev BLEU", "perplexity": "dev perplexity"}


class Point(NamedTuple):
    """A validation."""

    update: int
    minutes: float  # of training, validations included
    value: float


def curve(system: System, metric: str) -> list[Point]:
    """The course of one of `METRICS`; empty for files of translations."""
    return [
        Point(line["update"], line["seconds"] / 60, line[metric])
        for line in system.metrics
        if line["kind"] == "validation" and metric in line and "seconds" in line
    ]
