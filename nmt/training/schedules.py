"""Learning-rate schedules: what the optimizer's own learning rate (the peak) is multiplied by.

A schedule is a function of the update and the epoch, both counted from 1; only `Plateau` remembers
something, which the checkpoints keep. Warm-up is linear, from peak / warmup_updates to the peak.
"""

import math
from typing import Any

from nmt.errors import NMTError


class Schedule:
    """Base of the family; a variant writes `factor` and, if validations move it, `validated` and state."""

    def __init__(self, warmup_updates: int = 0) -> None:
        if warmup_updates < 0:
            raise NMTError(
                f"schedule.warmup_updates={warmup_updates} is negative; give a number of updates from 0"
            )
        self.warmup_updates = warmup_updates

    def factor(self, update: int, epoch: int) -> float:
        """The multiple of the peak learning rate for `update` in `epoch`."""
        raise NotImplementedError

    def validated(self, improved: bool) -> None:
        """Told after each validation whether its score is the best so far."""

    def state_dict(self) -> dict[str, Any]:
        """What a continued run must know."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over the `state` of an earlier run."""

    def warmup(self, update: int) -> float:
        """min(1, update / warmup_updates)."""
        return min(1.0, update / self.warmup_updates) if self.warmup_updates else 1.0


class Constant(Schedule):
    """The peak throughout, after the warm-up."""

    def factor(self, update: int, epoch: int) -> float:
        return self.warmup(update)


class InverseSqrt(Schedule):
    """min(u / w, sqrt(w / u)) for update u, warm-up w: Vaswani et al. 2017, eq. 3, maximum 1."""

    def __init__(self, warmup_updates: int = 4000) -> None:
        super().__init__(warmup_updates)

    def factor(self, update: int, epoch: int) -> float:
        return min(self.warmup(update), math.sqrt(max(self.warmup_updates, 1) / update))


class Linear(Schedule):
    """After the warm-up straight down to `final_factor` (a share of the peak) at `total_updates`."""

    def __init__(self, total_updates: int, warmup_updates: int = 0, final_factor: float = 0.0) -> None:
        super().__init__(warmup_updates)
        if total_updates <= warmup_updates:
            raise NMTError(
                f"schedule.total_updates={total_updates} is not above "
                f"schedule.warmup_updates={warmup_updates}: raise the one or lower the other"
            )
        self.total_updates = total_updates
        self.final_factor = final_factor

    def factor(self, update: int, epoch: int) -> float:
        if update <= self.warmup_updates:
            return self.warmup(update)
        rest = max(self.total_updates - update, 0) / (self.total_updates - self.warmup_updates)
        return self.final_factor + (1 - self.final_factor) * rest


class Halving(Schedule):
    """Luong et al. 2015, section 4.1: the peak for `constant_epochs`, then times `decay` each epoch."""

    def __init__(self, constant_epochs: int = 5, decay: float = 0.5, warmup_updates: int = 0) -> None:
        super().__init__(warmup_updates)
        self.constant_epochs = constant_epochs
        self.decay = _probability("decay", decay)

    def factor(self, update: int, epoch: int) -> float:
        return self.warmup(update) * self.decay ** max(epoch - self.constant_epochs, 0)


class Plateau(Schedule):
    """Times `decay` when `patience` validations in a row brought no better score, down to `min_factor`."""

    def __init__(
        self, patience: int = 2, decay: float = 0.5, min_factor: float = 0.001, warmup_updates: int = 0
    ) -> None:
        super().__init__(warmup_updates)
        if patience < 1:
            raise NMTError(f"schedule.patience={patience}: give a number of validations from 1")
        self.patience = patience
        self.decay = _probability("decay", decay)
        self.min_factor = min_factor
        self._reached = 1.0  # the product of the decays so far
        self._waited = 0  # validations without improvement since the last decay or improvement

    def factor(self, update: int, epoch: int) -> float:
        return self.warmup(update) * self._reached

    def validated(self, improved: bool) -> None:
        self._waited = 0 if improved else self._waited + 1
        if self._waited >= self.patience:
            self._waited = 0
            self._reached = max(self._reached * self.decay, self.min_factor)

    def state_dict(self) -> dict[str, Any]:
        return {"reached": self._reached, "waited": self._waited}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._reached, self._waited = state["reached"], state["waited"]


def _probability(name: str, value: float) -> float:
    if not 0 < value < 1:
        raise NMTError(f"schedule.{name}={value}: give a number between 0 and 1")
    return value
