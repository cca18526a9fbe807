"""One update: the gradient of a group of batches, and the optimizer's step along it."""

import math
from typing import NamedTuple

import torch
from torch import nn
from torch.optim import Optimizer

from nmt.training.loss import LabelSmoothedCrossEntropy, TrainingBatch
from nmt.training.precision import Precision


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
    the gradient's global norm.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: Optimizer,
        loss: LabelSmoothedCrossEntropy,
        precision: Precision,
        clip_norm: float | None,
    ) -> None:
        self.model = model
        self.optimizer = optimizer
        self.peak_rates = [float(group["lr"]) for group in optimizer.param_groups]
        self.loss = loss
        self.precision = precision
        self.clip_norm = clip_norm

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
        loss, nll = 0.0, 0.0
        scale = self.precision.scale
        for batch in group:
            with self.precision.autocast():
                sums = self.loss(self.model, batch.to(self.precision.device), teacher_forcing_rate)
            (sums.objective if scale == 1 else sums.objective * scale).backward()
            loss += sums.objective.item()
            nll += sums.nll.item()
        tokens = sum(batch.num_target_tokens for batch in group)
        return Sums(loss, nll, tokens, self._normalise_gradients(tokens * scale))

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
