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
    linked, shares = _linked(weights, links)
    return -(linked.float().clamp_min(_SMALLEST).log() * shares).sum()


def cross_entropy(weights: Tensor, wanted: Tensor) -> Tensor:
    """-sum_tj p_tj log alpha_tj, a sum (), of `weights` and the probabilities `wanted`, both (B, T, S)."""
    return -(weights.float().clamp_min(_SMALLEST).log() * wanted).sum()


def choice_guidance_loss(log_probability: Tensor, links: Tensor) -> Tensor:
    """The `guidance_loss` of choices with `log_probability` (B, T, S), which teaches the surest miss, too."""
    linked, shares = _linked(log_probability, links)
    return -(linked.float() * shares).sum()


def _linked(matrix: Tensor, links: Tensor) -> tuple[Tensor, Tensor]:
    """For each link its cell of `matrix` (B, T, S), and one over the number of that row's links."""
    num_sentences, num_rows = matrix.shape[:2]
    rows = links[0] * num_rows + links[1]
    counts = torch.bincount(rows, minlength=num_sentences * num_rows)
    return matrix.flatten(0, 1)[rows, links[2]], counts[rows].float().reciprocal()
