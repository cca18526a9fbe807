"""The recurrent encoder: one annotation a source word, made from the words before it and, in a BiRNN, after
it.

Bahdanau, Cho and Bengio 2015, section 3.2: h_j = [h_j(forward); h_j(backward)]. `bidirectional=False` gives
the one-directional encoder of Sutskever 2014 and Luong 2015. Shapes: **B** batch, **S** source length, **M**
annotation size, **E** embedding size, **L** layers.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from nmt.errors import NMTError
from nmt.models.gru import GatedSequence
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
        self.is_gru = cell == "gru"
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
        embedded = self.dropout(self.embedding(tokens))
        run = self._run_gru if self.is_gru and tokens.device.type == "cpu" else self._run_packed
        annotations, final = run(embedded, mask)
        return Memory.of(annotations, mask, final, embedded, tokens)

    def _run_packed(self, embedded: Tensor, mask: Tensor) -> tuple[Tensor, FinalStates]:
        """Annotations (B, S, M) and final states by PyTorch's own layers."""
        # An empty source still has one row, or packing refuses it; its mask keeps it unseen.
        lengths = mask.sum(dim=1).clamp(min=1).cpu()
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        outputs, final = self.rnn(packed)
        annotations, _ = pad_packed_sequence(outputs, batch_first=True, total_length=mask.shape[1])
        hidden, cell = final if isinstance(final, tuple) else (final, None)
        return annotations, FinalStates(
            self._by_layer(hidden), None if cell is None else self._by_layer(cell)
        )

    def _run_gru(self, embedded: Tensor, mask: Tensor) -> tuple[Tensor, FinalStates]:
        """The same of GRUs, faster on CPUs: both directions step together, one of them from the end."""
        directions = 2 if self.rnn.bidirectional else 1
        steps = mask.t().unsqueeze(2)  # (S, B, 1)
        steps = torch.stack([steps, steps.flip(0)][:directions], dim=1)
        outputs, final = embedded.transpose(0, 1), []
        for layer in range(self.num_layers):
            if layer:
                outputs = self.dropout(outputs)
            names = [f"_l{layer}{suffix}" for suffix in ("", "_reverse")[:directions]]
            w_ih, w_hh, b_ih, b_hh = (
                [getattr(self.rnn, kind + name) for name in names]
                for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            )
            projected = [F.linear(outputs, *weights) for weights in zip(w_ih, b_ih, strict=True)]
            projected[1:] = [backward.flip(0) for backward in projected[1:]]
            start = embedded.new_zeros(directions, embedded.shape[0], self.rnn.hidden_size)
            x = torch.stack(projected, dim=1)
            states = GatedSequence.apply(x, steps, start, torch.stack(w_hh), torch.stack(b_hh))
            final.append(states[-1].transpose(0, 1).flatten(1))
            outputs = torch.cat([states[:, 0], *(states[:, d].flip(0) for d in range(1, directions))], dim=2)
        return outputs.transpose(0, 1), FinalStates(torch.stack(final, dim=1), None)

    def _by_layer(self, states: Tensor) -> Tensor:
        """(L * directions, B, M / directions) as (B, L, M)."""
        batch_size = states.shape[1]
        return states.transpose(0, 1).reshape(batch_size, self.num_layers, self.annotation_size)
