"""Where a word stands: what is added to its embedding so that self-attention can tell positions apart."""

import torch
from torch import Tensor, nn

from nmt.errors import NMTError

KINDS = ("sinusoidal", "learned")


def sinusoidal_positions(length: int, size: int, like: Tensor, start: int = 0) -> Tensor:
    """PE (`length`, `size`) from position `start` on: sin(t / 10000^(2i / size)) at 2i, its cosine at 2i + 1.

    Vaswani et al. 2017, section 3.5. Type and device are those of `like`.
    """
    positions = torch.arange(start, start + length, dtype=torch.float64, device=like.device).unsqueeze(1)
    even = torch.arange(0, size, 2, dtype=torch.float64, device=like.device)
    angles = positions * 10000.0 ** (-even / size)
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)[:, :size].to(like.dtype)


class LearnedPositions(nn.Module):
    """A table of `max_length` vectors of `size` elements (Gehring et al. 2017); there are none beyond."""

    def __init__(self, max_length: int, size: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(max_length, size) * size**-0.5)

    def forward(self, start: int, length: int) -> Tensor:
        """The vectors (`length`, size) of the positions from `start` on."""
        if start + length > len(self.table):
            raise NMTError(
                f"a sentence of {start + length} tokens is longer than the {len(self.table)} learned "
                "positions: train with a larger max_positions or with positions=sinusoidal, or split it"
            )
        return self.table[start : start + length]
