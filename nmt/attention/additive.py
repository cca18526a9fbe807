"""Additive attention (Bahdanau, Cho & Bengio 2015, equations 5-6 and section A.1.2)."""

import torch
from torch import Tensor, nn

from nmt.attention.base import over_queries
from nmt.attention.soft import SoftAttention


class AdditiveAttention(SoftAttention):
    """e_tj = v · tanh(W s_t + U h_j).

    As in the paper there are no biases; its s_{i-1} is the query, its h_j (of size 2n there) an annotation.

    Args:
        query_size: H.
        annotation_size: M; None = H.
        alignment_size: A, the size of the hidden layer; None = H.
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
        self.query_map = nn.Linear(query_size, alignment_size, bias=False)  # W
        self.key_map = nn.Linear(annotation_size, alignment_size, bias=False)  # U
        self.vector = nn.Parameter(torch.empty(alignment_size))  # v
        nn.init.uniform_(self.vector, -(alignment_size**-0.5), alignment_size**-0.5)

    def keys(self, annotations: Tensor) -> Tensor:
        """U h_j: keys (B, S, A) of `annotations` (B, S, M)."""
        return self.key_map(annotations)

    def energy(self, query: Tensor, keys: Tensor) -> Tensor:
        """Energies (B, T, S) of `query` (B, T, H) against `keys` (B, S, A)."""
        return additive_energy(self.query_map(query), keys, self.vector)


def additive_energy(query: Tensor, keys: Tensor, vector: Tensor) -> Tensor:
    """v · tanh(q + k): energies (B, T, S) of `query` (B, T, A), `keys` (B, S, A) and `vector` (A)."""

    def energy(part: Tensor) -> Tensor:
        # The sum is ours alone, so tanh may overwrite it: (B, T, S, A) is written once and kept once.
        return (part.unsqueeze(2) + keys.unsqueeze(1)).tanh_() @ vector

    return torch.cat(over_queries(energy, (query,), keys.numel()), dim=1)
