"""Where training is; checkpoints hold it beside weights, optimizer, schedule and random states."""

import math
from dataclasses import dataclass, field

from nmt.training.step import Sums


@dataclass
class Interval:
    """Sums since the last line of training metrics."""

    loss: float = 0.0  # nats
    nll: float = 0.0  # nats
    tokens: int = 0  # real target tokens
    grad_norm: float = 0.0
    updates: int = 0
    seconds: float = 0.0

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds if self.seconds else 0.0

    def add(self, sums: Sums) -> None:
        """Count an update."""
        self.loss += sums.loss
        self.nll += sums.nll
        self.tokens += sums.tokens
        self.grad_norm += sums.grad_norm
        self.updates += 1


@dataclass
class State:
    """Counts of updates, data and time, and what validation found."""

    update: int = 0
    epoch: int = 1
    batches: int = 0  # used up of this epoch
    target_tokens: int = 0
    seconds: float = 0.0  # of training so far, validations included
    validated: int = 0  # update of the latest validation
    validation_seconds: float = 0.0  # of the latest validation
    waited: int = 0  # validations since the best one
    best_update: int | None = None
    best_score: float | None = None
    kept: list[int] = field(default_factory=list)  # updates whose weights are kept
    kept_scores: list[float] = field(default_factory=list)  # of their validations
    interval: Interval = field(default_factory=Interval)

    def updated(self, sums: Sums) -> None:
        """Count an update."""
        self.update += 1
        self.target_tokens += sums.tokens
        self.interval.add(sums)

    def keep(self, score: float, most: int, best: bool) -> None:
        """Count this update, validated with `score`, among those whose weights stay: the newest or `best`."""
        found = list(zip([*self.kept, self.update], [*self.kept_scores, score], strict=True))
        if best:
            found.sort(key=lambda each: -math.inf if math.isnan(each[1]) else each[1])  # the worst first
        found = found[-most:]
        self.kept, self.kept_scores = [each[0] for each in found], [each[1] for each in found]
