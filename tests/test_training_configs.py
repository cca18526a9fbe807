"""The configuration files of training: each builds what it names."""

from pathlib import Path

import pytest
import torch
from omegaconf import OmegaConf

from nmt.config import build, check, config_dir
from nmt.training.settings import TrainingSettings


def files(group: str) -> list[Path]:
    return sorted((Path(config_dir()) / group).glob("*.yaml"))


@pytest.mark.parametrize("path", files("optimizer"), ids=lambda path: path.stem)
def test_optimizers_take_a_step_and_their_state_is_plain(path: Path, tmp_path: Path) -> None:
    config = OmegaConf.load(path)
    check(config)
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = build(config)([weight])
    weight.square().sum().backward()
    optimizer.step()
    assert (weight < 1).all()
    torch.save(optimizer.state_dict(), tmp_path / "state")
    optimizer.load_state_dict(torch.load(tmp_path / "state", weights_only=True))


@pytest.mark.parametrize("path", files("schedule"), ids=lambda path: path.stem)
def test_schedules_give_factors(path: Path) -> None:
    config = OmegaConf.create({"schedule": OmegaConf.load(path), "training": {"max_updates": 100}}).schedule
    check(config)
    assert 0 < build(config).factor(1, 1) <= 1


def test_the_default_settings_are_those_of_the_code_but_for_the_end() -> None:
    config = OmegaConf.load(Path(config_dir()) / "training" / "default.yaml")
    check(config)
    assert build(config) == TrainingSettings(patience=10)


@pytest.mark.parametrize("group", ["optimizer", "schedule", "teacher_forcing", "training"])
def test_every_value_has_a_comment(group: str) -> None:
    for path in files(group):
        for line in path.read_text(encoding="utf-8").splitlines():
            assert not line or line.startswith(("#", "_")) or "  # " in line, (path.name, line)
