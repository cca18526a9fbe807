"""Scaled dot-product attention with learned query, key and value maps (Vaswani et al. 2017, section 3.2)."""

from torch import Tensor, nn

from nmt.attention.base import Attended
from nmt.attention.scaled_dot import ScaledDotAttention
from nmt.attention.soft import Source


class QKVAttention(ScaledDotAttention):
    """c_t = Σ_j normalise_j(W_q s_t · W_k h_j / √A) W_v h_j: one head, as in the paper without biases.

    Args:
        query_size: H.
        annotation_size: M; None = H.
        alignment_size: A, the size of mapped queries, keys and values, and so C; None = H.
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
        alignment_size = alignment_size or query_size
        super().__init__(alignment_size, normalizer=normalizer)
        self.query_map = nn.Linear(query_size, alignment_size, bias=False)  # W_q
        self.key_map = nn.Linear(annotation_size, alignment_size, bias=False)  # W_k
        self.value_map = nn.Linear(annotation_size, alignment_size, bias=False)  # W_v

    def prepare(self, annotations: Tensor, mask: Tensor) -> Source:
        """Mapped keys and values (B, S, A) of `annotations` (B, S, M), and `mask` (B, S)."""
        return Source(self.key_map(annotations), self.value_map(annotations), mask)

    def attend(
        self, query: Tensor, source: Source, memo: None, need_weights: bool = True
    ) -> tuple[Attended, None]:
        """Contexts (B, T, A) and weights (B, T, S) of `query` (B, T, H)."""
        return super().attend(self.query_map(query), source, memo, need_weights)
