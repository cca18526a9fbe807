"""Dropout (Srivastava et al. 2014) that is not short of random numbers on CPUs."""

import torch
from torch import Tensor, nn

_LEVELS = 1 << 16


class Dropout(nn.Dropout):
    """PyTorch's, but for how CPUs choose: one draw of 64 random bits decides for four elements.

    There the probability is rounded to a multiple of 2^-16.
    """

    def forward(self, x: Tensor) -> Tensor:
        """`x` in training with elements set to zero and the others scaled up, else as it is."""
        if not self.training or not self.p or x.device.type != "cpu":
            return super().forward(x)
        return x * _keep(x, round(self.p * _LEVELS))


def _keep(like: Tensor, dropped: int) -> Tensor:
    """Zeros for `dropped` of 2^16 elements on average, elsewhere what makes up for them; shaped `like`."""
    draws = torch.empty(like.numel() // 4 + 1, dtype=torch.int64).random_(-(2**63), None)
    levels = draws.view(torch.int16)[: like.numel()].view(like.shape)  # all 2^16 numbers alike
    kept = (levels > dropped - 1 - _LEVELS // 2).to(like.dtype)
    return kept.mul_(_LEVELS / max(1, _LEVELS - dropped))
