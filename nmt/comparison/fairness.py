"""What runs differ in: whether a run is the one wanted, and whether runs may be compared.

A comparison is fair where variants differ in what is compared, and the runs of a variant in their seed.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nmt.comparison.systems import System, Variant
from nmt.config.flat import FREE, flat
from nmt.config.places import config_dir
from nmt.config.targets import with_defaults

if TYPE_CHECKING:
    from omegaconf import DictConfig

# What a run does not depend on: sets it neither trains nor validates on, and what only evaluation reads.
_IDLE = re.compile(
    r"worked_example|data\.(dir|cache_dir|protocol)$|data\.\w+\.(tags|references_tsv)$"
    r"|data\.(?!train\.|dev\.)\w+\.|" + "|".join(rf"{key}$" for key in sorted(FREE))
)
_FEW = 2  # variants of one value that a warning names one by one
_LIMITS = ("max_updates", "max_epochs", "max_minutes", "patience")  # of training
_CONDITIONS = (
    "nmt",
    "torch",
    "machine",
    "cpus",
    "threads",
    "gpus",
)  # of versions.json: what speeds depend on


def what_matters(config: "DictConfig") -> dict[str, Any]:
    """The flat values of a run's `config` that its result depends on.

    What has become a setting since the run was made counts with its default; null is as good as absent.
    """
    from omegaconf import DictConfig, OmegaConf

    completed = config.copy()
    for name, node in config.items():
        if isinstance(node, DictConfig) and "_target_" in node:
            completed[name] = with_defaults(node)
    top = OmegaConf.to_container(OmegaConf.load(config_dir() / "train.yaml"))
    assert isinstance(top, dict)
    del top["defaults"]
    values = {**top, **flat(completed)}
    return {key: value for key, value in values.items() if not _IDLE.match(key) and value is not None}


def fingerprint(config: "DictConfig", without: Iterable[str] = ()) -> str:
    """A digest of `what_matters` in `config`, but for the keys `without`."""
    values = what_matters(config)
    for key in without:
        values.pop(key, None)
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()


def differences(old: "DictConfig", new: "DictConfig") -> list[str]:
    """Where two configs differ in what matters, with both values."""
    return _unequal([what_matters(old), what_matters(new)], " and ")


def _unequal(configs: Sequence[Mapping[str, Any]], joint: str) -> list[str]:
    """A line for each key whose value is not the same in all of `configs`."""
    lines = []
    for key in sorted(set().union(*configs)):
        values = [_said(config.get(key, "absent")) for config in configs]
        if len(set(values)) > 1:
            lines.append(f"{key}: {joint.join(dict.fromkeys(values))}")
    return lines


def _said(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def settings_by_variant(variants: Sequence[Variant]) -> dict[str, list[str]]:
    """The settings that are not the same for all variants: for each key, the value of each variant."""
    configs = [variant.systems[0].config for variant in variants]
    found = {}
    for key in sorted(set().union(*configs) - {"seed"}):
        values = [_said(config.get(key, "–")) if config else "–" for config in configs]
        if len({value for value, config in zip(values, configs, strict=True) if config}) > 1:
            found[key] = values
    return found


def warnings(variants: Sequence[Variant], axes: Sequence[str]) -> list[str]:
    """One line for each thing beyond `axes` (config keys and groups) and seed in which runs differ."""
    runs = [variant for variant in variants if variant.systems[0].config]
    known = [axis for axis in axes if axis]
    settings = settings_by_variant(runs)
    parts = {key.removesuffix("._target_") for key in settings if key.endswith("._target_")}
    found = []
    for key, values in settings.items():
        part = key.removesuffix("._target_")
        if any(f"{key}.".startswith(f"{axis}.") for axis in known):
            continue
        if part == key and any(key.startswith(f"{other}.") for other in parts):
            continue  # other classes have other settings
        shown = values if part == key else [value.rpartition(".")[2] for value in values]
        found.append(f"{part} differs, too: {_by_value(shown, [run.name for run in runs])}")
    if not known and len({line.partition(".")[0].partition(" ")[0] for line in found}) == 1:
        found = []  # they differ in one thing only, which is what is compared
    systems = [system for run in runs for system in run.systems]
    return [*found, *_within(runs), *_seeds(runs), *_cut_short(systems), *_conditions(systems)]


def _by_value(values: Sequence[str], names: Sequence[str]) -> str:
    """Each of `values` with the `names` of those that have it; the most frequent one's are not all named."""
    named: dict[str, list[str]] = {}
    for value, name in zip(values, names, strict=True):
        named.setdefault(value, []).append(name)
    most = max(named, key=lambda value: len(named[value]))
    few = len(named[most]) <= _FEW
    return ", ".join(
        f"{value} ({', '.join(each) if few or value != most else 'the others'})"
        for value, each in sorted(named.items(), key=lambda item: not few and item[0] == most)
    )


def _within(variants: Sequence[Variant]) -> list[str]:
    """In what the runs of a variant differ besides the seed."""
    found = []
    for variant in variants:
        configs = [system.config for system in variant.systems]
        lines = [line for line in _unequal(configs, " and ") if not line.startswith("seed:")]
        found += [f"the runs of {variant.name} differ in more than the seed: {line}" for line in lines]
    return found


def _seeds(variants: Sequence[Variant]) -> list[str]:
    seeds = {variant.name: sorted(str(system.seed) for system in variant.systems) for variant in variants}
    if len({tuple(each) for each in seeds.values()}) < 2:
        return []
    listed = ", ".join(f"{name}: {' '.join(each)}" for name, each in seeds.items())
    return [f"not all have the same seeds ({listed})"]


def budget(variants: Sequence[Variant]) -> str | None:
    """How long runs may train, and on how much at once; None where they differ or none is a run."""
    configs = [system.config for variant in variants for system in variant.systems if system.config]
    names = ("batch_tokens", "accumulate", *_LIMITS)
    budgets = {
        ", ".join(
            f"{name}={config[key]}" for name in names if config.get(key := f"training.{name}") is not None
        )
        for config in configs
    }
    return f"budget of every run: {budgets.pop()}" if len(budgets) == 1 else None


def _cut_short(systems: Sequence[System]) -> list[str]:
    """A limit in minutes gives more updates to who is fast, or trained while the machine was idle."""
    limited = [system for system in systems if system.config.get("training.max_minutes") is not None]
    updates = sorted(int(system.facts["updates"]) for system in limited if "updates" in system.facts)
    if not updates or updates[0] == updates[-1]:
        return []
    return [
        f"training.max_minutes ended runs after {updates[0]} to {updates[-1]} updates: set a limit in updates"
    ]


def _conditions(systems: Sequence[System]) -> list[str]:
    """Differences of software and machine, which speeds depend on."""
    known = [
        {key: system.conditions[key] for key in _CONDITIONS if system.conditions.get(key) is not None}
        for system in systems
        if system.conditions
    ]
    if len(known) < 2:
        return []
    return [f"speeds were measured under different conditions: {line}" for line in _unequal(known, " and ")]
