"""The course of a training run: one JSON object a line, and the same numbers as TensorBoard events.

A line has `kind` ("train" or "validation"), `update` and `epoch`, and its numbers; what is in `TIMES`
differs from one run to the next, all else is a function of the configuration and the seed.
"""

import json
import logging
import os
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)

TIMES = ("seconds", "tokens_per_second")


class MetricsLog:
    """Appends to `path` and, where the package is installed, writes TensorBoard events into `events`.

    `size` (bytes) and `update` are those of the checkpoint that training continues from: what was written
    after it, also half a line, is dropped, because it will be written again.
    """

    def __init__(self, path: Path, events: Path, size: int = 0, update: int = 0) -> None:
        self._file = open(path, "ab")  # noqa: SIM115 - closed by `close`
        self._file.truncate(min(size, self._file.tell()))
        self._events = _event_writer(events, update)

    def write(self, kind: str, update: int, epoch: int, numbers: dict[str, float]) -> None:
        """Add a line; it is on its way to the disk when this returns."""
        line = json.dumps({"kind": kind, "update": update, "epoch": epoch, **numbers})
        self._file.write(f"{line}\n".encode())
        self._file.flush()
        if self._events is not None:
            for name, number in numbers.items():
                self._events.add_scalar(f"{kind}/{name}", number, update)

    def sync(self) -> int:
        """Have everything on the disk and return the size in bytes, for a checkpoint to refer to."""
        self._file.flush()
        os.fsync(self._file.fileno())
        if self._events is not None:
            self._events.flush()
        return os.fstat(self._file.fileno()).st_size

    def close(self) -> None:
        self._file.close()
        if self._events is not None:
            self._events.close()


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of a metrics file; one that a crash cut short is left out."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines[:-1]]


def _event_writer(folder: Path, update: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        log.info(
            "no TensorBoard events: the package tensorboard is not installed (metrics.jsonl has the numbers)"
        )
        return None
    return SummaryWriter(str(folder), purge_step=update + 1 if update else None)
