"""Which folder a run goes into, and whether it may."""

import hashlib
import logging
import re
import shutil
from collections.abc import Sequence
from itertools import compress, product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nmt.config.compose import parse, prepare
from nmt.config.flat import FREE, flat
from nmt.config.literal import is_path, split_override
from nmt.errors import NMTError

if TYPE_CHECKING:
    from omegaconf import DictConfig

log = logging.getLogger(__name__)

_LONGEST_NAME = 120  # characters


class Job(NamedTuple):
    """One run of a command line; `name` tells it from the others of a multirun and is None outside of one."""

    overrides: list[str]
    name: str | None


def expand(overrides: Sequence[str]) -> list[Job]:
    """The jobs of a multirun: one for each combination of the comma-separated values in `overrides`."""
    choices, swept = [], []
    for original, change in zip(overrides, parse(prepare("", overrides)), strict=True):
        swept.append(change.is_sweep_override())
        key = original.partition("=")[0]
        values = change.sweep_string_iterator() if swept[-1] else ()
        choices.append([f"{key}={value}" for value in values] or [original])
    jobs = []
    for combination in product(*choices):
        jobs.append(Job(list(combination), _file_name("+".join(compress(combination, swept))) or None))
    return jobs


def run_folder(run_dir: str | None, job: Job) -> Path:
    """The folder of `job`: `run_dir` or, without it, one named after what the command line chooses.

    In a multirun it is the parent of one folder a job.
    """
    if job.name is None:
        return Path(run_dir) if run_dir else Path("runs") / default_name(job.overrides)
    return Path(run_dir or Path("runs") / "multirun") / job.name


def default_name(overrides: Sequence[str]) -> str:
    """A name for the run of a command line: the same for the same command, so that repeating it continues.

    The experiment, or the training file's name for one's own text, and after it what else was chosen.
    """
    chosen = {key: value or "" for key, value in map(split_override, prepare("train", overrides))}
    experiment = chosen.pop("experiment", None) or "demo"
    source = dict(split_override(override) for override in overrides).get("data.train.source")
    name = Path(source).name.partition(".")[0] if source and experiment == "default" else experiment
    rest = [
        f"{key}={value}"
        for key, value in sorted(chosen.items())
        if not (is_path(key) or key in FREE or (key, value) == ("data", "files"))
    ]
    return _file_name("+".join([name, *rest]))


def _file_name(text: str) -> str:
    """`text` without what file systems, shells and our lists mind; a long one ends in a digest."""
    plain = re.sub(r"[^\w.=+-]+", "-", text).strip("-.")
    if len(plain) > _LONGEST_NAME:
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        plain = f"{plain[: _LONGEST_NAME - 9]}-{digest}"
    return plain


def claim(path: Path, config: "DictConfig", skip_finished: bool = False) -> bool:
    """Whether to train in `path`: a new folder, an unfinished run of `config`, or a run to overwrite.

    The last is left for the training to replace. A finished run is an error or, under `skip_finished`, left
    alone. An unfinished run of another config is an error, unless it has no checkpoint and so nothing to
    lose; so is a folder of other things.
    """
    from nmt.training.run_directory import RunDirectory

    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        log.info("run directory: %s", path)
        return True
    if not path.is_dir() or not (path / "config.yaml").is_file():
        raise NMTError(f"run_dir={path}: holds something else than a run; choose a new folder")
    run = RunDirectory.open(path)
    if config.overwrite:
        with run.hold():
            pass  # nobody trains in it
        log.info("run directory: %s (overwriting)", path)
        return True
    status = run.status()
    if status == "finished":
        if skip_finished:
            log.info("run directory: %s is finished already", path)
            return False
        raise NMTError(
            f"run_dir={path}: holds a finished run; choose another, or overwrite=true to train anew"
        )
    differing = differing_keys(run.config(), config)
    if differing and status == "new":
        shutil.rmtree(path)
        log.info("run directory: %s", path)
        return True
    if differing:
        raise NMTError(
            f"run_dir={path}: holds an unfinished run with other settings ({', '.join(differing)}); "
            "repeat its own settings to continue it, choose another folder, or overwrite=true to start anew"
        )
    log.info("run directory: %s (unfinished: continuing)", path)
    return True


def differing_keys(old: "DictConfig", new: "DictConfig") -> list[str]:
    """The keys that change the result in which two configs differ, each with its old and new value."""
    before, after = (flat(config) for config in (old, new))
    return [
        f"{key}: {before.get(key, 'absent')}, now {after.get(key, 'absent')}"
        for key in sorted(before.keys() | after.keys())
        if key.partition(".")[0] not in FREE and before.get(key, ...) != after.get(key, ...)
    ]
