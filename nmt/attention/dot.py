"""The dot score (Luong, Pham & Manning 2015, equation 8)."""

from torch import Tensor

from nmt.attention.soft import SoftAttention
from nmt.errors import NMTError


class DotAttention(SoftAttention):
    """e_tj = s_t · h_j, without any parameter.

    Args:
        query_size: H.
        annotation_size: M, which must be H; None = H.
        normalizer: softmax, sparsemax or entmax15.
    """

    def __init__(
        self, query_size: int, annotation_size: int | None = None, *, normalizer: str = "softmax"
    ) -> None:
        annotation_size = annotation_size or query_size
        if annotation_size != query_size:
            raise NMTError(
                f"a dot score needs queries and annotations of one size, but got query_size={query_size} and "
                f"annotation_size={annotation_size}: make them equal or use the general score"
            )
        super().__init__(annotation_size, normalizer)

    def energy(self, query: Tensor, keys: Tensor) -> Tensor:
        """Energies (B, T, S) of `query` (B, T, H) against `keys` (B, S, H)."""
        return query @ keys.transpose(1, 2)
