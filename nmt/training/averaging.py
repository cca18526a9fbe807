"""Means of weights: of some checkpoints (Vaswani et al. 2017, section 6.1), or a moving one of all."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor, nn

from nmt.training.checkpoint import distinct_tensors, load_weights


def mean_of_checkpoints(model: nn.Module, paths: Sequence[Path]) -> list[Tensor]:
    """The mean of the weights at `paths`, in the order of `weights_of(model)`; `model` stays as it is."""
    weights = weights_of(model)
    before = [tensor.clone() for tensor in weights]
    total = [torch.zeros_like(tensor, dtype=torch.float64) for tensor in weights]
    for path in paths:
        load_weights(model, path)
        for tensor, summed in zip(weights, total, strict=True):
            summed += tensor
    for tensor, old in zip(weights, before, strict=True):
        tensor.copy_(old)
    return [(summed / len(paths)).to(tensor.dtype) for summed, tensor in zip(total, weights, strict=True)]


def weights_of(model: nn.Module) -> list[Tensor]:
    """The parameters and buffers of `model`, without gradients, tied ones once."""
    return [tensor.detach() for tensor in distinct_tensors(model).values()]


@contextmanager
def weights_in_place(model: nn.Module, weights: Sequence[Tensor]) -> Iterator[None]:
    """`model` with other `weights`, until the end of the block."""
    own = weights_of(model)
    before = [tensor.clone() for tensor in own]
    try:
        _copy(weights, own)
        yield
    finally:
        _copy(before, own)


def _copy(values: Sequence[Tensor], into: Sequence[Tensor]) -> None:
    for tensor, value in zip(into, values, strict=True):
        tensor.copy_(value)


class MovingAverage:
    """The exponential moving average of a model's weights: mean <- decay * mean + (1 - decay) * weights.

    In the first updates the decay is lower, (1 + u) / (10 + u) after update u, so that fresh weights are
    forgotten soon.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self._own = weights_of(model)
        self.mean = [tensor.clone() for tensor in self._own]

    def follow(self, update: int) -> None:
        """Take in the weights after `update`."""
        share = 1 - min(self.decay, (1 + update) / (10 + update))
        for mean, weights in zip(self.mean, self._own, strict=True):
            if mean.is_floating_point():
                mean.lerp_(weights, share)
            else:
                mean.copy_(weights)

    def load(self, mean: Sequence[Tensor]) -> None:
        """Go on from `mean`, which a checkpoint kept."""
        _copy(mean, self.mean)
