"""Guided alignment: attention taught by word links from elsewhere (Chen et al. 2016; Garg et al. 2019)."""

import torch
from torch import Tensor

_SMALLEST = 1e-9  # a weight below counts as this: windows and sparse normalisers give exact zeros


def guidance_loss(weights: Tensor, links: Tensor) -> Tensor:
    """-sum_i 1/|A_i| sum_{j in A_i} log alpha_ij, a sum () over the rows i of `weights` (B, T, S) with links.

    `links` (3, L) are sentence, row and column of each link; A_i are those of row i. This is the
    cross-entropy of the weights and the links' matrix, each row of which is normalised; rows without links
    count nothing, as in Garg et al.'s loss. A weight that is exactly zero learns nothing.
    """
    rows, shares = _shares(weights, links)
    linked = weights.flatten(0, 1)[rows, links[2]]
    return -(linked.float().clamp_min(_SMALLEST).log() * shares).sum()


def expected_misses(log_probability: Tensor | None, weights: Tensor, links: Tensor) -> Tensor:
    """For choices: how many rows with links are expected to miss them, but for a constant, a sum ().

    The gradient comes through `weights` (B, T, S; Gumbel) or, where sampled choices were scored, by
    REINFORCE through their `log_probability` (B, T), a hit's reward being 1.
    """
    rows, _ = _shares(weights, links)
    hit = weights.flatten(0, 1)[rows, links[2]]
    if log_probability is None:
        return -hit.sum()
    return -(hit.detach() * log_probability.flatten()[rows]).sum()


def _shares(weights: Tensor, links: Tensor) -> tuple[Tensor, Tensor]:
    """For each link its row in the flattened (B * T), and one over the number of that row's links."""
    num_sentences, num_rows = weights.shape[:2]
    rows = links[0] * num_rows + links[1]
    return rows, torch.bincount(rows, minlength=num_sentences * num_rows)[rows].float().reciprocal()
