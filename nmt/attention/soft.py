"""Soft global attention: score every source position, normalise, take the weighted mean (Bahdanau 2015).

The variants with this shape differ in two methods, `keys` and `energy`.
"""

from typing import NamedTuple

from torch import Tensor

from nmt.attention.base import Attended, Attention
from nmt.attention.normalizers import normalizer as normalizer_called


class Source(NamedTuple):
    """The source side of an attention."""

    keys: Tensor  # (B, S, A)
    values: Tensor  # (B, S, C)
    mask: Tensor  # (B, S)


class SoftAttention(Attention):
    """alpha_tj = normalise_j(score(s_t, h_j)), c_t = Σ_j alpha_tj h_j.

    Args:
        context_size: C, the size of a value.
        normalizer: softmax, sparsemax or entmax15.
    """

    def __init__(self, context_size: int, normalizer: str) -> None:
        super().__init__()
        self.context_size = context_size
        self.normalizer = normalizer
        self.normalize = normalizer_called(normalizer)

    def keys(self, annotations: Tensor) -> Tensor:
        """Keys (B, S, A) of `annotations` (B, S, M): what a score needs of the source, once a sentence."""
        return annotations

    def energy(self, query: Tensor, keys: Tensor) -> Tensor:
        """Energies (B, T, S) of `query` (B, T, H) against `keys` (B, S, A)."""
        raise NotImplementedError

    def prepare(self, annotations: Tensor, mask: Tensor) -> Source:
        """Keys, values and mask of `annotations` (B, S, M) and `mask` (B, S)."""
        return Source(self.keys(annotations), annotations, mask)

    def attend(
        self, query: Tensor, source: Source, memo: None, need_weights: bool = True
    ) -> tuple[Attended, None]:
        """Contexts (B, T, C) and weights (B, T, S) of `query` (B, T, H)."""
        weights = self.normalize(self.energy(query, source.keys), source.mask.unsqueeze(1))
        return Attended(weights @ source.values, weights), None
