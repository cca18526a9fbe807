"""The recurrent encoder: one annotation a source word, made from the words before it and, in a BiRNN, after
it.

Bahdanau, Cho and Bengio 2015, section 3.2: h_j = [h_j(forward); h_j(backward)]. `bidirectional=False` gives
the one-directional encoder of Sutskever 2014 and Luong 2015. Shapes: **B** batch, **S** source length, **M**
annotation size, **E** embedding size, **L** layers.
"""

from typing import NamedTuple

from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from nmt.errors import NMTError
from nmt.models.interfaces import Encoder
from nmt.models.recurrent import State, layer_class
from nmt.models.state import Memory


class FinalStates(NamedTuple):
    """The states of the layers after their last word, both directions side by side."""

    hidden: Tensor  # (B, L, M)
    cell: Tensor | None  # (B, L, M) in an LSTM

    def layer(self, index: int) -> State:
        """The state of layer `index` as a tuple of tensors (B, M)."""
        return tuple(part[:, index] for part in self if part is not None)


class RNNEncoder(Encoder):
    """Layers of a GRU, LSTM or plain RNN over embedded words; padding never enters the recurrence.

    `embedding` maps ids to (E); `annotation_size` (M) is the size over both directions; `dropout` is the
    probability with which elements of the embeddings and of what goes from layer to layer are dropped.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        annotation_size: int,
        *,
        cell: str = "gru",
        num_layers: int = 1,
        bidirectional: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        directions = 2 if bidirectional else 1
        if annotation_size % directions:
            raise NMTError(
                f"an encoder of two directions needs an even annotation size, not {annotation_size}"
            )
        self.annotation_size = annotation_size
        self.num_layers = num_layers
        self.embedding = embedding
        self.dropout = nn.Dropout(dropout)
        self.rnn = layer_class(cell)(
            embedding.embedding_dim,
            annotation_size // directions,
            num_layers,
            batch_first=True,
            dropout=dropout if num_layers > 1 else 0.0,
            bidirectional=bidirectional,
        )

    def forward(self, tokens: Tensor, mask: Tensor) -> Memory:
        """Encode `tokens` (B, S) whose real ones are true in `mask` (B, S) and come first."""
        lengths = mask.sum(dim=1)
        # An empty source still has one row, or packing refuses it; its mask keeps it unseen.
        packed = pack_padded_sequence(
            self.dropout(self.embedding(tokens)),
            lengths.clamp(min=1).cpu(),
            batch_first=True,
            enforce_sorted=False,
        )
        outputs, final = self.rnn(packed)
        annotations, _ = pad_packed_sequence(outputs, batch_first=True, total_length=tokens.shape[1])
        annotations = annotations * mask.unsqueeze(2)
        mean = annotations.sum(dim=1) / lengths.clamp(min=1).unsqueeze(1)
        hidden, cell = final if isinstance(final, tuple) else (final, None)
        return Memory(annotations, mask, mean, FinalStates(self._by_layer(hidden), self._optional(cell)))

    def _by_layer(self, states: Tensor) -> Tensor:
        """(L * directions, B, M / directions) as (B, L, M)."""
        batch_size = states.shape[1]
        return states.transpose(0, 1).reshape(batch_size, self.num_layers, self.annotation_size)

    def _optional(self, states: Tensor | None) -> Tensor | None:
        return None if states is None else self._by_layer(states)
