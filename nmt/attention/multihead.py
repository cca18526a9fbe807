"""Multi-head attention (Vaswani et al. 2017, section 3.2.2)."""

from typing import NamedTuple

from torch import Tensor, nn
from torch.nn import functional

from nmt.attention.base import Attended, Attention
from nmt.attention.normalizers import normalizer as normalizer_called
from nmt.attention.scaled_dot import fused_attention
from nmt.errors import NMTError


class HeadsSource(NamedTuple):
    """The source side of multi-head attention."""

    keys: Tensor  # (B, N, S, H / N)
    values: Tensor  # (B, N, S, H / N)
    mask: Tensor  # (B, S)


class MultiHeadAttention(Attention):
    """c_t = W_o [head_1; ...; head_N], head_n = Σ_j normalise_j(W_qn s_t · W_kn h_j / √(H/N)) W_vn h_j.

    As in the paper there are no biases. The weights (B, T, S) are the mean of the heads' weights, which
    stand in `head_weights`.

    Args:
        query_size: H, which is also C; divisible by `num_heads`.
        annotation_size: M; None = H.
        num_heads: N; None = 4, or as many as a Transformer's self-attention.
        normalizer: softmax, sparsemax or entmax15.
        dropout: probability of dropping a weight; None = 0, or as in a Transformer's self-attention.
    """

    maps_context = True

    def __init__(
        self,
        query_size: int,
        annotation_size: int | None = None,
        *,
        num_heads: int | None = None,
        normalizer: str = "softmax",
        dropout: float | None = None,
    ) -> None:
        super().__init__()
        num_heads = 4 if num_heads is None else num_heads
        if num_heads < 1 or query_size % num_heads:
            raise NMTError(
                f"attention.num_heads={num_heads} does not divide query_size={query_size}: choose a divisor"
            )
        annotation_size = annotation_size or query_size
        self.context_size = query_size
        self.num_heads = num_heads
        self.normalizer = normalizer
        self.dropout = dropout or 0.0
        self.normalize = normalizer_called(normalizer)
        self.query_map = nn.Linear(query_size, query_size, bias=False)  # W_q of every head
        self.key_map = nn.Linear(annotation_size, query_size, bias=False)  # W_k
        self.value_map = nn.Linear(annotation_size, query_size, bias=False)  # W_v
        self.output_map = nn.Linear(query_size, query_size, bias=False)  # W_o

    def split_heads(self, mapped: Tensor) -> Tensor:
        """(B, X, H) -> (B, N, X, H / N)."""
        return mapped.unflatten(2, (self.num_heads, -1)).transpose(1, 2)

    def prepare(self, annotations: Tensor, mask: Tensor) -> HeadsSource:
        """Keys and values of each head, of `annotations` (B, S, M), and `mask` (B, S)."""
        keys = self.split_heads(self.key_map(annotations))
        return HeadsSource(keys, self.split_heads(self.value_map(annotations)), mask)

    def attend(
        self, query: Tensor, source: HeadsSource, memo: None, need_weights: bool = True
    ) -> tuple[Attended, None]:
        """Contexts (B, T, H), weights (B, T, S) and head weights (B, N, T, S) of `query` (B, T, H)."""
        queries = self.split_heads(self.query_map(query))
        weights = None
        if need_weights or self.normalizer != "softmax":
            energy = queries * queries.shape[3] ** -0.5 @ source.keys.transpose(2, 3)
            weights = self.normalize(energy, source.mask[:, None, None])
            heads = functional.dropout(weights, self.dropout, self.training) @ source.values
        else:
            dropout = self.dropout if self.training else 0.0
            heads = fused_attention(queries, source.keys, source.values, source.mask, dropout)
        context = self.output_map(heads.transpose(1, 2).flatten(2))
        return Attended(context, None if weights is None else weights.mean(1), weights), None
