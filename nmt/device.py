"""Which device computes."""

from typing import TYPE_CHECKING

from nmt.errors import NMTError

if TYPE_CHECKING:
    import torch


def choose_device(name: str = "auto") -> "torch.device":
    """The device called `name` (cpu, cuda, cuda:1, mps) or, with "auto", the best one there is."""
    import torch

    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise NMTError(
            f"device={name} cannot be used here ({reason}); choose auto, cpu, cuda or mps"
        ) from error
    return device
