"""The runs of a comparison: which there must be, which there are, and training those that are missing."""

import ctypes
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from nmt.cli.run_folder import claim, default_name, expand
from nmt.config import check, compose
from nmt.config.compose import parse, prepare
from nmt.config.literal import split_override
from nmt.errors import NMTError
from nmt.files import write_atomically

if TYPE_CHECKING:
    from omegaconf import DictConfig

_PATIENCE = 60.0  # seconds that somebody else's training in a folder may take to end

log = logging.getLogger(__name__)


class Planned(NamedTuple):
    """A run that the comparison needs."""

    variant: str  # the row it belongs to
    overrides: list[str]  # of nmt-train
    config: "DictConfig"
    path: Path


class Study(NamedTuple):
    """The axes (config keys) and the runs of all their combinations and seeds."""

    axes: list[str]
    runs: list[Planned]
    folder: Path


def plan(
    overrides: Sequence[str], seeds: Sequence[str], run_dir: str | None, folders: Sequence[Path]
) -> Study:
    """The runs that `overrides` of nmt-train, some with several values, and `seeds` ask for."""
    swept = [change.is_sweep_override() for change in parse(prepare("", overrides))]
    axes = [split_override(text)[0] for text, several in zip(overrides, swept, strict=True) if several]
    if not axes and len(seeds) < 2:
        raise NMTError(
            "there is nothing to compare: give a setting several values (attention=additive,dot), or "
            "seeds=1,2, runs=DIR,DIR or hypotheses.NAME=FILE"
        )
    fixed = [text for text, several in zip(overrides, swept, strict=True) if not several]
    parent = (
        Path(run_dir)
        if run_dir
        else Path("runs") / "-by-".join(filter(None, [default_name(fixed), "-".join(axes)]))
    )
    if (parent / "config.yaml").is_file():
        raise NMTError(
            f"run_dir={parent}: is a run itself; choose another folder, or compare it with runs={parent}"
        )
    existing = _existing(parent)
    runs = []
    for job in expand([*overrides, f"seed={','.join(seeds)}"]):
        config = compose("train", job.overrides, folders)
        check(config)
        chosen = [
            split_override(text)[1] or ""
            for text, several in zip(job.overrides, swept, strict=False)
            if several
        ]
        name = job.name or default_name(job.overrides)
        runs.append(
            Planned(
                ", ".join(chosen) or default_name(fixed),
                job.overrides,
                config,
                _folder(parent / name, config, existing),
            )
        )
    return Study(axes, runs, parent)


def _existing(parent: Path) -> dict[str, Path]:
    """The runs in `parent` by their fingerprints."""
    from nmt.comparison.fairness import fingerprint
    from nmt.training.run_directory import RunDirectory

    return {
        fingerprint(RunDirectory.open(file.parent).config()): file.parent
        for file in sorted(parent.glob("*/config.yaml"))
    }


def _folder(path: Path, config: "DictConfig", existing: dict[str, Path]) -> Path:
    """Where the run of `config` is or will be: in `path` unless it is there under another name."""
    from nmt.comparison.fairness import fingerprint

    return existing.get(fingerprint(config), path)


