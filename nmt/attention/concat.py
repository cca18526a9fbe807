"""The concat score (Luong, Pham & Manning 2015, equation 8)."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from nmt.attention.additive import additive_energy
from nmt.attention.soft import SoftAttention


class ConcatAttention(SoftAttention):
    """e_tj = v · tanh(W [s_t; h_j]).

    The same function as the additive score, written with one matrix; the parts of W that meet s_t and h_j
    are applied apart, so that the annotations' part is computed once a sentence.

    Args:
        query_size: H.
        annotation_size: M; None = H.
        alignment_size: A, the rows of W; None = H.
        normalizer: softmax, sparsemax or entmax15.
    """

    def __init__(
        self,
        query_size: int,
        annotation_size: int | None = None,
        *,
        alignment_size: int | None = None,
        normalizer: str = "softmax",
    ) -> None:
        annotation_size = annotation_size or query_size
        super().__init__(annotation_size, normalizer)
        alignment_size = alignment_size or query_size
        self.query_size = query_size
        self.map = nn.Linear(query_size + annotation_size, alignment_size, bias=False)  # W
        self.vector = nn.Parameter(torch.empty(alignment_size))  # v
        nn.init.uniform_(self.vector, -(alignment_size**-0.5), alignment_size**-0.5)

    def keys(self, annotations: Tensor) -> Tensor:
        """Keys (B, S, A) of `annotations` (B, S, M): their half of W [s; h]."""
        return functional.linear(annotations, self.map.weight[:, self.query_size :])

    def energy(self, query: Tensor, keys: Tensor) -> Tensor:
        """Energies (B, T, S) of `query` (B, T, H) against `keys` (B, S, A)."""
        query = functional.linear(query, self.map.weight[:, : self.query_size])
        return additive_energy(query, keys, self.vector)
