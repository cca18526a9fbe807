"""How a recurrent decoder starts from what the encoder saw.

Shapes: **B** batch, **M** annotation size, **H** decoder state size.
"""

import torch
from torch import Tensor, nn

from nmt.errors import NMTError
from nmt.models.recurrent import State
from nmt.models.state import Memory

STARTS = ("mean", "last", "zero")


class Bridge(nn.Module):
    """The decoder's first states, one tuple of tensors (B, H) a layer.

    `start`: "mean" of the annotations, the "last" state of the encoder's layers, or "zero". With `project`
    each goes through s_0 = tanh(W x) (Bahdanau 2015, appendix A.2.2, where x is the backward RNN's last
    state: our "last" holds both directions'); without, it is taken as it is, which needs M = H. A decoder of
    more layers than the encoder starts the rest from the encoder's top one; what the encoder lacks (an LSTM's
    cell) starts at zero.
    """

    def __init__(
        self,
        memory_size: int,
        hidden_size: int,
        num_layers: int,
        *,
        start: str,
        project: bool,
        has_cell: bool,
    ) -> None:
        super().__init__()
        if start not in STARTS:
            raise NMTError(f"start={start} is no way to start a decoder; choose one of {', '.join(STARTS)}")
        if start != "zero" and not project and memory_size != hidden_size:
            raise NMTError(
                f"a decoder of size {hidden_size} cannot start from annotations of size {memory_size} "
                "as they are; "
                "set decoder.bridge=true or make the sizes equal"
            )
        self.start = start
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.has_cell = has_cell
        parts = num_layers * (1 + has_cell) if project and start != "zero" else 0
        self.projections = nn.ModuleList(nn.Linear(memory_size, hidden_size) for _ in range(parts))

    def forward(self, memory: Memory) -> tuple[State, ...]:
        """The first states of all layers for `memory`."""
        return tuple(self._layer(memory, index) for index in range(self.num_layers))

    def _layer(self, memory: Memory, index: int) -> State:
        num_parts = 1 + self.has_cell
        given = self._given(memory, index)
        zero = memory.summary.new_zeros(memory.summary.shape[0], self.hidden_size)
        state = []
        for part in range(num_parts):
            if part >= len(given):
                state.append(zero)
            elif self.projections:
                state.append(torch.tanh(self.projections[index * num_parts + part](given[part])))
            else:
                state.append(given[part])
        return tuple(state)

    def _given(self, memory: Memory, index: int) -> tuple[Tensor, ...]:
        if self.start == "zero":
            return ()
        if self.start == "mean" or memory.final is None:
            return (memory.summary,) * (1 + self.has_cell if self.projections else 1)
        num_layers = memory.final.hidden.shape[1]
        return memory.final.layer(min(index, num_layers - 1))
