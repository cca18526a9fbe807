"""When training ends, and how long that will take."""

import math

from nmt.training.settings import TrainingSettings
from nmt.training.state import State


def limit_reached(state: State, settings: TrainingSettings, seconds: float) -> str | None:
    """The limit that a run which has taken `seconds` has met between two updates, in words."""
    if settings.max_updates is not None and state.update >= settings.max_updates:
        return f"training.max_updates={settings.max_updates} reached"
    if settings.max_minutes is not None:
        last_validation = state.validation_seconds if state.validated < state.update else 0.0
        if seconds + last_validation >= 60 * settings.max_minutes:
            return f"training.max_minutes={settings.max_minutes} reached"
    if settings.patience is not None and state.waited >= settings.patience:
        return f"training.patience={settings.patience}: no better {settings.best_metric} since then"
    return None


def seconds_left(state: State, settings: TrainingSettings, seconds: float, batches: int) -> float:
    """To the nearest limit at the pace so far, with `batches` an epoch; infinite where there is none but
    patience.
    """
    pace = seconds / max(state.update, 1)
    left = [math.inf]
    if settings.max_updates is not None:
        left.append((settings.max_updates - state.update) * pace)
    if settings.max_epochs is not None:
        ahead = (settings.max_epochs - state.epoch + 1) * batches - state.batches
        left.append(ahead / settings.accumulate * pace)
    if settings.max_minutes is not None:
        left.append(60 * settings.max_minutes - seconds)
    return max(min(left), 0.0)
