"""The run directory: what is in it, who may write, and that it can be moved."""

import json
import logging
import random
import sys
from pathlib import Path

import numpy
import pytest
import torch
from omegaconf import OmegaConf
from torch import nn
from training_toys import VOCABULARY_SIZE, ToyModel, new_run, toy_trainer

import nmt.training.run_directory
from nmt.device import choose_device
from nmt.errors import NMTError
from nmt.training.checkpoint import load_weights, save_weights
from nmt.training.randomness import random_states, restore_random_states, seed_everything
from nmt.training.run_directory import RunDirectory
from nmt.training.settings import TrainingSettings

SETTINGS = TrainingSettings(max_updates=4, validate_every=2)


@pytest.fixture
def finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunDirectory:
    """A trained toy, whose model `load_model` can build."""
    monkeypatch.setattr(nmt.training.run_directory, "build_model", lambda config, tokenizers: ToyModel())
    monkeypatch.setattr(RunDirectory, "tokenizers", lambda run: None)
    run = new_run(tmp_path / "run")
    toy_trainer(run, SETTINGS).fit()
    return run


def test_status_goes_from_new_over_unfinished_to_finished(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    assert run.status() == "new"
    trainer = toy_trainer(run, SETTINGS)
    trainer.interruption.requested = True
    with pytest.raises(KeyboardInterrupt):
        trainer.fit()
    assert run.status() == "unfinished"
    toy_trainer(run, SETTINGS).fit()
    assert RunDirectory.open(run.path).status() == "finished"


def test_the_configuration_is_kept_resolved(tmp_path: Path) -> None:
    config = OmegaConf.create({"model": {"size": 3}, "again": "${model.size}", "name": "été: #1"})
    RunDirectory.create(tmp_path / "a" / "run", config)
    assert RunDirectory.open(tmp_path / "a" / "run").config() == {
        "model": {"size": 3},
        "again": 3,
        "name": "été: #1",
    }


def test_versions_say_what_the_run_was_made_with(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    versions = json.loads((run.path / "versions.json").read_text())
    assert versions["python"] == sys.version.split()[0]
    assert versions["torch"] == torch.__version__
    assert versions["threads"] == torch.get_num_threads()
    assert run.changed_versions() == []
    (run.path / "versions.json").write_text(json.dumps({**versions, "threads": 99}))
    assert run.changed_versions() == [f"threads: 99, now {torch.get_num_threads()}"]


def test_folders_that_are_no_run_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(NMTError, match="absent: there is no such run directory; give the folder"):
        RunDirectory.open(tmp_path / "absent")
    with pytest.raises(NMTError, match=r"is no run directory \(it has no config.yaml\)"):
        RunDirectory.open(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("dear")
    with pytest.raises(NMTError, match="is there already and not empty"):
        RunDirectory.create(tmp_path / "full", OmegaConf.create({}))
    with pytest.raises(NMTError, match="is there already and not empty"):
        RunDirectory.create(tmp_path / "full" / "letter.txt", OmegaConf.create({}))
    assert (tmp_path / "full" / "letter.txt").read_text() == "dear"


def test_a_run_without_checkpoint_or_tokenizer_says_so(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    with pytest.raises(NMTError, match="has no checkpoint yet"):
        run.load_model()
    with pytest.raises(NMTError, match="has no tokenizer yet"):
        run.tokenizers()


@pytest.mark.parametrize("text", ["a: [", "- 1\n- 2\n"])
def test_a_damaged_configuration_is_one_line(tmp_path: Path, text: str) -> None:
    run = new_run(tmp_path / "run")
    (run.path / "config.yaml").write_text(text)
    with pytest.raises(NMTError, match="config.yaml") as caught:
        run.config()
    assert "\n" not in str(caught.value)


def test_a_damaged_checkpoint_is_one_line(finished: RunDirectory) -> None:
    finished.weights_path("best").write_bytes(b"not weights")
    with pytest.raises(NMTError, match="best.safetensors: cannot be read as weights"):
        finished.load_model()
    (finished.checkpoints / "last.json").write_text('{"update": 4}')
    with pytest.raises(NMTError, match="last.json: is damaged"):
        finished.status()


def test_a_moved_run_loads_from_anywhere(
    finished: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = finished.load_model("last").state_dict()
    (tmp_path / "elsewhere").mkdir()
    finished.path.rename(tmp_path / "elsewhere" / "moved")
    monkeypatch.chdir(tmp_path / "elsewhere")
    model = RunDirectory.open("moved").load_model("last", device=choose_device("auto"))
    assert not model.training
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor.cpu(), before[name])


def test_checkpoints_are_found_by_name(finished: RunDirectory) -> None:
    assert finished.weights_path("4") == finished.weights_path("last")
    assert finished.weights_path("best").name == "best.safetensors"
    with pytest.raises(NMTError, match="checkpoint=first: .* has none of that name; choose best or last"):
        finished.weights_path("first")
    finished.weights_path("best").unlink()
    assert finished.weights_path("best") == finished.weights_path("last")


def test_log_messages_go_to_the_run_while_it_is_held(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "nmt")
    run = new_run(tmp_path / "run")
    with run.hold():
        toy_trainer(run, SETTINGS).fit()
    text = (run.path / "train.log").read_text()
    assert "validation at update 4" in text and "training ends" in text


def test_the_right_to_write_comes_back(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    for _ in range(2):
        with run.hold():
            pass


# Weights


def test_tied_weights_are_stored_once_and_stay_tied(tmp_path: Path) -> None:
    torch.manual_seed(1)
    one, other = ToyModel(), ToyModel()
    save_weights(one, tmp_path / "weights.safetensors")
    load_weights(other, tmp_path / "weights.safetensors")
    assert (tmp_path / "weights.safetensors").stat().st_size < 1.9 * 4 * VOCABULARY_SIZE * 8
    assert other.decoder.output.weight is other.embedding.weight
    for name, tensor in one.state_dict().items():
        assert torch.equal(tensor, other.state_dict()[name])


def test_weights_that_are_transposed_views_round_trip(tmp_path: Path) -> None:
    module = nn.Linear(3, 2)
    module.weight = nn.Parameter(torch.randn(3, 2).t())
    expected = module.weight.detach().clone()
    save_weights(module, tmp_path / "weights.safetensors")
    load_weights(module, tmp_path / "weights.safetensors")
    assert torch.equal(module.weight, expected)


def test_weights_of_another_model_are_refused(tmp_path: Path) -> None:
    save_weights(ToyModel(size=4), tmp_path / "weights.safetensors")
    with pytest.raises(NMTError, match="does not fit the model"):
        load_weights(ToyModel(size=8), tmp_path / "weights.safetensors")


# Chance and devices


def test_random_states_survive_a_file_without_pickled_code(tmp_path: Path) -> None:
    seed_everything(3)
    random.gauss(0, 1), numpy.random.randn(), torch.randn(3)

    def draw() -> list[float]:
        return [random.gauss(0, 1), random.random(), numpy.random.randn(), torch.randn(()).item()]

    torch.save(random_states(), tmp_path / "states")
    expected = draw()
    seed_everything(4)
    restore_random_states(torch.load(tmp_path / "states", weights_only=True))
    assert draw() == expected


def test_devices_by_name() -> None:
    assert choose_device("cpu") == torch.device("cpu")
    assert choose_device().type in ("cpu", "cuda", "mps")
    with pytest.raises(NMTError, match="device=gpu cannot be used here"):
        choose_device("gpu")
    if not torch.cuda.is_available():
        with pytest.raises(NMTError, match="device=cuda cannot be used here"):
            choose_device("cuda")
