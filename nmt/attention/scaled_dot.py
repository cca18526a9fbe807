"""Scaled dot-product attention (Vaswani et al. 2017, equation 1)."""

from torch import Tensor
from torch.nn import functional

from nmt.attention.base import Attended
from nmt.attention.dot import DotAttention
from nmt.attention.soft import Source


class ScaledDotAttention(DotAttention):
    """e_tj = s_t · h_j / √H, without any parameter.

    Args:
        query_size: H.
        annotation_size: M, which must be H; None = H.
        normalizer: softmax, sparsemax or entmax15.
    """

    def energy(self, query: Tensor, keys: Tensor) -> Tensor:
        """Energies (B, T, S) of `query` (B, T, H) against `keys` (B, S, H)."""
        return super().energy(query * keys.shape[2] ** -0.5, keys)

    def attend(
        self, query: Tensor, source: Source, memo: None, need_weights: bool = True
    ) -> tuple[Attended, None]:
        """Contexts (B, T, C) and weights (B, T, S) of `query` (B, T, H); fused if nobody needs weights."""
        if need_weights or self.normalizer != "softmax":
            return super().attend(query, source, memo, need_weights)
        return Attended(fused_attention(query, source.keys, source.values, source.mask), None), None


def fused_attention(
    query: Tensor, keys: Tensor, values: Tensor, mask: Tensor, dropout: float = 0.0
) -> Tensor:
    """dropout(softmax(q · k / √A)) v in one kernel: contexts (B, ..., T, C) without weights.

    Takes queries (B, ..., T, A), keys (B, ..., S, A), values (B, ..., S, C) and `mask` (B, S); axes between
    are heads. A sentence in which everything is masked gets zeros.
    """
    allowed = mask.view(mask.shape[0], *[1] * (keys.dim() - 2), mask.shape[1])
    return functional.scaled_dot_product_attention(query, keys, values, allowed, dropout)
