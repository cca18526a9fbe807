"""The position-wise feed-forward network (Vaswani et al. 2017, equation 2), also gated (Shazeer 2020)."""

from collections.abc import Callable

from torch import Tensor, nn
from torch.nn import functional

from nmt.errors import NMTError
from nmt.models.dropout import Dropout

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": functional.relu,
    "gelu": functional.gelu,
    "swiglu": functional.silu,
}


class FeedForward(nn.Module):
    """W_2 dropout(f(W_1 x + b_1)) + b_2 with f = relu or gelu; for swiglu silu(W_1 x + b_1) * (W_3 x + b_3)
    stands within the dropout.

    `size` is that of x and of the result, `inner_size` that between; a swiglu of `inner_size` has half as
    many weights more.
    """

    def __init__(self, size: int, inner_size: int, activation: str = "relu", dropout: float = 0.0) -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise NMTError(f"activation={activation} is none of {', '.join(ACTIVATIONS)}")
        self.activation = activation
        self.gated = activation == "swiglu"
        self.inner_map = nn.Linear(size, 2 * inner_size if self.gated else inner_size)  # W_1 (and W_3 below)
        self.output_map = nn.Linear(inner_size, size)  # W_2
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(..., size) of `x` (..., size)."""
        inner = self.inner_map(x)
        gate = None
        if self.gated:
            inner, gate = inner.chunk(2, dim=-1)
        inner = ACTIVATIONS[self.activation](inner)
        return self.output_map(self.dropout(inner if gate is None else inner * gate))
