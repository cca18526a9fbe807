"""A config as one level of dotted keys, so that two can be held against each other."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omegaconf import DictConfig

# What may change between the parts of one run: where it is, and how it is watched, not what comes out of it.
FREE = {"run_dir", "overwrite", "device", "processes", "allow_modules", "verbose"}


def flat(config: "DictConfig") -> dict[str, Any]:
    """The values of `config` by their dotted keys; lists and empty nodes count as values."""
    from omegaconf import OmegaConf

    def walk(node: Any, key: str) -> None:
        if isinstance(node, dict) and node:
            for name, value in node.items():
                walk(value, f"{key}.{name}" if key else str(name))
        else:
            found[key] = node

    found: dict[str, Any] = {}
    walk(OmegaConf.to_container(config, resolve=True), "")
    return found
