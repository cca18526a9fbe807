"""The location score: where to look depends on the decoder alone (Luong, Pham & Manning 2015)."""

import logging

from torch import Tensor, nn
from torch.nn import functional

from nmt.attention.soft import SoftAttention, Source
from nmt.errors import NMTError

log = logging.getLogger(__name__)


class LocationAttention(SoftAttention):
    """e_t = W_a s_t (equation 9): one energy for each of the first `max_length` source positions.

    Nothing of the source is read but its length: the positions that a sentence lacks are masked. The query is
    the decoder's state, as in the paper, or with `embedding_size` [s_t; y_{t-1}], the state and the input
    word's embedding, as in the classic PyTorch tutorial (which masks nothing). A source longer than
    `max_length` is an error in training; otherwise what is beyond gets no weight, and a warning says so.

    Args:
        query_size: H, the size of the decoder's state.
        annotation_size: M; None = H.
        embedding_size: E; None = queries are states (B, T, H). Otherwise they are (B, T, H + E).
        word: whether a decoder that knows the input word's embedding is to pass it.
        max_length: source tokens that can be attended, end of sentence included.
        normalizer: softmax, sparsemax or entmax15.
    """

    def __init__(
        self,
        query_size: int,
        annotation_size: int | None = None,
        *,
        embedding_size: int | None = None,
        word: bool = True,
        max_length: int = 100,
        normalizer: str = "softmax",
    ) -> None:
        super().__init__(annotation_size or query_size, normalizer)
        if max_length < 1:
            raise NMTError(f"attention.max_length is {max_length}: give 1 or more source tokens")
        self.max_length = max_length
        self.reads_word = word and embedding_size is not None
        if self.reads_word:
            query_size += embedding_size or 0
        self.position_map = nn.Linear(query_size, max_length)  # W_a, and the tutorial's bias

    def prepare(self, annotations: Tensor, mask: Tensor) -> Source:
        """`annotations` (B, S, M) and `mask` (B, S), of which positions from `max_length` on are closed."""
        if mask.shape[1] > self.max_length and mask[:, self.max_length :].any():
            found = (
                f"a source of {int(mask.sum(1).max())} tokens is longer than "
                f"attention.max_length={self.max_length}"
            )
            if self.training:
                raise NMTError(f"{found}: raise it or lower data.max_length")
            log.warning("%s: nothing beyond is looked at", found)
        kept = mask[:, : self.max_length]
        mask = functional.pad(kept, (0, mask.shape[1] - kept.shape[1]), value=False)
        return Source(annotations, annotations, mask)

    def energy(self, query: Tensor, keys: Tensor) -> Tensor:
        """Energies (B, T, S) of `query` (B, T, H); of `keys` (B, S, M) only the number is read."""
        energy = self.position_map(query)[..., : keys.shape[1]]
        return functional.pad(energy, (0, keys.shape[1] - energy.shape[2]))
