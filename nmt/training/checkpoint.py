"""Checkpoints: weights as safetensors, the rest of the training state beside them.

A save writes `update-N.safetensors` and `update-N.state`, then `last.json`, which names both, then removes
what is no longer needed. A crash at any point leaves a `last.json` whose two files exist and belong together.
"""

import json
import logging
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from nmt.errors import NMTError
from nmt.files import write_atomically

log = logging.getLogger(__name__)

BEST = "best.safetensors"
AVERAGE = "average.safetensors"
LAST = "last.json"


class LastCheckpoint(NamedTuple):
    """What `last.json` says."""

    update: int
    finished: bool  # whether the run has come to its end
    weights: str  # file name
    state: str  # file name
    best_update: int | None
    best_score: float | None


def read_last(folder: Path) -> LastCheckpoint | None:
    """The valid checkpoint in `folder`, or None before the first save."""
    try:
        text = (folder / LAST).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    try:
        return LastCheckpoint(**json.loads(text))
    except (ValueError, TypeError) as error:
        raise NMTError(f"{folder / LAST}: is damaged ({error}); train anew with overwrite=true") from error


def save_last(
    folder: Path, model: nn.Module, state: dict[str, Any], kept_updates: list[int], finished: bool
) -> None:
    """Make `model` and `state` the valid checkpoint; weights of `kept_updates` stay too.

    `state` must hold "update", "best_update" and "best_score", and only types that `weights_only` loads.
    """
    stem = _stem(state["update"])
    save_weights(model, folder / weights_name(state["update"]))
    with write_atomically(folder / f"{stem}.state") as file:
        torch.save(state, file)
    last = LastCheckpoint(
        update=state["update"],
        finished=finished,
        weights=weights_name(state["update"]),
        state=f"{stem}.state",
        best_update=state["best_update"],
        best_score=state["best_score"],
    )
    with write_atomically(folder / LAST, "w") as file:
        json.dump(last._asdict(), file, indent=1)
        file.write("\n")
    remove_stale(folder, kept_updates)


def load_state(folder: Path, last: LastCheckpoint) -> dict[str, Any]:
    """The training state of checkpoint `last`, on the CPU."""
    path = folder / last.state
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise NMTError(
            f"{path}: is missing, so this run cannot continue; train anew with overwrite=true"
        ) from error


def remove_stale(folder: Path, kept_updates: list[int]) -> None:
    """Remove what neither `last.json` nor `kept_updates` need, such as the half-written files of a crash."""
    last = read_last(folder)
    needed = {weights_name(update) for update in kept_updates}
    if last is not None:
        needed |= {last.weights, last.state}
    for path in [*folder.glob("update-*"), *folder.glob(".*.part")]:
        if path.name not in needed:
            with suppress(FileNotFoundError):
                path.unlink()


def save_weights(model: nn.Module, path: Path) -> None:
    """Write the parameters and buffers of `model` to `path`; those that share memory (tied ones) once."""
    tensors = {name: tensor.detach().contiguous() for name, tensor in distinct_tensors(model).items()}
    with write_atomically(path) as file:
        file.write(safetensors.torch.save(tensors, metadata={"format": "pt"}))


def load_weights(model: nn.Module, path: Path) -> None:
    """Copy the weights at `path` into `model`, on whatever device; `NMTError` where they do not fit."""
    own = distinct_tensors(model)
    try:
        stored = safetensors.torch.load_file(path)
    except (FileNotFoundError, safetensors.SafetensorError) as error:
        raise NMTError(f"{path}: cannot be read as weights ({error})") from error
    fits = own.keys() == stored.keys() and all(own[name].shape == stored[name].shape for name in own)
    if not fits:
        odd = sorted(
            name
            for name in own.keys() | stored.keys()
            if name not in own or name not in stored or own[name].shape != stored[name].shape
        )
        raise NMTError(
            f"{path}: does not fit the model of this run's config.yaml (first at {odd[0]}); was one changed?"
        )
    with torch.no_grad():
        for name, tensor in own.items():
            tensor.copy_(stored[name])


def distinct_tensors(model: nn.Module) -> dict[str, Tensor]:
    """The state of `model` with one name, the first, for each tensor."""
    distinct: dict[str, Tensor] = {}
    seen = set()
    for name, tensor in model.state_dict().items():
        place = (tensor.device, tensor.data_ptr(), tensor.shape, tensor.stride())
        if tensor.numel() == 0 or place not in seen:
            seen.add(place)
            distinct[name] = tensor
    return distinct


def weights_name(update: int) -> str:
    """The name of the file that holds the weights after `update`."""
    return f"{_stem(update)}.safetensors"


def _stem(update: int) -> str:
    return f"update-{update:08d}"
