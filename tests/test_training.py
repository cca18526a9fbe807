"""The training loop: what an update is, when training ends, and what a continued run makes."""

import itertools
import json
import logging
import math
import os
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from training_toys import ToyBatch, ToyBatches, ToyModel, new_run, noisy_validation, stack, toy_trainer

from nmt.errors import NMTError
from nmt.models.state import map_tensors
from nmt.training.checkpoint import load_state, read_last
from nmt.training.metrics import TIMES
from nmt.training.progress import format_seconds
from nmt.training.run_directory import RunDirectory
from nmt.training.schedules import Constant, Plateau
from nmt.training.settings import TrainingSettings
from nmt.training.trainer import Validation

SETTINGS = TrainingSettings(
    max_epochs=4, validate_every=4, save_every=3, log_every=2, accumulate=2, keep_checkpoints=2, clip_norm=0.5
)
UPDATES = 12  # in four epochs of five batches, two an update


def hasten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without TensorBoard, whose threads are slow to start, and without waiting for the disk."""
    monkeypatch.setattr("nmt.training.metrics._event_writer", lambda folder, update: None)
    monkeypatch.setattr("os.fsync", lambda file: None)


@pytest.fixture(autouse=True)
def _hasten(monkeypatch: pytest.MonkeyPatch) -> None:
    hasten(monkeypatch)


class Stopping(ToyBatches):
    """Calls `stop` when the batch number `at` (counted over the run, from 1) is asked for."""

    def __init__(self, at: int, stop: Callable[[], None]) -> None:
        super().__init__()
        self.at = at
        self.stop = stop
        self.asked = 0

    def epoch(self, number: int, start: int = 0) -> Iterator[ToyBatch]:
        for batch in super().epoch(number, start):
            self.asked += 1
            if self.asked == self.at:
                self.stop()
            yield batch


def results(run: RunDirectory) -> dict[str, Any]:
    """All that a run leaves, but for times."""
    last = read_last(run.checkpoints)
    assert last is not None
    state = load_state(run.checkpoints, last)
    for name in ("seconds", "validation_seconds", "metrics_size"):
        del state[name]
    del state["interval"]["seconds"]
    metrics = [{key: value for key, value in line.items() if key not in TIMES} for line in run.metrics()]
    weights = {path.name: path.read_bytes() for path in sorted(run.checkpoints.glob("*.safetensors"))}
    names = sorted(path.name for path in run.checkpoints.iterdir())
    return {
        "state": map_tensors(torch.Tensor.tolist, state),
        "metrics": metrics,
        "weights": weights,
        "last": last,
        "names": names,
    }


def assert_same(first: RunDirectory, second: RunDirectory) -> None:
    assert results(first) == results(second)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    with pytest.MonkeyPatch.context() as patch:
        hasten(patch)
        run = new_run(tmp_path_factory.mktemp("runs") / "whole")
        state = toy_trainer(run, SETTINGS).fit()
    assert state.update == UPDATES
    return run


# Updates


@pytest.mark.parametrize("clip_norm", [None, 0.01])
def test_accumulated_batches_equal_one_large_batch(tmp_path: Path, clip_norm: float | None) -> None:
    class Stacked(ToyBatches):
        def epoch(self, number: int, start: int = 0) -> Iterator[ToyBatch]:
            return iter([stack(list(super().epoch(number)))][start:])

    def train(name: str, batches: ToyBatches, accumulate: int) -> nn.Module:
        torch.manual_seed(1)
        model = ToyModel(dropout=0.0).double()
        settings = TrainingSettings(max_epochs=3, accumulate=accumulate, clip_norm=clip_norm)
        toy_trainer(new_run(tmp_path / name), settings, model=model, batches=batches).fit()
        return model

    small, large = train("small", ToyBatches(), 5), train("large", Stacked(), 1)
    for one, other in zip(small.parameters(), large.parameters(), strict=True):
        torch.testing.assert_close(one, other)


def test_an_update_is_a_step_along_the_clipped_gradient_of_the_mean_loss(tmp_path: Path) -> None:
    torch.manual_seed(1)
    model, reference = ToyModel(dropout=0.0).double(), ToyModel(dropout=0.0).double()
    reference.load_state_dict(model.state_dict())
    batch = next(ToyBatches().epoch(1))
    logits = reference.decoder.output(reference.features(batch.src, batch.src_mask, batch.tgt_in).hidden)
    smoothed = nn.CrossEntropyLoss(label_smoothing=0.1)
    smoothed(logits[batch.tgt_mask], batch.tgt_out[batch.tgt_mask]).backward()
    norm = nn.utils.clip_grad_norm_(reference.parameters(), 0.1)
    torch.optim.Adam(reference.parameters(), lr=0.05).step()
    run = new_run(tmp_path / "run")
    settings = TrainingSettings(max_updates=1, clip_norm=0.1, log_every=1)
    toy_trainer(run, settings, model=model, schedule=Constant()).fit()
    for one, other in zip(model.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(one, other)
    assert run.metrics()[0]["grad_norm"] == pytest.approx(norm.item())


def test_a_loss_that_is_no_number_ends_the_run_and_keeps_the_checkpoint(tmp_path: Path) -> None:
    model = ToyModel()

    def poison() -> None:
        with torch.no_grad():
            model.embedding.weight[1:].fill_(math.nan)

    run = new_run(tmp_path / "run")
    settings = TrainingSettings(max_updates=20, save_every=3)
    with pytest.raises(
        NMTError, match=r"diverged at update 8, epoch 2 .*optimizer\.lr \(now 0\.05\).*update 6 is kept"
    ):
        toy_trainer(run, settings, model=model, batches=Stopping(8, poison)).fit()
    assert run.status() == "unfinished"
    assert toy_trainer(run, settings).fit().update == 20


# Ends


def test_limits_in_updates_and_epochs(tmp_path: Path) -> None:
    by_updates = toy_trainer(new_run(tmp_path / "u"), TrainingSettings(max_updates=7, max_epochs=9)).fit()
    assert (by_updates.update, by_updates.epoch) == (7, 2)
    by_epochs = toy_trainer(new_run(tmp_path / "e"), TrainingSettings(max_updates=70, max_epochs=2)).fit()
    assert (by_epochs.update, by_epochs.epoch) == (10, 2)


def test_minutes_count_validations_and_earlier_sittings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = itertools.count()  # every look at it takes a second
    monkeypatch.setattr("time.monotonic", lambda: float(next(clock)))
    settings = TrainingSettings(max_minutes=3, validate_every=5)
    run = new_run(tmp_path / "run")
    trainer = toy_trainer(run, settings)
    trainer.batches = Stopping(4, lambda: setattr(trainer.interruption, "requested", True))
    with pytest.raises(KeyboardInterrupt):
        trainer.fit()
    earlier = trainer.state.seconds
    before = next(clock)
    state = toy_trainer(run, settings).fit()
    assert 0 < earlier < 180
    assert 180 <= state.seconds < 220
    assert state.seconds == pytest.approx(earlier + next(clock) - before, abs=12)
    assert run.status() == "finished"


def test_patience_counts_validations_without_a_better_score(tmp_path: Path) -> None:
    scores = iter([1.0, 3.0, 2.0, math.nan, 4.0, 1.0, 4.0, 3.0, 9.0])
    run = new_run(tmp_path / "run")
    settings = TrainingSettings(patience=3, validate_every=2)
    state = toy_trainer(run, settings, validate=lambda model: Validation({"bleu": next(scores)}, [])).fit()
    assert (state.update, state.best_update, state.best_score) == (16, 10, 4.0)


def test_the_lowest_loss_is_the_best(tmp_path: Path) -> None:
    scores = iter([3.0, 1.0, 2.0])
    settings = TrainingSettings(max_updates=6, validate_every=2, best_metric="loss")
    validate = lambda model: Validation({"loss": next(scores)}, [])  # noqa: E731
    assert toy_trainer(new_run(tmp_path / "run"), settings, validate=validate).fit().best_update == 4


def test_training_that_nothing_ends_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NMTError, match="would never end"):
        TrainingSettings()
    with pytest.raises(NMTError, match="would never end"):
        toy_trainer(new_run(tmp_path / "run"), TrainingSettings(patience=3), validate=None)


@pytest.mark.parametrize(
    "values", [{"batch_tokens": 0}, {"clip_norm": -1.0}, {"label_smoothing": 1.0}, {"best_metric": "ter"}]
)
def test_impossible_settings_name_the_key_and_the_value(values: dict[str, Any]) -> None:
    ((key, value),) = values.items()
    with pytest.raises(NMTError, match=f"training.{key}={value}"):
        TrainingSettings(max_updates=1, **values)


def test_data_without_a_batch_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NMTError, match="no sentence pair"):
        toy_trainer(new_run(tmp_path / "run"), TrainingSettings(max_updates=3), batches=ToyBatches(0)).fit()


# Validation and checkpoints


def test_validation_sees_evaluation_mode_and_leaves_training_alone(tmp_path: Path) -> None:
    modes = []

    def validate(model: nn.Module) -> Validation:
        modes.append((model.training, torch.is_grad_enabled()))
        return noisy_validation(model)

    settings = TrainingSettings(max_updates=6, validate_every=2)
    often, never = new_run(tmp_path / "often"), new_run(tmp_path / "never")
    toy_trainer(often, settings, validate=validate, schedule=Constant()).fit()
    toy_trainer(never, settings, validate=None, schedule=Constant()).fit()
    assert modes == [(False, False)] * 3
    assert often.weights_path("last").read_bytes() == never.weights_path("last").read_bytes()
    assert never.weights_path("best").read_bytes() == never.weights_path("last").read_bytes()


def test_a_metric_that_validation_does_not_measure_is_an_error(tmp_path: Path) -> None:
    settings = TrainingSettings(max_updates=2, validate_every=1)
    with pytest.raises(NMTError, match="training.best_metric=bleu: validation measures chrf"):
        toy_trainer(
            new_run(tmp_path / "run"), settings, validate=lambda model: Validation({"chrf": 1.0}, [])
        ).fit()


def test_the_newest_validated_weights_are_kept(uninterrupted: RunDirectory) -> None:
    names = sorted(path.name for path in uninterrupted.checkpoints.iterdir())
    assert names == [
        "best.safetensors",
        "last.json",
        "update-00000008.safetensors",
        "update-00000012.safetensors",
        "update-00000012.state",
    ]


def test_a_plateau_lowers_the_learning_rate(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    settings = TrainingSettings(max_updates=6, validate_every=2, log_every=1)
    flat = lambda model: Validation({"bleu": 1.0}, [])  # noqa: E731
    toy_trainer(run, settings, validate=flat, schedule=Plateau(patience=1, decay=0.1)).fit()
    rates = [line["learning_rate"] for line in run.metrics() if line["kind"] == "train"]
    assert rates == pytest.approx([0.05, 0.05, 0.05, 0.05, 0.005, 0.005])


def test_the_log_shows_scores_and_samples(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "nmt")
    toy_trainer(new_run(tmp_path / "run"), TrainingSettings(max_updates=2, log_every=1)).fit()
    assert "validation at update 2, epoch 1: loss 1.00, BLEU" in caplog.text
    assert "hypothesis  c" in caplog.text
    assert "target tokens/s" in caplog.text
    assert "training.max_updates=2 reached" in caplog.text


# Continuing


@pytest.mark.parametrize("batch", range(1, 20))
def test_a_stopped_and_continued_run_equals_an_uninterrupted_one(
    tmp_path: Path, uninterrupted: RunDirectory, batch: int
) -> None:
    run = new_run(tmp_path / "run")
    trainer = toy_trainer(run, SETTINGS)
    trainer.batches = Stopping(batch, lambda: setattr(trainer.interruption, "requested", True))
    with pytest.raises(KeyboardInterrupt):
        trainer.fit()
    assert run.status() == "unfinished"
    toy_trainer(run, SETTINGS).fit()
    assert run.status() == "finished"
    assert_same(run, uninterrupted)


@pytest.mark.parametrize("batch", range(1, 20, 3))
def test_a_run_that_died_in_an_update_continues_from_its_last_checkpoint(
    tmp_path: Path, uninterrupted: RunDirectory, batch: int
) -> None:
    def die() -> None:
        raise MemoryError

    run = new_run(tmp_path / "run")
    with pytest.raises(MemoryError):
        toy_trainer(run, SETTINGS, batches=Stopping(batch, die)).fit()
    with open(run.metrics_path, "a") as file:
        file.write('{"kind": "train", "upd')
    (run.checkpoints / ".update-00000099.state.abc.part").write_bytes(b"half")
    toy_trainer(run, SETTINGS).fit()
    assert_same(run, uninterrupted)


def test_a_crash_between_any_two_files_of_a_save_loses_nothing(
    tmp_path: Path, uninterrupted: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = os.replace
    for crash in itertools.count(1):
        run = new_run(tmp_path / str(crash))
        replaced = itertools.count(1)

        def replace_or_crash(source: str, target: str, crash: int = crash, count: Any = replaced) -> None:
            if next(count) == crash:
                raise OSError("crash")
            replace(source, target)

        with monkeypatch.context() as patch:
            patch.setattr("nmt.files.os.replace", replace_or_crash)
            try:
                toy_trainer(run, SETTINGS).fit()
                break
            except OSError:
                last = read_last(run.checkpoints)
        if last is not None:
            assert load_state(run.checkpoints, last)["update"] == last.update
            assert (run.checkpoints / last.weights).is_file()
        toy_trainer(run, SETTINGS).fit()
        assert_same(run, uninterrupted)
    assert crash > 20


def test_an_interruption_of_validation_saves_and_validates_again(
    tmp_path: Path, uninterrupted: RunDirectory
) -> None:
    def interrupted(model: nn.Module) -> Validation:
        noisy_validation(model)
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("the signal should have ended this")

    run = new_run(tmp_path / "run")
    with pytest.raises(KeyboardInterrupt):
        toy_trainer(run, SETTINGS, validate=interrupted).fit()
    last = read_last(run.checkpoints)
    assert last is not None and last.update == 4
    toy_trainer(run, SETTINGS).fit()
    assert_same(run, uninterrupted)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_saves_after_the_update_and_the_second_ends_at_once(
    tmp_path: Path, number: signal.Signals
) -> None:
    run = new_run(tmp_path / "run")
    settings = TrainingSettings(max_updates=20, save_every=5)
    first = Stopping(8, lambda: signal.raise_signal(number))
    with pytest.raises(KeyboardInterrupt):
        toy_trainer(run, settings, batches=first).fit()
    last = read_last(run.checkpoints)
    assert last is not None and last.update == 8
    second = Stopping(4, lambda: [signal.raise_signal(number) for _ in range(2)] and None)
    with pytest.raises(KeyboardInterrupt):
        toy_trainer(run, settings, batches=second).fit()
    last = read_last(run.checkpoints)
    assert last is not None and last.update == 10


def test_signals_are_answered_as_before_once_training_ends(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    toy_trainer(new_run(tmp_path / "run"), TrainingSettings(max_updates=2)).fit()
    assert signal.getsignal(signal.SIGINT) is before


SCRIPT = """
    import sys, time
    from pathlib import Path
    sys.path.insert(0, {tests!r})
    import nmt.training.metrics
    nmt.training.metrics._event_writer = lambda folder, update: None
    from training_toys import *
    from nmt.training.settings import TrainingSettings

    class Slow(ToyBatches):
        def epoch(self, number, start=0):
            for index, batch in enumerate(super().epoch(number, start), start):
                if (number, index) == (2, 2):
                    print("ready", flush=True)
                    for _ in range({pause}):
                        time.sleep(0.01)
                    print("went on", flush=True)
                yield batch

    run = RunDirectory.open({path!r})
    with run.hold():
        toy_trainer(run, TrainingSettings(max_updates=10**9, save_every=5), batches=Slow()).fit()
