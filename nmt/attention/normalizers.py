"""From energies to weights: softmax, sparsemax (Martins & Astudillo 2016), 1.5-entmax (Peters et al. 2019).

Each maps the energies (..., S) of one query to the simplex. Sparsemax and entmax give exact zeros. All are
exact algorithms (one sort), with the closed-form gradient of their papers. Masked positions get zero, and a
row in which everything is masked is all zeros.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from nmt.errors import NMTError

Normalizer = Callable[[Tensor, Tensor], Tensor]

# Once a row's greatest energy stands at 0, sparsemax and entmax give nothing to what lies below -1 and -2.
_OUT_OF_SUPPORT = -3.0


def masked_softmax(energy: Tensor, mask: Tensor) -> Tensor:
    """Weights (B, T, S) of `energy` (B, T, S); `mask` is broadcastable to it."""
    blocked = ~mask
    weights = energy.masked_fill(blocked, torch.finfo(energy.dtype).min).softmax(-1)
    return weights.masked_fill(blocked, 0.0)


def masked_sparsemax(energy: Tensor, mask: Tensor) -> Tensor:
    """The Euclidean projection of `energy` (B, T, S) onto the simplex; `mask` is broadcastable to it."""
    blocked = ~mask
    return _Sparsemax.apply(_shift(energy, blocked)).masked_fill(blocked, 0.0)


def masked_entmax15(energy: Tensor, mask: Tensor) -> Tensor:
    """1.5-entmax of `energy` (B, T, S): [z/2 - tau]₊²; `mask` is broadcastable to it."""
    blocked = ~mask
    return _Entmax15.apply(_shift(energy, blocked)).masked_fill(blocked, 0.0)


def normalizer(name: str) -> Normalizer:
    """The function (energy, mask) -> weights called `name` in the configuration."""
    functions: dict[str, Normalizer] = {
        "softmax": masked_softmax,
        "sparsemax": masked_sparsemax,
        "entmax15": masked_entmax15,
    }
    if name not in functions:
        raise NMTError(f"unknown normalizer {name!r}: choose one of {', '.join(functions)}")
    return functions[name]


def _shift(energy: Tensor, blocked: Tensor) -> Tensor:
    """Energies with the greatest one that counts at 0 and the blocked ones out of reach of the support."""
    lowest = energy.detach().masked_fill(blocked, torch.finfo(energy.dtype).min)
    return (energy - lowest.amax(-1, keepdim=True)).masked_fill(blocked, _OUT_OF_SUPPORT)


class _Sparsemax(torch.autograd.Function):
    """Martins & Astudillo 2016, algorithm 1 and equation 10, over the last axis."""

    @staticmethod
    def forward(ctx, energy):  # type: ignore[no-untyped-def]  # autograd's own signature
        descending = energy.sort(-1, descending=True).values
        rank = torch.arange(1, energy.shape[-1] + 1, device=energy.device, dtype=energy.dtype)
        excess = descending.cumsum(-1) - 1
        support = (rank * descending > excess).sum(-1, keepdim=True)
        weights = (energy - excess.gather(-1, support - 1) / support).clamp(min=0)
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        (weights,) = ctx.saved_tensors
        support = (weights > 0).to(grad.dtype)
        mean = (grad * support).sum(-1, keepdim=True) / support.sum(-1, keepdim=True)
        return support * (grad - mean)


class _Entmax15(torch.autograd.Function):
    """Peters et al. 2019, algorithm 2 and proposition 2 with alpha = 1.5, over the last axis."""

    @staticmethod
    def forward(ctx, energy):  # type: ignore[no-untyped-def]  # autograd's own signature
        half = energy / 2
        descending = half.sort(-1, descending=True).values
        rank = torch.arange(1, energy.shape[-1] + 1, device=energy.device, dtype=energy.dtype)
        mean = descending.cumsum(-1) / rank
        variance = descending.square().cumsum(-1) / rank - mean.square()
        thresholds = mean - (1 / rank - variance).clamp(min=0).sqrt()
        support = (thresholds <= descending).sum(-1, keepdim=True)
        weights = (half - thresholds.gather(-1, support - 1)).clamp(min=0).square()
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        (weights,) = ctx.saved_tensors
        root = weights.sqrt()
        mean = (grad * root).sum(-1, keepdim=True) / root.sum(-1, keepdim=True)
        return root * (grad - mean)
