"""The training loop.

What a run does is a function of its configuration and seed: stopped at any update and continued, it makes the
same weights and the same metrics, but for times, as without the stop.
"""

import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from itertools import islice
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from nmt.errors import NMTError
from nmt.training.averaging import MovingAverage, mean_of_checkpoints, weights_in_place
from nmt.training.checkpoint import (
    AVERAGE,
    BEST,
    load_state,
    load_weights,
    read_last,
    remove_stale,
    save_last,
    save_weights,
    weights_name,
)
from nmt.training.gradients import Gradients
from nmt.training.interruption import Interruption
from nmt.training.limits import limit_reached, seconds_left
from nmt.training.loss import LabelSmoothedCrossEntropy, TrainingBatch
from nmt.training.metrics import MetricsLog
from nmt.training.precision import Precision
from nmt.training.progress import ProgressBar, format_seconds
from nmt.training.randomness import random_states, restore_random_states, seed_everything
from nmt.training.replicas import Replicas
from nmt.training.run_directory import RunDirectory
from nmt.training.schedules import Schedule
from nmt.training.settings import TrainingSettings
from nmt.training.state import Interval, State
from nmt.training.step import Step, Sums
from nmt.training.teacher_forcing import ConstantForcing, TeacherForcing

log = logging.getLogger(__name__)


class Sample(NamedTuple):
    """A translation to look at."""

    source: str
    reference: str
    hypothesis: str


class Validation(NamedTuple):
    """What validating gives: numbers by name, `best_metric` ("loss" or "bleu") among them, and samples."""

    metrics: dict[str, float]
    samples: list[Sample]


class TrainingBatches(Protocol):
    """The training data; `nmt.data` makes it."""

    def __len__(self) -> int:
        """Batches in an epoch."""

    def epoch(self, number: int, start: int = 0) -> Iterator[TrainingBatch]:
        """The batches of epoch `number` (from 1) but for the first `start`; a function of seed and number."""


