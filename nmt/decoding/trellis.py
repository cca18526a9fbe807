"""What search leaves behind, and hypotheses read back from it.

Every step of a search adds a layer of (parent, token, cost, weights); a hypothesis is the way back from where
its end of sentence was chosen. So attention is there for each hypothesis, at any beam size, and only what the
decoder needs is carried along.

Shapes: **B** sentences of a step, **K** hypotheses a sentence, **S** source length.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class Hypothesis(NamedTuple):
    """A finished translation."""

    tokens: list[int]  # without the end of sentence
    score: float  # what it was ranked by: by default log-probability over length penalty
    log_probability: float  # nats, end of sentence included
    token_log_probabilities: list[float]  # nats, one a token and one for the end of sentence
    weights: Tensor | None  # (len(tokens) + 1, S): the last row is the end of sentence's


class Layer(NamedTuple):
    """One step of the trellis, for the sentences that took it."""

    sentences: Tensor  # (B,): their places in the whole batch
    parents: Tensor  # (B, K): which hypothesis of the step before goes on
    tokens: Tensor  # (B, K): with which token
    log_probabilities: Tensor  # (B, K): at what cost
    end_log_probabilities: Tensor  # (B, K'): what ending here instead would have cost each parent
    weights: Tensor | None  # (B, K', S): where each parent looked


class Finished(NamedTuple):
    """Finished hypotheses of the whole batch (B, ..., N), best first; unused places score -inf."""

    scores: Tensor
    totals: Tensor  # log-probabilities, nats
    steps: Tensor  # the layer of the trellis in which the end of sentence was chosen
    parents: Tensor  # by which of the hypotheses before it

    @classmethod
    def none_yet(cls, size: tuple[int, ...], like: Tensor) -> "Finished":
        worst = like.new_full(size, -torch.inf)
        place = torch.zeros(size, dtype=torch.long, device=like.device)
        return cls(worst, worst.clone(), place, place.clone())


def read_back(trellis: list[Layer], finished: Finished) -> list[list[Hypothesis]]:
    """The hypotheses of each sentence, in the order of `finished` (B, N); fewer where fewer finished."""
    scores, totals, steps, _ = finished
    tokens, costs, weights = _walk(trellis, finished)
    result = []
    for sentence in range(scores.shape[0]):
        found = []
        for rank in range(scores.shape[1]):
            length = int(steps[sentence, rank])
            if not torch.isfinite(scores[sentence, rank]):
                continue
            found.append(
                Hypothesis(
                    tokens[sentence, rank, :length].tolist(),
                    float(scores[sentence, rank]),
                    float(totals[sentence, rank]),
                    costs[sentence, rank, : length + 1].tolist(),
                    None if weights is None else weights[sentence, rank, : length + 1],
                )
            )
        result.append(found)
    return result


def _walk(trellis: list[Layer], finished: Finished) -> tuple[Tensor, Tensor, Tensor | None]:
    """Tokens and their costs (B, N, T), and weights (B, N, T, S), back from the endings `finished` (B, N)."""
    steps = finished.steps
    shape = (*steps.shape, len(trellis))
    tokens = torch.zeros(shape, dtype=torch.long, device=steps.device)
    costs = finished.scores.new_zeros(shape)
    first = trellis[0].weights if trellis else None
    weights = None if first is None else first.new_zeros(*shape, first.shape[2])
    # where each hypothesis stands among its sentence's before the step at hand
    at = finished.parents.clone()
    for step in range(len(trellis) - 1, -1, -1):
        layer = trellis[step]
        rows = layer.sentences
        here, ends_here = at[rows], steps[rows] == step
        goes_on = steps[rows] > step
        width = layer.end_log_probabilities.shape[1]
        came_from = layer.parents.gather(1, here)
        before = torch.where(goes_on, came_from, here).clamp(max=width - 1)
        tokens[rows, :, step] = layer.tokens.gather(1, here) * goes_on
        costs[rows, :, step] = torch.where(
            ends_here,
            layer.end_log_probabilities.gather(1, before),
            layer.log_probabilities.gather(1, here),
        )
        if weights is not None and layer.weights is not None:
            places = before.unsqueeze(2).expand(-1, -1, layer.weights.shape[2])
            weights[rows, :, step] = layer.weights.gather(1, places)
        at[rows] = before
    return tokens, costs, weights
