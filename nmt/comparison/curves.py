"""How runs learned: their validations, by updates and by time."""

from collections.abc import Sequence
from statistics import mean
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


def mean_curve(systems: Sequence[System], metric: str) -> list[Point]:
    """The mean of the courses of `systems`, at the updates at which all of them were validated."""
    courses = [{point.update: point for point in curve(system, metric)} for system in systems]
    common = sorted(set.intersection(*(set(course) for course in courses)))
    return [
        Point(
            update,
            mean(course[update].minutes for course in courses),
            mean(course[update].value for course in courses),
        )
        for update in common
    ]
