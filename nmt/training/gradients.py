"""The gradient of the loss, summed over the target tokens of some batches."""

from collections.abc import Iterable
from dataclasses import dataclass

from torch import nn

from nmt.training.loss import LabelSmoothedCrossEntropy, TrainingBatch
from nmt.training.precision import Precision


@dataclass
class Gradients:
    """Adds the gradient of `loss` for each batch to that of the parameters of `model`."""

    model: nn.Module
    loss: LabelSmoothedCrossEntropy
    precision: Precision

    def __call__(self, batches: Iterable[TrainingBatch], teacher_forcing_rate: float) -> tuple[float, float]:
        """The loss, in nats, and the likelihood's part of it, both summed over all target tokens.

        The gradients are those of the loss so summed, times the precision's scale.
        """
        loss, nll = 0.0, 0.0
        scale = self.precision.scale
        for batch in batches:
            with self.precision.autocast():
                sums = self.loss(self.model, batch.to(self.precision.device), teacher_forcing_rate)
            (sums.objective if scale == 1 else sums.objective * scale).backward()
            loss += sums.objective.item()
            nll += sums.nll.item()
        return loss, nll
