"""One update: the gradient of a group of batches, and the optimizer's step along it."""

import math
from typing import NamedTuple

import torch
from torch.optim import Optimizer

from nmt.training.gradients import Gradients
from nmt.training.loss import TrainingBatch
from nmt.training.precision import Precision
from nmt.training.replicas import Replicas


class Sums(NamedTuple):
    """What an update saw."""

    loss: float  # nats, over all tokens
    nll: float  # the likelihood's part of it, nats
    tokens: int  # real target tokens
    grad_norm: float  # of the mean loss, before clipping; 0 where fp16 overflowed
    diverged: bool = False  # whether the loss or the gradient was no finite number, and no overflow of fp16


class Step:
    """Moves the parameters of `optimizer` along the gradient of the mean loss over all tokens of a group.

    Its learning rates at this moment are the peaks that a schedule's factor multiplies; `clip_norm` bounds
    the gradient's global norm. `gradients` are summed here or, where there are any, by `replicas` of this
    process too.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        gradients: Gradients,
        clip_norm: float | None,
        replicas: Replicas | None = None,
    ) -> None:
        self.optimizer = optimizer
        self.peak_rates = [float(group["lr"]) for group in optimizer.param_groups]
        self.gradients = gradients
        self.clip_norm = clip_norm
        self.replicas = replicas

    @property
    def precision(self) -> Precision:
        return self.gradients.precision

    def __call__(self, group: list[TrainingBatch], rate_factor: float, teacher_forcing_rate: float) -> Sums:
        """An update; where it diverges or overflows, nothing is moved."""
        sums = self._accumulate_gradients(group, teacher_forcing_rate)
        finite = math.isfinite(sums.loss) and math.isfinite(sums.grad_norm)
        if self.precision.overflowed(finite):
            sums = sums._replace(grad_norm=0.0)
        elif not finite:
            sums = sums._replace(diverged=True)
        else:
            for parameters, peak in zip(self.optimizer.param_groups, self.peak_rates, strict=True):
                parameters["lr"] = peak * rate_factor
            self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return sums

    @property
    def learning_rate(self) -> float:
        """That of the latest update, of the first parameters."""
        return float(self.optimizer.param_groups[0]["lr"])

    def _accumulate_gradients(self, group: list[TrainingBatch], teacher_forcing_rate: float) -> Sums:
        """Gradients of the loss summed over the tokens of `group`, so that batches weigh in by their tokens;
        then divided by their number, and clipped.
        """
        compute = self.replicas or self.gradients
        loss, nll = compute(group, teacher_forcing_rate)
        tokens = sum(batch.num_target_tokens for batch in group)
        return Sums(loss, nll, tokens, self._normalise_gradients(tokens * self.precision.scale))

    def _normalise_gradients(self, divisor: float) -> float:
        """Divide the summed gradients by `divisor`, clip their global norm, return it unclipped."""
        gradients = [
            p.grad for group in self.optimizer.param_groups for p in group["params"] if p.grad is not None
        ]
        norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients))).item() / divisor
        clip = self.clip_norm
        clipping = clip / norm if clip is not None and norm > clip else 1.0
        torch._foreach_mul_(gradients, clipping / divisor)
        return norm
