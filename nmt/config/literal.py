"""Values taken as typed: paths and texts hold commas, quotes and equals signs that Hydra would read."""

import re
from collections.abc import Iterable
from pathlib import Path

# The last component of every key that holds one path, a comma-separated list of paths, or a text.
_COMMAND_PATHS = [
    "run",
    "run_dir",
    "input",
    "output",
    "lexicon",
    "hypotheses",
    "references",
    "alignments",
    "gold",
]
_DATA_PATHS = [
    "source",
    "target",
    "tsv",
    "jsonl",
    "dataset",
    "links",
    "tags",
    "references_tsv",
    "dir",
    "cache_dir",
]
_PATHS = {*_COMMAND_PATHS, *_DATA_PATHS, "source_vectors", "target_vectors", "allow_modules"}
_TEXTS = {"text", "translation"}
_COMMA_LISTS = {"columns", "prefix", "require", "forbid", "runs", "seeds", "values", "baseline"}
_DOTTED_PATHS = {"tokenizer.model", "reverse"}  # the whole key: data.reverse is none


def split_override(override: str) -> tuple[str, str | None]:
    """Key (without a leading `+`, `++` or `~`) and value of `key=value`; the value of a lone key is None."""
    key, equals, value = override.partition("=")
    return key.lstrip("+~"), value if equals else None


def is_path(key: str) -> bool:
    """Whether `key` holds paths."""
    return key.rpartition(".")[2] in _PATHS or key in _DOTTED_PATHS


def quote_literal(override: str) -> str:
    """`override` as Hydra must get it: the value of a path or a text quoted, all others untouched.

    A path or list may still be unset with `null`; a text is never anything but itself.
    """
    key, value = split_override(override)
    is_literal = is_path(key) or key in _TEXTS or key in _COMMA_LISTS
    if value is None or not is_literal or (value == "null" and key not in _TEXTS):
        return override
    return f"{override.partition('=')[0]}={_quoted(value)}"


def _quoted(value: str) -> str:
    """`value` in single quotes: Hydra undoes the backslashes before quotes, OmegaConf those before ${."""
    value = re.sub(r"(\\*)\$\{", lambda match: match[1] * 2 + r"\${", value) if "${" in value else value
    value = re.sub(r"(\\*)'", lambda match: match[1] * 2 + r"\'", value)
    trailing = len(value) - len(value.rstrip("\\"))
    return f"'{value}{chr(92) * trailing}'"


def absolute_paths(overrides: Iterable[str]) -> list[str]:
    """`overrides` with the existing files and folders of the data, vectors, ... as absolute paths.

    So that a run's config means the same files wherever the run is used from. `run_dir` stays as typed.
    """
    result = []
    for override in overrides:
        key, value = split_override(override)
        if value and is_path(key) and key not in ("run_dir", "allow_modules") and Path(value).exists():
            override = f"{override.partition('=')[0]}={Path(value).absolute()}"
        result.append(override)
    return result
