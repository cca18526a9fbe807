"""The number format in which training multiplies matrices; weights and their updates stay in float32."""

import logging
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from nmt.errors import NMTError

NAMES = ("float32", "bf16", "fp16")

_FASTER = 1.5  # how many times faster bfloat16 must multiply to be worth its conversions
_FIRST_SCALE, _GROWTH_AFTER = 2.0**15, 2000  # of a loss in fp16; updates

log = logging.getLogger(__name__)


def choose_precision(name: str, device: torch.device) -> str:
    """float32, bf16 or fp16 for `name`, which may also be auto: the fastest that `device` has in hardware."""
    if name == "auto":
        chosen = _fastest(device)
        log.info("precision=auto: %s on %s", chosen, device)
        return chosen
    if name not in NAMES:
        raise NMTError(f"precision={name}: choose one of {', '.join(NAMES)}, auto")
    if name == "fp16" and device.type != "cuda":
        raise NMTError(f"precision=fp16 is for GPUs, not for {device}: choose bf16, float32 or auto")
    return name


def _fastest(device: torch.device) -> str:
    if device.type == "cuda":
        if torch.cuda.is_bf16_supported(including_emulation=False):
            return "bf16"
        return "fp16" if torch.cuda.get_device_capability(device) >= (7, 0) else "float32"
    if device.type != "cpu":
        return "float32"
    return "bf16" if _FASTER * _seconds(torch.bfloat16) < _seconds(torch.float32) else "float32"


def _seconds(dtype: torch.dtype) -> float:
    """What a product of matrices of a layer's size takes on this CPU, at best."""
    left, right = torch.ones(1024, 256, dtype=dtype), torch.ones(256, 256, dtype=dtype)
    best = float("inf")
    for _ in range(5):
        started = time.perf_counter()
        _ = left @ right
        best = min(best, time.perf_counter() - started)
    return best


class Precision:
    """What training does differently in `name` (float32, bf16, fp16) on `device`.

    In fp16 small gradients would vanish: the loss is multiplied by `scale`, which halves whenever a gradient
    overflows (that update is left out) and doubles after 2000 updates in which none did (Micikevicius et
    al. 2018).
    """

    def __init__(self, name: str = "float32", device: torch.device | str = "cpu") -> None:
        self.name = name
        self.device = torch.device(device)
        self.scale = _FIRST_SCALE if name == "fp16" else 1.0
        self._good_updates = 0

    def autocast(self) -> AbstractContextManager[Any]:
        """Within it, matrix products are in this precision."""
        if self.name == "float32":
            return nullcontext()
        return torch.autocast(self.device.type, torch.bfloat16 if self.name == "bf16" else torch.float16)

    def overflowed(self, finite: bool) -> bool:
        """Whether to leave out an update whose gradients are `finite` or not; adapts the scale."""
        if self.name != "fp16":
            return False
        self._good_updates = self._good_updates + 1 if finite else 0
        if not finite:
            self.scale = max(self.scale / 2, 1.0)
        elif self._good_updates % _GROWTH_AFTER == 0:
            self.scale *= 2
        return not finite and self.scale > 1

    def state_dict(self) -> dict[str, Any]:
        return {"scale": self.scale, "good_updates": self._good_updates}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.scale, self._good_updates = state["scale"], state["good_updates"]
