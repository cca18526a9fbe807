"""How often a decoder in training reads the target's own last word: the schedules of Bengio et al. 2015.

A rate of 1 is teacher forcing throughout. Below it, the other words are the model's own (scheduled sampling,
`nmt.models.scheduled_sampling`). A schedule is a function of the update, counted from 1.
"""

import math

from nmt.errors import NMTError


class TeacherForcing:
    """Base of the family; a variant writes `rate`."""

    def rate(self, update: int) -> float:
        """The probability with which a word of the target is kept at `update`."""
        raise NotImplementedError


class ConstantForcing(TeacherForcing):
    """The same `rate` throughout."""

    def __init__(self, rate: float = 1.0) -> None:
        self.constant = _probability("rate", rate)

    def rate(self, update: int) -> float:
        return self.constant


class LinearForcing(TeacherForcing):
    """max(final_rate, 1 - u (1 - final_rate) / total_updates): from 1 down to `final_rate` (section 2.4)."""

    def __init__(self, total_updates: int, final_rate: float = 0.0) -> None:
        self.total_updates = _positive("total_updates", total_updates)
        self.final_rate = _probability("final_rate", final_rate)

    def rate(self, update: int) -> float:
        return max(self.final_rate, 1 - update * (1 - self.final_rate) / self.total_updates)


class ExponentialForcing(TeacherForcing):
    """k^u with k = `base` < 1."""

    def __init__(self, base: float = 0.9998) -> None:
        self.base = _probability("base", base)

    def rate(self, update: int) -> float:
        return self.base**update


class InverseSigmoidForcing(TeacherForcing):
    """k / (k + exp(u / k)) with k = `speed` updates: near 1 for long, 1/2 at u = k ln k."""

    def __init__(self, speed: float = 500.0) -> None:
        if speed < 1:
            raise NMTError(f"teacher_forcing.speed={speed}: give 1 or more updates")
        self.speed = speed

    def rate(self, update: int) -> float:
        return 1 / (1 + math.exp(min(update / self.speed, 700.0) - math.log(self.speed)))


def _probability(name: str, value: float) -> float:
    if not 0 <= value <= 1:
        raise NMTError(f"teacher_forcing.{name}={value}: give a probability, from 0 to 1")
    return value


def _positive(name: str, value: int) -> int:
    if value < 1:
        raise NMTError(f"teacher_forcing.{name}={value}: give 1 or more updates")
    return value