class Trainer:
    """Trains `model` on `batches` in the folder `run`, from its last checkpoint if there is one.

    `optimizer` makes an optimizer of parameters (its own learning rate is the peak that `schedule`
    multiplies). `validate` measures the model, which is then in evaluation mode; without it the best
    checkpoint is the last. `seed` rules all chance but the initial weights, which come with the model, and
    the order of the batches; `precision` (float32, bf16, fp16) is that of matrix products; `replicas` share
    the work. Use it within `run.hold()`.
    """

    def __init__(
        self,
        *,
        model: nn.Module,
        batches: TrainingBatches,
        optimizer: Callable[[Iterable[nn.Parameter]], Optimizer],
        schedule: Schedule,
        settings: TrainingSettings,
        run: RunDirectory,
        teacher_forcing: TeacherForcing | None = None,
        validate: Callable[[], Validation] | None = None,
        seed: int = 1,
        device: torch.device | str = "cpu",
        precision: str = "float32",
        replicas: Replicas | None = None,
    ) -> None:
        limits = (settings.max_updates, settings.max_epochs, settings.max_minutes)
        if validate is None and all(limit is None for limit in limits):
            raise NMTError(
                "training would never end: there is no validation set, so set training.max_updates"
            )
        self.model = model.to(device)
        self.batches = batches
        gradients = Gradients(
            self.model,
            LabelSmoothedCrossEntropy(settings.label_smoothing, settings.guided_alignment),
            Precision(precision, device),
        )
        if replicas:
            replicas.hold(gradients)
        self.step = Step(
            optimizer([parameter for parameter in self.model.parameters() if parameter.requires_grad]),
            gradients,
            settings.clip_norm,
            replicas,
        )
        self.schedule = schedule
        self.teacher_forcing = teacher_forcing or ConstantForcing()
        self.settings = settings
        self.run = run
        self.validate = validate
        self.seed = seed
        decay = settings.moving_average
        self.moving_average = None if decay is None else MovingAverage(self.model, decay)
        self.state = State()
        self.interruption = Interruption()

    def fit(self) -> State:
        """Train to the first limit met and return where that was.

        Raises `KeyboardInterrupt` after Ctrl-C, once the update under way is done and saved, and `NMTError`
        where the loss is no longer a number.
        """
        self._start = time.monotonic()
        metrics_size = self._resume()
        self._start -= self.state.seconds
        self.metrics = MetricsLog(
            self.run.metrics_path, self.run.tensorboard_path, metrics_size, self.state.update
        )
        self.bar = ProgressBar()
        try:
            with self.interruption:
                reason = self._loop()
                self._finish(reason)
        finally:
            self.bar.close()
            self.metrics.close()
        return self.state

    def _loop(self) -> str:
        """Update until something ends training; says what."""
        self.model.train()
        groups = self._groups()
        reason = self._between_updates()
        while reason is None:
            started = time.monotonic()
            group = next(groups, None)
            if group is None:
                return f"training.max_epochs={self.settings.max_epochs} reached"
            self.update(group)
            self.state.interval.seconds += time.monotonic() - started
            reason = self._between_updates()
        return reason

    def _groups(self) -> Iterator[list[TrainingBatch]]:
        """What each update learns from: `accumulate` batches, fewer at an epoch's end. Moves the position."""
        state = self.state
        while True:
            stream = iter(self.batches.epoch(state.epoch, start=state.batches))
            while group := list(islice(stream, self.settings.accumulate)):
                state.batches += len(group)
                yield group
            if state.batches == 0:
                raise NMTError("no sentence pair is left to train on; check data.train and data.max_length")
            if state.epoch == self.settings.max_epochs:
                return
            state.epoch, state.batches = state.epoch + 1, 0

    def update(self, group: list[TrainingBatch]) -> None:
        """One step of the optimizer along the gradient of the mean loss over all target tokens of `group`."""
        state = self.state
        number = state.update + 1
        factor = self.schedule.factor(number, state.epoch)
        sums = self.step(group, factor, self.teacher_forcing.rate(number))
        if sums.diverged:
            raise NMTError(self._divergence(sums))
        state.updated(sums)
        if self.moving_average:
            self.moving_average.follow(state.update)

    def _between_updates(self) -> str | None:
        """What is due after an update, or was at an interruption; says why training ends, if it does."""
        state, settings = self.state, self.settings
        if self.interruption.requested:
            self._save()
            raise KeyboardInterrupt
        self._show_progress()
        if state.interval.updates and state.update % settings.log_every == 0:
            self._log_training()
        if self.validate and state.update % settings.validate_every == 0 and state.validated < state.update:
            self._validate()
            self._save()
        elif settings.save_every and state.update % settings.save_every == 0 and state.update:
            self._save()
        return limit_reached(state, settings, self._seconds())

    def _finish(self, reason: str) -> None:
        state = self.state
        if self.validate and state.validated < state.update:
            self._validate()
        if self.validate is None:
            self._save_best()
        if self.validate and self.settings.average != "none":
            self._average()
        self._save(finished=True)
        log.info(
            "training ends after %d updates, %d epochs and %s: %s",
            state.update,
            state.epoch,
            format_seconds(self._seconds()),
            reason,
        )

    # Validation

    def _validate(self) -> None:
        """Measure the model, remember the best one, and tell the schedule."""
        assert self.validate is not None
        state = self.state
        started = time.monotonic()
        validation = self._measure(self.validate)
        score = self._score(validation.metrics)
        improved = not math.isnan(score) and (state.best_score is None or score > state.best_score)
        if improved:
            state.best_score, state.best_update, state.waited = score, state.update, 0
            self._save_best()
        else:
            state.waited += 1
        self.schedule.validated(improved)
        state.validated = state.update
        state.keep(score, self.settings.keep_checkpoints, best=self.settings.average == "best")
        state.validation_seconds = time.monotonic() - started
        seconds = {"seconds": self._seconds()}
        self.metrics.write("validation", state.update, state.epoch, {**validation.metrics, **seconds})
        self._report(validation, improved)

    def _average(self) -> None:
        """Validate the mean of the kept checkpoints, which becomes the best where it is."""
        assert self.validate is not None
        self._save()  # the newest weights may be among them
        state, folder = self.state, self.run.checkpoints
        mean = mean_of_checkpoints(self.model, [folder / weights_name(update) for update in state.kept])
        validation = self._measure(self.validate, mean)
        score = self._score(validation.metrics)
        improved = not math.isnan(score) and (state.best_score is None or score >= state.best_score)
        with weights_in_place(self.model, mean):
            save_weights(self.model, folder / AVERAGE)
            if improved:
                save_weights(self.model, folder / BEST)
                state.best_score, state.best_update = score, state.update
        self.metrics.write("average", state.update, state.epoch, validation.metrics)
        log.info("the mean of the checkpoints of updates %s:", ", ".join(map(str, sorted(state.kept))))
        self._report(validation, improved)

    def _measure(
        self, validate: Callable[[], Validation], weights: Sequence[Tensor] | None = None
    ) -> Validation:
        """What `validate` says of the model in evaluation mode, with its averaged or other given `weights`;
        training's random numbers stay out of it.
        """
        states = random_states()
        self.model.eval()
        try:
            with self.interruption.at_once(), torch.no_grad(), self._averaged(weights):
                return validate()
        except KeyboardInterrupt:
            restore_random_states(states)
            self._save()
            raise
        finally:
            restore_random_states(states)
            self.model.train()

    def _averaged(self, weights: Sequence[Tensor] | None = None) -> AbstractContextManager[None]:
        """The model with `weights` or, without, with the moving average of its own, where there is one."""
        if weights is None and self.moving_average:
            weights = self.moving_average.mean
        return nullcontext() if weights is None else weights_in_place(self.model, weights)

    def _save_best(self) -> None:
        with self._averaged():
            save_weights(self.model, self.run.checkpoints / BEST)

    def _score(self, metrics: dict[str, float]) -> float:
        """The value of `best_metric` in `metrics`, so turned that higher is better."""
        name = self.settings.best_metric
        if name not in metrics:
            raise NMTError(
                f"training.best_metric={name}: validation measures {', '.join(metrics)}; choose one of these"
            )
        return metrics[name] if name == "bleu" else -metrics[name]

    def _report(self, validation: Validation, improved: bool) -> None:
        state = self.state
        numbers = ", ".join(f"{_title(name)} {value:.2f}" for name, value in validation.metrics.items())
        best = "the best so far" if improved else f"best was at update {state.best_update}"
        log.info("validation at update %d, epoch %d: %s; %s", state.update, state.epoch, numbers, best)
        for sample in validation.samples:
            log.info("  source      %s", sample.source)
            log.info("  reference   %s", sample.reference)
            log.info("  hypothesis  %s", sample.hypothesis)

    # Progress

    def _log_training(self) -> None:
        state, interval = self.state, self.state.interval
        nll = interval.nll / interval.tokens
        numbers = {
            "loss": interval.loss / interval.tokens,
            "perplexity": math.exp(min(nll, 700.0)),
            "learning_rate": self.step.learning_rate,
            "grad_norm": interval.grad_norm / interval.updates,
            "target_tokens": state.target_tokens,
            "tokens_per_second": interval.tokens_per_second,
            "seconds": self._seconds(),
        }
        self.metrics.write("train", state.update, state.epoch, numbers)
        log.log(
            logging.DEBUG if self.bar.visible else logging.INFO,
            "update %d, epoch %d: loss %.3f, perplexity %.2f, %.0f target tokens/s, %s left",
            state.update,
            state.epoch,
            numbers["loss"],
            numbers["perplexity"],
            numbers["tokens_per_second"],
            format_seconds(self._seconds_left()),
        )
        state.interval = Interval()

    def _show_progress(self) -> None:
        state, interval = self.state, self.state.interval
        if interval.updates:
            seconds, left = self._seconds(), self._seconds_left()
            done = seconds / (seconds + left)
            loss = interval.loss / interval.tokens
            self.bar.show(state.update, loss, interval.tokens_per_second, done, left)

    def _seconds(self) -> float:
        """Of training so far, earlier sittings and validations included."""
        return time.monotonic() - self._start

    def _seconds_left(self) -> float:
        return seconds_left(self.state, self.settings, self._seconds(), len(self.batches))

    def _divergence(self, sums: Sums) -> str:
        state, loss, rate = self.state, sums.loss / sums.tokens, self.step.peak_rates[0]
        last = read_last(self.run.checkpoints)
        kept = f"the checkpoint of update {last.update} is kept" if last else "there is no checkpoint yet"
        return (
            f"training diverged at update {state.update + 1}, epoch {state.epoch} (loss {loss}, gradient "
            f"norm {sums.grad_norm}): train anew with a lower optimizer.lr (now {rate}) or "
            f"training.clip_norm (now {self.settings.clip_norm}), or a longer warm-up; {kept} in "
            f"{self.run.path}"
        )

    # Checkpoints

    def _save(self, finished: bool = False) -> None:
        state = self.state
        state.seconds = self._seconds()
        content: dict[str, Any] = {
            **asdict(state),
            "metrics_size": self.metrics.sync(),
            "optimizer": self.step.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "random": random_states(),
            "precision": self.step.precision.state_dict(),
            "moving_average": self.moving_average.mean if self.moving_average else None,
        }
        save_last(self.run.checkpoints, self.model, content, state.kept, finished)

    def _resume(self) -> int:
        """Take up the last checkpoint, or begin; returns the size of the metrics file then, in bytes."""
        folder = self.run.checkpoints
        last = read_last(folder)
        if last is None:
            seed_everything(self.seed)
            remove_stale(folder, [])
            return 0
        content = load_state(folder, last)
        load_weights(self.model, folder / last.weights)
        self.step.optimizer.load_state_dict(content.pop("optimizer"))
        self.schedule.load_state_dict(content.pop("schedule"))
        restore_random_states(content.pop("random"))
        self.step.precision.load_state_dict(content.pop("precision"))
        mean = content.pop("moving_average")
        if self.moving_average:
            self.moving_average.load(mean)
        metrics_size: int = content.pop("metrics_size")
        self.state = State(**{**content, "interval": Interval(**content["interval"])})
        remove_stale(folder, self.state.kept)
        log.info("continuing after update %d, epoch %d", self.state.update, self.state.epoch)
        if changes := self.run.changed_versions():
            log.warning(
                "the run began under other conditions and may differ slightly (%s)", "; ".join(changes)
            )
        return metrics_size


def _title(name: str) -> str:
    return {"bleu": "BLEU", "chrf": "chrF", "aer": "AER"}.get(name, name)
