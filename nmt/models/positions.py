"""Sinusoidal positions (Vaswani et al. 2017, section 3.5)."""

import torch
from torch import Tensor


def sinusoidal_positions(length: int, size: int, like: Tensor) -> Tensor:
    """PE (`length`, `size`): sin(t / 10000^(2i / size)) at 2i, its cosine at 2i + 1; type and device of
    `like`.
    """
    positions = torch.arange(length, dtype=torch.float64, device=like.device).unsqueeze(1)
    even = torch.arange(0, size, 2, dtype=torch.float64, device=like.device)
    angles = positions * 10000.0 ** (-even / size)
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)[:, :size].to(like.dtype)