def train_missing(
    study: Study, jobs: int, threads: int | None, overwrite: bool, folders: Sequence[Path]
) -> None:
    """Train the runs that are not finished, `jobs` at once, and raise if one cannot be.

    Every folder is looked into before anything is trained.
    """
    missing = [run for run in study.runs if not _is_finished(run, overwrite)]
    there = len(study.runs) - len(missing)
    log.info("%d runs: %d finished already, %d to train", len(study.runs), there, len(missing))
    if threads is None and jobs > 1:
        threads = max(1, (os.cpu_count() or 1) // jobs)
    workers = _Workers(threads, jobs == 1, folders)
    pool = ThreadPoolExecutor(jobs)
    try:
        futures = [
            pool.submit(workers.train, run, f"{number} of {len(missing)}")
            for number, run in enumerate(missing, start=1)
        ]
        faults = list(filter(None, (future.result() for future in futures)))
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        workers.stop()
        raise
    finally:
        pool.shutdown()
    if faults:
        raise NMTError(
            f"{len(faults)} of {len(missing)} runs failed, the others are kept: {'; '.join(faults)}; "
            "mend what is wrong and repeat the command"
        )


def _is_finished(run: Planned, overwrite: bool) -> bool:
    """Whether the planned run is there; makes room for it where it may, and raises where it may not."""
    from nmt.comparison.fairness import differences
    from nmt.training.run_directory import RunDirectory

    if not (run.path / "config.yaml").is_file():
        return False
    there = RunDirectory.open(run.path)
    differing = differences(there.config(), run.config)
    status = there.status()
    if not differing:
        return status == "finished"
    if status == "finished" and not overwrite:
        raise NMTError(
            f"{run.path}: holds a finished run with other settings ({'; '.join(differing)}); choose another "
            "run_dir, or overwrite=true to train it anew"
        )
    run.config.overwrite = overwrite
    _wait_for(run.path)
    claim(run.path, run.config)
    return False


class _Workers:
    """Trains runs in processes of their own: with `threads` each and, if `loud`, their messages on stderr."""

    def __init__(self, threads: int | None, loud: bool, folders: Sequence[Path]) -> None:
        self._environment = os.environ | ({} if threads is None else {"OMP_NUM_THREADS": str(threads)})
        self._loud = loud
        self._options = [option for folder in folders for option in ("--config-dir", str(folder))]
        self._children: list[subprocess.Popen[bytes]] = []
        self._stopped = False
        self._lock = threading.Lock()

    def train(self, run: Planned, number: str) -> str | None:
        """Train `run`; returns what went wrong, if anything did."""
        log.info("run %s: %s", number, run.path)
        _wait_for(run.path)
        settings = [text for text in run.overrides if split_override(text)[0] not in ("run_dir", "overwrite")]
        settings += [f"run_dir={run.path}", *(["overwrite=true"] if run.config.overwrite else [])]
        command = [sys.executable, "-m", "nmt.cli.train", *self._options, *settings]
        with tempfile.TemporaryFile() as messages:
            child = self._start(command, None if self._loud else messages)
            status, memory = _wait(child)
            last_line = "" if self._loud else _last_line(messages)
        _keep_memory(run.path, memory)
        if status == 0:
            return None
        return last_line or f"{run.path} ended with status {status}, as said before"

    def _start(self, command: Sequence[str], messages: IO[bytes] | None) -> "subprocess.Popen[bytes]":
        """The child: Ctrl-C reaches it once, through `stop`, and never while it saves for the first."""
        with self._lock:
            if self._stopped:
                raise KeyboardInterrupt
            child = subprocess.Popen(
                command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=messages,
                start_new_session=True,
                preexec_fn=_end_with_parent if sys.platform == "linux" else None,
            )
            self._children.append(child)
        return child

    def stop(self) -> None:
        """Have all save and end."""
        with self._lock:
            self._stopped = True
            for child in self._children:
                if child.returncode is None:
                    child.terminate()


def _wait(child: "subprocess.Popen[bytes]") -> tuple[int, float | None]:
    """Wait for the child's end: its status, and the largest resident memory it had (MiB), where known."""
    if not hasattr(os, "wait4"):
        return child.wait(), None
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def _keep_memory(path: Path, memory: float | None) -> None:
    """Keep the largest of the sittings."""
    from nmt.comparison.measure import memory_path

    file = memory_path(path)
    if memory is None or not path.is_dir():
        return
    before = json.loads(file.read_text(encoding="utf-8"))["peak_memory"] if file.is_file() else 0.0
    file.parent.mkdir(exist_ok=True)
    with write_atomically(file, "w") as stream:
        json.dump({"peak_memory": max(memory, before)}, stream)


def _end_with_parent() -> None:
    """Have Linux end this process (training saves first) when the one that started it is gone."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # 1: PR_SET_PDEATHSIG


def _last_line(messages: IO[bytes]) -> str:
    messages.seek(0)
    lines = messages.read().decode("utf-8", "replace").split("\n")
    return next((line.removeprefix("nmt-train: ") for line in reversed(lines) if line.strip()), "")


def _wait_for(path: Path) -> None:
    """Wait until nobody trains in `path`: what a killed comparison left behind saves and ends by itself."""
    from nmt.training.run_directory import RunDirectory

    deadline = time.monotonic() + _PATIENCE
    while (path / "config.yaml").is_file():
        try:
            with RunDirectory.open(path).hold():
                return
        except NMTError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
