"""Attention step by step, as encyclopedias work it out: input word, scores, weights, context, output word."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nmt.alignment.text import columns_text


class Step(NamedTuple):
    """One step of the decoder."""

    read: str  # the piece it takes in
    written: str  # the piece that it is to predict
    probability: float  # of that piece
    weights: np.ndarray  # (S + 1): over the source's pieces and its end


def steps_of(
    target: Sequence[str], log_probabilities: Sequence[float], weights: np.ndarray, start: str, end: str
) -> list[Step]:
    """The steps that write the pieces `target` (T) and `end`, reading `start` first.

    `log_probabilities` (T + 1) are those of what is written, `weights` (T + 1, S + 1) what is attended to.
    """
    return [
        Step(read, written, math.exp(value), row)
        for read, written, value, row in zip(
            [start, *target], [*target, end], log_probabilities, weights, strict=True
        )
    ]


def explanation(source: Sequence[str], steps: Sequence[Step]) -> str:
    """The `steps` as text, over the pieces `source` (S + 1) with their end.

    A softmax's scores are the logarithms of its weights but for a constant, which they are told without: the
    highest score of a step stands as 0.
    """
    blocks = []
    for number, step in enumerate(steps, start=1):
        table = columns_text(
            [
                ["", "score", "weight"],
                *([word, _score(weight, step.weights.max()), f"{weight:.2f}"]
                  for word, weight in zip(source, step.weights, strict=True)),
            ]
        )  # fmt: skip
        blocks.append(
            f"step {number}   reads {step.read}\n{table}"
            f"context  {_mixture(source, step.weights)}\n"
            f"writes   {step.written}  (probability {step.probability:.2g})\n"
        )
    head = "scores: before the softmax, the highest as 0; h(x): the encoder's annotation of x\n\n"
    return head + "\n".join(blocks)


def _score(weight: float, highest: float) -> str:
    return (
        "-inf"
        if weight <= 0
        else f"{math.log(weight / highest):+.1f}".replace("+0.0", "0.0").replace("-0.0", "0.0")
    )


def _mixture(source: Sequence[str], weights: np.ndarray) -> str:
    """The context vector as a sum: `.94 h(I) + .04 h(you)`; parts below 0.005 are left out."""
    parts = [
        f"{weight:.2f}".removeprefix("0") + f" h({word})"
        for word, weight in zip(source, weights, strict=True)
        if weight >= 0.005
    ]
    return " + ".join(parts) or "0"
