"""What a training run is told, apart from its parts."""

from dataclasses import dataclass
from typing import Literal

from nmt.errors import NMTError


@dataclass(frozen=True)
class TrainingSettings:
    """The `training` group of the configuration; `configs/training/default.yaml` comments each value.

    Training ends at the first limit met (`max_updates`, `max_epochs`, `max_minutes`) or once `patience`
    validations in a row have not improved `best_metric`; null switches one off.
    """

    batch_tokens: int = 4096
    accumulate: int = 1
    max_updates: int | None = None
    max_epochs: int | None = None
    max_minutes: float | None = None
    validate_every: int = 1000
    patience: int | None = None
    best_metric: Literal["bleu", "loss", "aer"] = "bleu"
    label_smoothing: float = 0.1
    guided_alignment: float = 0.0
    clip_norm: float | None = 1.0
    log_every: int = 50
    save_every: int | None = 500
    keep_checkpoints: int = 1
    average: Literal["none", "last", "best"] = "none"
    moving_average: float | None = None

    def __post_init__(self) -> None:
        for name in ("batch_tokens", "accumulate", "validate_every", "log_every", "keep_checkpoints"):
            self._positive(name, getattr(self, name))
        for name in ("max_updates", "max_epochs", "max_minutes", "patience", "clip_norm", "save_every"):
            value = getattr(self, name)
            if value is not None:
                self._positive(name, value)
        if not 0 <= self.label_smoothing < 1:
            raise NMTError(f"training.label_smoothing={self.label_smoothing}: give a probability below 1")
        if self.guided_alignment < 0:
            raise NMTError(f"training.guided_alignment={self.guided_alignment}: give a weight, 0 or more")
        if self.best_metric not in ("bleu", "loss", "aer"):
            raise NMTError(f"training.best_metric={self.best_metric}: choose bleu, loss or aer")
        if self.average not in ("none", "last", "best"):
            raise NMTError(f"training.average={self.average}: choose none, last or best")
        if self.moving_average is not None and not 0 < self.moving_average < 1:
            raise NMTError(f"training.moving_average={self.moving_average}: give a decay between 0 and 1")
        if self.moving_average is not None and self.average != "none":
            raise NMTError(
                f"training.average={self.average} and training.moving_average={self.moving_average}: "
                "choose one of them"
            )
        if self.max_updates is self.max_epochs is self.max_minutes is self.patience is None:
            raise NMTError(
                "training would never end: set training.max_updates, training.max_epochs, "
                "training.max_minutes or training.patience"
            )

    @staticmethod
    def _positive(name: str, value: float) -> None:
        if value <= 0:
            raise NMTError(f"training.{name}={value}: give a number above 0")
