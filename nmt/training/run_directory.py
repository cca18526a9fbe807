"""Everything about a run in one folder, which may be moved and used from anywhere and on any device.

RUN/ config.yaml    resolved        versions.json   what it was made with     train.log   what training said
     tokenizer/     both sides      metrics.jsonl   one line a measurement    tensorboard/
     checkpoints/   best.safetensors, last.json and the two files that it names
"""

import importlib.metadata
import json
import logging
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from nmt import __version__
from nmt.errors import NMTError
from nmt.files import write_atomically

if TYPE_CHECKING:
    import torch
    from omegaconf import DictConfig

    from nmt.data.tokenizer import TokenizerPair
    from nmt.models.seq2seq import Seq2Seq

log = logging.getLogger(__name__)

_CONFIG = "config.yaml"
_VERSIONS = "versions.json"
_PACKAGES = (
    "torch",
    "numpy",
    "sentencepiece",
    "datasets",
    "safetensors",
    "hydra-core",
    "omegaconf",
    "sacrebleu",
)


class RunDirectory:
    """The folder of one run, made by `create` or `open`. Reading is always safe; writing needs `hold`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def open(cls, path: str | Path) -> "RunDirectory":
        """The run at `path`; `NMTError` if there is none."""
        folder = Path(path)
        if not folder.exists():
            raise NMTError(f"{path}: there is no such run directory; give the folder that nmt-train made")
        if not (folder / _CONFIG).is_file():
            raise NMTError(
                f"{path}: is no run directory (it has no {_CONFIG}); give the folder that nmt-train made"
            )
        return cls(folder)

    @classmethod
    def create(cls, path: str | Path, config: "DictConfig") -> "RunDirectory":
        """A new run of `config` in the folder `path`, which must be absent or empty."""
        from omegaconf import OmegaConf

        folder = Path(path)
        if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
            raise NMTError(f"{path}: is there already and not empty; choose a new folder for the run")
        versions = current_versions()
        folder.mkdir(parents=True, exist_ok=True)
        with write_atomically(folder / _CONFIG, "w") as file:
            file.write(OmegaConf.to_yaml(config, resolve=True))
        with write_atomically(folder / _VERSIONS, "w") as file:
            json.dump(versions, file, indent=1)
            file.write("\n")
        run = cls(folder)
        run.checkpoints.mkdir()
        return run

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def tokenizer_path(self) -> Path:
        return self.path / "tokenizer"

    @property
    def metrics_path(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def tensorboard_path(self) -> Path:
        return self.path / "tensorboard"

    def config(self) -> "DictConfig":
        """The resolved configuration that the run was made with."""
        from omegaconf import DictConfig, OmegaConf

        try:
            config = OmegaConf.load(self.path / _CONFIG)
        except Exception as error:
            raise NMTError(
                f"{self.path / _CONFIG}: cannot be read ({' '.join(str(error).split())})"
            ) from error
        if not isinstance(config, DictConfig):
            raise NMTError(f"{self.path / _CONFIG}: is no configuration of a run")
        return config

    def tokenizers(self) -> "TokenizerPair":
        """The tokenizers of both sides."""
        from nmt.data.tokenizer import TokenizerPair

        if not self.tokenizer_path.is_dir():
            raise NMTError(
                f"{self.path}: has no tokenizer yet: its training stopped early; let nmt-train continue it"
            )
        return TokenizerPair.load(self.tokenizer_path)

    def status(self) -> Literal["new", "unfinished", "finished"]:
        """Whether there is a checkpoint, and whether training came to its end."""
        from nmt.training.checkpoint import read_last

        last = read_last(self.checkpoints)
        if last is None:
            return "new"
        return "finished" if last.finished else "unfinished"

    def changed_versions(self) -> list[str]:
        """What differs now from when the run was made, such as "threads: 2, now 1"."""
        try:
            made_with = json.loads((self.path / _VERSIONS).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return []
        now = current_versions()
        return [
            f"{name}: {made_with.get(name)}, now {now[name]}"
            for name in now
            if made_with.get(name) != now[name]
        ]

    def metrics(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl, oldest first."""
        from nmt.training.metrics import read_metrics

        return read_metrics(self.metrics_path)

    def weights_path(self, checkpoint: str = "best") -> Path:
        """The weights called `checkpoint`: best, last, average (training.average), or the number of an update
        whose weights were kept.

        Before the first validation the last weights stand in for the best.
        """
        from nmt.training.checkpoint import AVERAGE, BEST, read_last, weights_name

        last = read_last(self.checkpoints)
        if last is None:
            raise NMTError(
                f"{self.path}: has no checkpoint yet: its training stopped early; let nmt-train continue it"
            )
        if checkpoint == "last":
            return self.checkpoints / last.weights
        if checkpoint == "best":
            best = self.checkpoints / BEST
            if not best.is_file():
                log.warning("%s: not validated yet, using the weights of update %d", self.path, last.update)
            return best if best.is_file() else self.checkpoints / last.weights
        path = self.checkpoints / AVERAGE if checkpoint == "average" else None
        if checkpoint.isdecimal():
            path = self.checkpoints / weights_name(int(checkpoint))
        if path is None or not path.is_file():
            raise NMTError(f"checkpoint={checkpoint}: {self.path} has none of that name; choose best or last")
        return path

    def load_model(self, checkpoint: str = "best", device: "str | torch.device" = "cpu") -> "Seq2Seq":
        """The model with the weights called `checkpoint`, on `device`, in evaluation mode."""
        from nmt.training.checkpoint import load_weights

        path = self.weights_path(checkpoint)
        model = build_model(self.config(), self.tokenizers())
        load_weights(model, path)
        return model.to(device).eval()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """The right to write in this folder, for one process at a time; log messages go to train.log too.

        Raises `NMTError` where another process has it. Ends with the process, however that ends.
        """
        from filelock import FileLock, Timeout

        self.checkpoints.mkdir(exist_ok=True)
        lock = FileLock(self.path / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout as error:
            raise NMTError(
                f"{self.path}: another process trains in this folder; wait for it or choose another run_dir"
            ) from error
        handler = logging.FileHandler(self.path / "train.log", encoding="utf-8", delay=True)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        logging.getLogger("nmt").addHandler(handler)
        try:
            yield
        finally:
            logging.getLogger("nmt").removeHandler(handler)
            handler.close()
            lock.release()


def build_model(config: "DictConfig", tokenizers: "TokenizerPair") -> "Seq2Seq":
    """The model of `config` with fresh weights, for the vocabularies of `tokenizers`."""
    from nmt.config import build

    return build(
        config.model,
        encoder=build(config.encoder),
        decoder=build(config.decoder),
        attention=build(config.attention),
        source_vocabulary_size=tokenizers.source.vocabulary_size,
        target_vocabulary_size=tokenizers.target.vocabulary_size,
        joint_vocabulary=tokenizers.joint,
    )


def current_versions() -> dict[str, Any]:
    """What a run depends on besides its configuration: packages, machine, number of threads."""
    import torch

    def version(package: str) -> str | None:
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            return None

    return {
        "nmt": __version__,
        "python": sys.version.split()[0],
        **{package: version(package) for package in _PACKAGES},
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "cuda": torch.version.cuda if torch.cuda.is_available() else None,
        "gpus": [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())],
    }
