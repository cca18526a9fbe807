"""The random number generators that training draws from, seeded, saved and restored together."""

import random
from typing import Any

import numpy
import torch


def seed_everything(seed: int) -> None:
    """Seed the generators of Python, NumPy and PyTorch (every device) with `seed`, a whole number from 0."""
    random.seed(seed)
    numpy.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def random_states() -> dict[str, Any]:
    """The states of all generators, of types that `torch.load(weights_only=True)` reads back."""
    name, keys, position, has_gauss, cached = numpy.random.get_state(legacy=True)
    states: dict[str, Any] = {
        "python": random.getstate(),
        "numpy": (name, [int(key) for key in keys], int(position), int(has_gauss), float(cached)),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }
    if torch.backends.mps.is_available():
        states["mps"] = torch.mps.get_rng_state()
    return states


def restore_random_states(states: dict[str, Any]) -> None:
    """Set all generators to `states`, but for those of devices that are not here."""
    version, words, gauss = states["python"]
    random.setstate((version, tuple(words), gauss))
    name, keys, position, has_gauss, cached = states["numpy"]
    numpy.random.set_state((name, numpy.array(keys, dtype=numpy.uint32), position, has_gauss, cached))
    torch.set_rng_state(states["torch"])
    if states["cuda"] and torch.cuda.is_available() and len(states["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(states["cuda"])
    if "mps" in states and torch.backends.mps.is_available():
        torch.mps.set_rng_state(states["mps"])
