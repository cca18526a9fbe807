"""One recurrent layer that runs a whole sequence at once or a step at a time, with the same weights.

A decoder whose input depends on its own past must step; one whose input is known runs at once. The weights
live in PyTorch's own layer (`nn.GRU`, `nn.LSTM`, `nn.RNN`), so that both ways agree and checkpoints are
plain.

Shapes: **B** rows (sentences or hypotheses), **T** steps, **H** state size, **G** gates (3 in a GRU, 4 in an
LSTM, 1 else). A state is a tuple of tensors (B, H): (h,) or, in an LSTM, (h, c).
"""

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nmt.errors import NMTError
from nmt.models.gru import GatedSequence, GatedUpdate
from nmt.models.step_linear import StepLinear

State = tuple[Tensor, ...]

LAYERS: dict[str, type[nn.GRU] | type[nn.LSTM] | type[nn.RNN]] = {
    "gru": nn.GRU,
    "lstm": nn.LSTM,
    "rnn": nn.RNN,
}


def layer_class(cell: str) -> type[nn.GRU] | type[nn.LSTM] | type[nn.RNN]:
    """PyTorch's layer for `cell`: gru, lstm or rnn (the plain tanh network)."""
    if cell not in LAYERS:
        raise NMTError(f"cell={cell} is no recurrent cell; choose one of {', '.join(LAYERS)}")
    return LAYERS[cell]


class RecurrentLayer(nn.Module):
    """A GRU, LSTM or plain tanh layer from inputs of `input_size` (I) to states of `hidden_size` (H).

    Where the decoder's past also enters (a context, an attentional vector), it has `feedback_size` (F)
    elements and a map of its own: W [x; c] = W_x x + W_c c, of which only the second part waits for the past.
    """

    def __init__(self, cell: str, input_size: int, hidden_size: int, feedback_size: int = 0) -> None:
        super().__init__()
        self.cell = cell
        self.hidden_size = hidden_size
        self.layer = layer_class(cell)(input_size, hidden_size, batch_first=True)
        gates_size = self._weight("weight_hh").shape[0]
        self.feedback = nn.Linear(feedback_size, gates_size, bias=False) if feedback_size else None

    def _weight(self, name: str) -> Tensor:
        return cast(Tensor, getattr(self.layer, f"{name}_l0"))

    def project(self, inputs: Tensor) -> Tensor:
        """What `inputs` (..., I) give to the gates, (..., G*H) with the bias: all steps at once, no state."""
        return F.linear(inputs, self._weight("weight_ih"), self._weight("bias_ih"))

    def stepper(self) -> "Stepper":
        """What goes through one sequence step by step."""
        return Stepper(
            self.cell,
            StepLinear(self._weight("weight_hh"), self._weight("bias_hh")),
            None if self.feedback is None else StepLinear(self.feedback.weight),
        )

    def run(self, inputs: Tensor, state: State) -> Tensor:
        """The states h (B, T, H) over all steps of `inputs` (B, T, I), from `state`."""
        if self.cell == "gru" and inputs.device.type == "cpu":
            projected = self.project(inputs.transpose(0, 1)).unsqueeze(1)
            weight, bias = self._weight("weight_hh").unsqueeze(0), self._weight("bias_hh").unsqueeze(0)
            states = GatedSequence.apply(projected, None, state[0].unsqueeze(0), weight, bias)
            return states.squeeze(1).transpose(0, 1)
        start = tuple(part.unsqueeze(0) for part in state)
        return self.layer(inputs, start if self.cell == "lstm" else start[0])[0]


class Stepper(NamedTuple):
    """A `RecurrentLayer` at work on one sequence, step by step."""

    cell: str
    recurrence: StepLinear  # U
    feedback: StepLinear | None  # W_c

    def feed_back(self, gates: Tensor, feedback: Tensor) -> Tensor:
        """`gates` (B, G*H) plus what `feedback` (B, F) adds to them."""
        return gates if self.feedback is None else self.feedback(feedback, gates)

    def step(self, projected: Tensor, state: State) -> State:
        """The state (B, H) after one step whose input gave `projected` (B, G*H)."""
        u = self.recurrence(state[0])
        if self.cell == "gru":
            return (GatedUpdate.apply(projected, u, state[0]),)
        if self.cell == "rnn":
            return (torch.tanh(projected + u),)
        into, forget, new, out = (projected + u).chunk(4, dim=1)
        memory = forget.sigmoid() * state[1] + into.sigmoid() * new.tanh()
        return out.sigmoid() * memory.tanh(), memory
