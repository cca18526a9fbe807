"""Every attention of configs/attention, and some more settings of them, for the tests that state laws."""

from pathlib import Path
from typing import Any

import torch
from hydra.utils import get_class
from omegaconf import OmegaConf
from torch import Tensor

from nmt.attention import Attention

CONFIGS = Path(__file__).resolve().parent.parent / "configs" / "attention"
NAMES = sorted(path.stem for path in CONFIGS.glob("*.yaml"))
SIZE = 8

CASES: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in NAMES] + [
    ("additive", {"normalizer": "sparsemax", "alignment_size": 5}),
    ("dot", {"normalizer": "entmax15"}),
    ("multihead", {"normalizer": "sparsemax", "num_heads": 2}),
    ("coverage", {"max_fertility": 2.0}),
    ("none", {"feed": False}),
    ("hard", {"estimator": "reinforce"}),
    ("local_m", {"window": 1, "score": "dot"}),
    ("local_m", {"window": 1, "score": "concat", "normalizer": "sparsemax"}),
    ("local_p", {"window": 1, "score": "general"}),
    ("local_p", {"window": 1, "score": "concat"}),
    ("local_p", {"window": 2, "score": "dot", "normalizer": "entmax15"}),
]


def case_id(value: Any) -> str:
    """A readable name for pytest."""
    return value if isinstance(value, str) else ",".join(f"{key}={word}" for key, word in value.items())


def make(
    name: str, settings: dict[str, Any], query_size: int = SIZE, annotation_size: int = SIZE
) -> Attention:
    """The attention of configs/attention/NAME.yaml with `settings` changed: float64, eval mode, seeded."""
    torch.manual_seed(0)
    config: Any = OmegaConf.to_container(OmegaConf.load(CONFIGS / f"{name}.yaml"))
    assert config.pop("_partial_") is True
    cls = get_class(config.pop("_target_"))
    attention = cls(query_size, annotation_size, **{**config, **settings}).double().eval()
    for parameter in attention.parameters():  # far from zero, so that every term shows
        torch.nn.init.normal_(parameter, std=0.7)
    return attention


def mask_of(*lengths: int, width: int | None = None) -> Tensor:
    """The mask (B, S) of sentences of these lengths."""
    return torch.arange(width or max(lengths)) < torch.tensor(lengths).unsqueeze(1)


def random_tensor(*shape: int, seed: int = 1) -> Tensor:
    """Normal numbers in float64."""
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
