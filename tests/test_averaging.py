"""Means of weights: of kept checkpoints, and moving ones."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from torch import Tensor, nn
from training_toys import ToyBatches, ToyModel, new_run, toy_trainer

from nmt.errors import NMTError
from nmt.training.averaging import MovingAverage, weights_in_place, weights_of
from nmt.training.checkpoint import load_state, read_last, weights_name
from nmt.training.run_directory import RunDirectory
from nmt.training.schedules import Constant
from nmt.training.settings import TrainingSettings
from nmt.training.trainer import Validation

SETTINGS = TrainingSettings(max_updates=12, validate_every=2, keep_checkpoints=3)


@pytest.fixture(autouse=True)
def _hasten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt.training.metrics._event_writer", lambda folder, update: None)
    monkeypatch.setattr("os.fsync", lambda file: None)


def stored(run: RunDirectory, name: str) -> dict[str, Tensor]:
    return safetensors.torch.load_file(run.weights_path(name))


def scripted(*scores: float) -> Any:
    """Validations with these scores, one after the other."""
    remaining = iter(scores)
    return lambda model: Validation({"bleu": next(remaining)}, [])


@pytest.mark.parametrize(
    ("average", "kept"),
    [("last", [8, 10, 12]), ("best", [2, 6, 10])],
)
def test_the_average_is_that_of_the_kept_checkpoints(tmp_path: Path, average: Any, kept: list[int]) -> None:
    run = new_run(tmp_path / "run")
    settings = replace(SETTINGS, average=average)
    trainer = toy_trainer(run, settings, validate=scripted(5, 1, 6, 2, 7, 3, 9))
    state = trainer.fit()
    assert sorted(state.kept) == kept
    for name, mean in stored(run, "average").items():
        parts = torch.stack([stored(run, str(update))[name] for update in kept])
        torch.testing.assert_close(mean, parts.double().mean(0).float())
    assert state.best_score == 9
    assert run.weights_path("best").read_bytes() == run.weights_path("average").read_bytes()
    assert [line["bleu"] for line in run.metrics() if line["kind"] == "average"] == [9]
    for name, tensor in stored(run, "last").items():  # training's own weights are untouched
        assert torch.equal(trainer.model.state_dict()[name], tensor)


def test_a_worse_average_stands_beside_the_best(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    state = toy_trainer(run, replace(SETTINGS, average="last"), validate=scripted(1, 2, 8, 4, 5, 6, 3)).fit()
    assert (state.best_score, state.best_update) == (8, 6)
    assert run.weights_path("best").read_bytes() != run.weights_path("average").read_bytes()


def test_without_averaging_there_is_no_average(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    toy_trainer(run, SETTINGS).fit()
    with pytest.raises(NMTError, match="checkpoint=average: .* has none of that name"):
        run.weights_path("average")


def test_an_interrupted_average_is_made_again(tmp_path: Path) -> None:
    def interrupted(model: nn.Module) -> Validation:
        if next(calls) == 6:
            raise KeyboardInterrupt
        return Validation({"bleu": 1.0}, [])

    whole, run = new_run(tmp_path / "whole"), new_run(tmp_path / "run")
    settings = replace(SETTINGS, average="last")
    toy_trainer(whole, settings, validate=lambda model: Validation({"bleu": 1.0}, [])).fit()
    calls = iter(range(100))
    with pytest.raises(KeyboardInterrupt):
        toy_trainer(run, settings, validate=interrupted).fit()
    assert run.status() == "unfinished"
    toy_trainer(run, settings, validate=interrupted).fit()
    for name in ("best", "last", "average"):
        assert run.weights_path(name).read_bytes() == whole.weights_path(name).read_bytes()


# The moving average


def test_a_moving_average_is_its_formula() -> None:
    model = ToyModel()
    average = MovingAverage(model, 0.5)
    expected = [tensor.clone() for tensor in weights_of(model)]
    for update in range(1, 8):
        for parameter in model.parameters():
            parameter.data += torch.randn_like(parameter)
        average.follow(update)
        decay = min(0.5, (1 + update) / (10 + update))
        expected = [
            decay * old + (1 - decay) * new for old, new in zip(expected, weights_of(model), strict=True)
        ]
    for mean, tensor in zip(average.mean, expected, strict=True):
        torch.testing.assert_close(mean, tensor)


def test_other_weights_stand_in_for_a_while() -> None:
    model = ToyModel()
    before = [tensor.clone() for tensor in weights_of(model)]
    other = [tensor + 1 for tensor in before]
    with pytest.raises(RuntimeError), weights_in_place(model, other):
        assert all(map(torch.equal, weights_of(model), other))
        raise RuntimeError
    assert all(map(torch.equal, weights_of(model), before))


def test_the_moving_average_is_validated_and_becomes_the_best(tmp_path: Path) -> None:
    seen = []

    def validate(model: nn.Module) -> Validation:
        seen.append([tensor.clone() for tensor in weights_of(model)])
        return Validation({"bleu": float(len(seen))}, [])

    settings = replace(SETTINGS, moving_average=0.9)
    moving, plain = new_run(tmp_path / "moving"), new_run(tmp_path / "plain")
    trainer = toy_trainer(moving, settings, validate=validate, schedule=Constant())
    trainer.fit()
    toy_trainer(plain, SETTINGS, schedule=Constant()).fit()
    assert trainer.moving_average is not None
    assert all(map(torch.equal, seen[-1], trainer.moving_average.mean))
    best = list(stored(moving, "best").values())
    assert sorted(t.sum().item() for t in best) == sorted(t.sum().item() for t in seen[-1])
    for name, tensor in stored(moving, "last").items():  # the average leaves training alone
        assert torch.equal(tensor, stored(plain, "last")[name])


def test_a_moving_average_continues(tmp_path: Path) -> None:
    settings = replace(SETTINGS, moving_average=0.9, validate_every=5)
    whole, parts = new_run(tmp_path / "whole"), new_run(tmp_path / "parts")
    toy_trainer(whole, settings).fit()
    trainer = toy_trainer(parts, settings)

    class Interrupting(ToyBatches):
        def epoch(self, number: int, start: int = 0) -> Any:
            for index, batch in enumerate(super().epoch(number, start), start):
                if (number, index) == (2, 2):
                    trainer.interruption.requested = True
                yield batch

    trainer.batches = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        trainer.fit()
    toy_trainer(parts, settings).fit()
    means = []
    for run in (whole, parts):
        last = read_last(run.checkpoints)
        assert last is not None
        means.append(load_state(run.checkpoints, last)["moving_average"])
    assert all(map(torch.equal, *means))
    assert whole.weights_path("best").read_bytes() == parts.weights_path("best").read_bytes()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"average": "first"}, "training.average=first: choose none, last or best"),
        ({"moving_average": 1.0}, "training.moving_average=1.0: give a decay between 0 and 1"),
        (
            {"average": "last", "moving_average": 0.9},
            "training.average=last and training.moving_average=0.9: choose one of them",
        ),
    ],
)
def test_impossible_settings_are_one_clear_line(values: dict[str, Any], message: str) -> None:
    with pytest.raises(NMTError) as error:
        replace(SETTINGS, **values)
    assert str(error.value) == message


def test_names_of_kept_weights_tell_their_update() -> None:
    assert weights_name(12) == "update-00000012.safetensors"
