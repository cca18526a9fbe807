"""What a Transformer's first layer sees: embedded words at their positions."""

from torch import Tensor, nn
from torch.nn import functional

from nmt.errors import NMTError
from nmt.models.dropout import Dropout
from nmt.models.positions import KINDS, LearnedPositions, sinusoidal_positions


class WordInput(nn.Module):
    """x_t = dropout(W √E y_t + PE_t) of embeddings y_t (Vaswani et al. 2017, sections 3.4 and 3.5).

    W is there only where the embedding size E is not `size`. `positions` are sinusoidal, or learned up to
    `max_positions` words; `dropout` is the probability of dropping an element of x_t, `word_dropout` that of
    dropping a whole word y_t, whose position remains (Gal & Ghahramani 2016).
    """

    def __init__(
        self,
        embedding_size: int,
        size: int,
        *,
        positions: str = "sinusoidal",
        max_positions: int = 1024,
        dropout: float = 0.0,
        word_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if positions not in KINDS:
            raise NMTError(f"positions={positions} are none of {', '.join(KINDS)}")
        fits = embedding_size == size
        self.size = size
        self.scale = embedding_size**0.5
        self.map = nn.Identity() if fits else nn.Linear(embedding_size, size, bias=False)
        self.learned = LearnedPositions(max_positions, size) if positions == "learned" else None
        self.dropout = Dropout(dropout)
        self.word_dropout = word_dropout

    def forward(self, embedded: Tensor, start: int = 0) -> Tensor:
        """(B, T, size) of `embedded` (B, T, E), whose first word stands at position `start`."""
        length = embedded.shape[1]
        if self.training and self.word_dropout:
            kept = functional.dropout(embedded.new_ones(*embedded.shape[:2], 1), self.word_dropout)
            embedded = embedded * kept
        words = self.map(embedded * self.scale)
        if self.learned is None:
            places = sinusoidal_positions(length, self.size, like=words, start=start)
        else:
            places = self.learned(start, length)
        return self.dropout(words + places)
