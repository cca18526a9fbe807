"""The settings of commands that use a run: their own, and what they change in the run's."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from nmt.cli.command import Arguments, adopt
from nmt.config import check, compose, override
from nmt.config.literal import split_override
from nmt.config.targets import with_defaults
from nmt.errors import NMTError

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from nmt.data.lines import Errors
    from nmt.training.run_directory import RunDirectory
    from nmt.translator import Translator
    from nmt.translator.source import Split


class Settings(NamedTuple):
    """`own` are the command's values; `changes` maps a group of the run's config to the overrides of it."""

    own: dict[str, Any]
    changes: dict[str, list[str]]


def read_settings(command: str, arguments: Arguments, groups: Sequence[str]) -> Settings:
    """The settings of `command`, whose overrides of `groups` are meant for the run's config."""
    from omegaconf import OmegaConf

    changes: dict[str, list[str]] = {group: [] for group in groups}
    own: list[str] = []
    for text in arguments.overrides:
        group = split_override(text)[0].partition(".")[0]
        changes.get(group, own).append(text)
    config = compose(command, own, arguments.folders)
    adopt(config)
    values = OmegaConf.to_container(config, resolve=True)
    assert isinstance(values, dict)
    return Settings({str(key): value for key, value in values.items()}, changes)


def changed_group(config: "DictConfig", group: str, overrides: list[str]) -> "DictConfig":
    """The node `group` of a run's `config` under `overrides`, which may also choose another option for it."""
    from omegaconf import OmegaConf

    if any(split_override(text)[0] == group for text in overrides):
        changed = compose("train", overrides)
    else:
        # What has become a setting since the run was made counts, too.
        completed = config.copy()
        completed[group] = with_defaults(config[group])
        changed = override(completed, overrides)
    check(OmegaConf.masked_copy(changed, group))
    return changed[group]


def runs_of(settings: Settings) -> "list[RunDirectory]":
    """The runs that `run=` names."""
    if not settings.own["run"]:
        raise NMTError("run= is missing: give the folder of a run, such as run=runs/demo")
    from nmt.translator.runs import open_runs

    return open_runs(settings.own["run"])


def search_config(settings: Settings, run: "RunDirectory") -> "DictConfig":
    """How to search: as `run` says, but for what the command line changes."""
    return changed_group(run.config(), "search", settings.changes["search"])


def load_translator(
    settings: Settings, split: "Split" = "always", lexicon: Mapping[str, str] | None = None
) -> "Translator":
    """The run that `run=` names, ready to translate and align."""
    runs = runs_of(settings)
    from nmt.translator import Translator

    return Translator.load(
        settings.own["run"],
        device=settings.own["device"],
        checkpoint=str(settings.own["checkpoint"]),
        search=search_config(settings, runs[0]) if settings.changes["search"] else None,
        split=split,
        lexicon=lexicon,
    )


def read_input(path: str | None, errors: "Errors" = "strict") -> Iterator[str]:
    """The lines of the file `path` or, without one, of stdin as they arrive; `errors` as in `read_lines`."""
    from nmt.data.lines import read_lines

    if path is not None:
        return read_lines(path, errors)
    # Detached: a thread may still wait in a read when the program ends, and Python would abort on closing
    # sys.stdin then.
    return read_lines(sys.stdin.detach(), errors, name="stdin")  # type: ignore[union-attr]


def only_one(own: dict[str, Any], first: str, second: str) -> None:
    """Raise if both of two settings that exclude each other are given."""
    if own[first] is not None and own[second] is not None:
        raise NMTError(f"{first}={own[first]} and {second}={own[second]}: give one of them")
