"""The general score, also called multiplicative or bilinear (Luong, Pham & Manning 2015, equation 8)."""

from torch import Tensor, nn

from nmt.attention.soft import SoftAttention


class GeneralAttention(SoftAttention):
    """e_tj = s_t · W h_j.

    We keep √H W as the parameter. The scores are the paper's; but a step of Adam, which moves every element
    of a parameter by about the learning rate, would otherwise move a score by up to H times more than an
    element of s or h does, and attention would harden before it has learnt where to look.

    Args:
        query_size: H.
        annotation_size: M; None = H.
        normalizer: softmax, sparsemax or entmax15.
    """

    def __init__(
        self, query_size: int, annotation_size: int | None = None, *, normalizer: str = "softmax"
    ) -> None:
        annotation_size = annotation_size or query_size
        super().__init__(annotation_size, normalizer)
        self.key_map = nn.Linear(annotation_size, query_size, bias=False)  # √H W

    def keys(self, annotations: Tensor) -> Tensor:
        """W h_j: keys (B, S, H) of `annotations` (B, S, M)."""
        return self.key_map(annotations) * self.key_map.out_features**-0.5

    def energy(self, query: Tensor, keys: Tensor) -> Tensor:
        """Energies (B, T, S) of `query` (B, T, H) against `keys` (B, S, H)."""
        return query @ keys.transpose(1, 2)
