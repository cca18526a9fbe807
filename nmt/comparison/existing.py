"""Runs that exist: found in folders, and sorted into variants."""

import logging
import re
from collections.abc import Sequence
from pathlib import Path

from nmt.comparison.fairness import fingerprint
from nmt.errors import NMTError
from nmt.training.run_directory import RunDirectory

log = logging.getLogger(__name__)

_SEED = re.compile(r"(?:^|\+)seed=\d+(?=\+|$)")


def named_runs(folders: str) -> list[tuple[str, RunDirectory]]:
    """The runs in comma-separated `folders`, or in folders below them, each with its variant's name.

    Runs whose configs are the same but for the seed are one variant. It is called as the folder of its first
    run is, without what this says of the seed.
    """
    paths = [folders] if Path(folders).exists() else [path.strip() for path in folders.split(",")]
    runs = [run for path in paths for run in _runs_in(Path(path))]
    prints = [fingerprint(run.config(), without=["seed"]) for run in runs]
    names = dict(zip(reversed(prints), _names([run.path for run in reversed(runs)]), strict=True))
    for name in set(names.values()):
        alike = [each for each, other in names.items() if other == name]
        for number, each in enumerate(alike[1:], start=2):
            names[each] = f"{name} ({number})"
    return [(names[each], run) for each, run in zip(prints, runs, strict=True)]


def _runs_in(path: Path) -> list[RunDirectory]:
    """The run in the folder `path`, or the finished runs in the folders in it."""
    if (path / "config.yaml").is_file() or not path.is_dir():
        run = RunDirectory.open(path)
        if run.status() != "finished":
            log.warning("%s: its training has not come to its end", path)
        return [run]
    below = [RunDirectory.open(file.parent) for file in sorted(path.glob("*/config.yaml"))]
    finished = [run for run in below if run.status() == "finished"]
    if not finished:
        raise NMTError(f"runs={path}: is neither a run nor a folder of finished runs")
    return finished


def _names(paths: Sequence[Path]) -> list[str]:
    """A short name for each folder: its own without the seed, after as many above as tell it apart.

    Where one run in a folder needs those above, all in it have them, so that they read alike.
    """
    named = [_named(path.absolute()) for path in paths]
    alike: dict[str, set[Path]] = {}
    for folder, name in named:
        alike.setdefault(name, set()).add(folder)
    depths: dict[Path, int] = {}
    for folder, name in named:
        depths[folder] = max(_depth(alike[name]), depths.get(folder, 0))
    return ["/".join([*_last(folder, depths[folder]), name]) for folder, name in named]


def _named(path: Path) -> tuple[Path, str]:
    """The folder that `path` is in, and its name without the seed; of one with none left, the folder's."""
    name = _SEED.sub("", path.name).strip("+")
    return (path.parent, name) if name else (path.parent.parent, path.parent.name)


def _depth(folders: set[Path]) -> int:
    """How many of their last parts tell `folders` apart; 0 for one."""
    depth = 0
    while len({_last(folder, depth) for folder in folders}) < len(folders):
        depth += 1
    return depth


def _last(folder: Path, depth: int) -> tuple[str, ...]:
    return folder.parts[len(folder.parts) - depth :]