"""


def start(run: RunDirectory, pause: int) -> subprocess.Popen[str]:
    """Training in a process of its own, which waits `pause` hundredths of a second before update 8."""
    code = textwrap.dedent(SCRIPT.format(tests=str(Path(__file__).parent), path=str(run.path), pause=pause))
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_ctrl_c_finishes_the_update_and_saves(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    process = start(run, pause=50)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert out == "went on\n"
    assert errors.rstrip().endswith("KeyboardInterrupt")
    last = read_last(run.checkpoints)
    assert last is not None and (last.update, last.finished) == (8, False)


def test_one_process_at_a_time_and_the_lock_dies_with_it(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    process = start(run, pause=6000)
    with pytest.raises(NMTError, match="another process trains in this folder"), run.hold():
        raise AssertionError("held twice")
    process.kill()
    process.communicate(timeout=10)
    with run.hold():
        assert toy_trainer(run, TrainingSettings(max_updates=9)).fit().update == 9


def test_tensorboard_events_hold_the_same_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    monkeypatch.undo()
    run = new_run(tmp_path / "run")
    toy_trainer(run, TrainingSettings(max_updates=4, log_every=2)).fit()
    events = EventAccumulator(str(run.tensorboard_path))
    events.Reload()
    logged = {event.step: event.value for event in events.Scalars("train/loss")}
    lines = {line["update"]: line["loss"] for line in run.metrics() if line["kind"] == "train"}
    assert logged == pytest.approx(lines)
    assert len(events.Scalars("validation/bleu")) == 1


def test_metrics_are_json_lines(uninterrupted: RunDirectory) -> None:
    lines = [json.loads(line) for line in uninterrupted.metrics_path.read_text().splitlines()]
    assert [line["update"] for line in lines if line["kind"] == "train"] == [2, 4, 6, 8, 10, 12]
    assert [line["update"] for line in lines if line["kind"] == "validation"] == [4, 8, 12]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "0 s"), (59, "59 s"), (61, "1:01"), (3725, "1:02:05"), (math.inf, "?")]
)
def test_times_as_people_write_them(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_terminal_shows_loss_rate_and_time_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pty

    ours, theirs = pty.openpty()
    with open(theirs, "w", buffering=1) as terminal:
        monkeypatch.setattr("sys.stderr", terminal)
        toy_trainer(new_run(tmp_path / "run"), TrainingSettings(max_minutes=0.01)).fit()
        shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert re.search(r"\d+%\|.{10}\| +\d+ s left, loss \d+\.\d+, [\d,]+ target tokens/s, update \d+", shown)
