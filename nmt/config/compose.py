"""One config from the YAML files and a command line, whose mistakes are explained in one line."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt.config.literal import quote_literal, split_override
from nmt.config.nearest import did_you_mean
from nmt.config.places import config_dir
from nmt.config.types import describe, fits
from nmt.errors import NMTError

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override
    from omegaconf import DictConfig


def compose(command: str, overrides: Iterable[str] = (), folders: Sequence[Path] = ()) -> "DictConfig":
    """The config of `command` (`train`, ...) under `overrides` (`key=value`, as a user types them).

    `folders` hold further YAML files, searched first. Raises `NMTError` naming every mistyped key or option.
    """
    from hydra import compose as compose_config
    from hydra import initialize_config_dir
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    typed = list(overrides)
    prepared = prepare(command, typed)
    faults = _faults(command, typed, folders)
    if faults:
        raise NMTError("; ".join(faults))
    try:
        with initialize_config_dir(str(config_dir()), version_base="1.3"):
            config = compose_config(command, [*prepared, *_search_path(folders)])
    except (HydraException, OmegaConfBaseException) as error:
        raise NMTError(_explain(command, typed, folders, error)) from error
    _check_types(command, config)
    return config


def prepare(command: str, overrides: Iterable[str]) -> list[str]:
    """`overrides` as Hydra must get them: literal values quoted; for training, defaults that fit the data."""
    literal = [quote_literal(override) for override in overrides]
    return [*_data_defaults(literal), *literal] if command == "train" else literal


def _data_defaults(overrides: list[str]) -> list[str]:
    """The groups that other data than the built-in corpus, or another model than the demo's, imply, where the
    user does not choose them.
    """
    chosen = dict(split_override(override) for override in overrides)
    own_files = any(key.startswith("data.train.") for key in chosen)
    defaults = []
    if own_files and "data" not in chosen:
        defaults.append("data=files")
    if "experiment" in chosen:
        return defaults
    if own_files or chosen.get("data", "en_fr") != "en_fr":
        defaults.append("experiment=default")
    elif "transformer" in (chosen.get("model") or ""):
        defaults.append("experiment=transformer_demo")
    return defaults


def parse(overrides: Iterable[str]) -> list["Override"]:
    """`overrides` (already `prepare`d) read by Hydra's grammar."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    parser, parsed = OverridesParser.create(), []
    for override in overrides:
        try:
            parsed.append(parser.parse_override(override))
        except HydraException as error:
            raise NMTError(
                f"{override}: cannot be read; write key=value, and quote a value that holds more "
                f"than letters, digits and ./-_ (in a shell: 'key=\"value\"')"
            ) from error
    return parsed


def override(config: "DictConfig", overrides: Iterable[str]) -> "DictConfig":
    """A copy of `config` (a run's, say) with the values that `overrides` give to keys it has."""
    from omegaconf import OmegaConf

    changed, keys = config.copy(), set(_flat_keys(config))
    for text in overrides:
        change = parse([quote_literal(text)])[0]
        key = change.key_or_group
        if key not in keys:
            raise NMTError(f"{text}: there is no {key} here, {did_you_mean(key, keys)}")
        OmegaConf.update(changed, key, change.value())
    return changed


def groups(folders: Sequence[Path] = ()) -> dict[str, set[str]]:
    """The groups of configs and the options of each: folders, and the YAML files in them."""
    found: dict[str, set[str]] = {}
    for root in (config_dir(), *folders):
        for file in root.glob("*/**/*.yaml"):
            found.setdefault(file.parent.relative_to(root).as_posix(), set()).add(file.stem)
    return found


def _search_path(folders: Sequence[Path]) -> list[str]:
    paths = ",".join(quote_literal(f"path=file://{folder.resolve()}").partition("=")[2] for folder in folders)
    return [f"hydra.searchpath=[{paths}]"] if folders else []


def _faults(command: str, overrides: list[str], folders: Sequence[Path]) -> list[str]:
    """What is wrong with the form of `overrides`, and with the options they choose."""
    for text in overrides:
        if "=" not in text and not text.startswith("~"):
            raise NMTError(f"{text}: an argument must be key=value or an option such as --help")
    options, faults = groups(folders), []
    for text, change in zip(overrides, parse(map(quote_literal, overrides)), strict=True):
        key, value = change.key_or_group, change.value()
        if key.partition(".")[0].partition("/")[0] == "hydra":
            faults.append(f"{text}: Hydra's own settings are fixed here; a run's folder is run_dir")
        elif change.is_sweep_override():
            several = f"; for a run each: nmt-train -m {text}" if command == "train" else ""
            faults.append(f"{text}: takes one value{several}")
        elif key in options and isinstance(value, list):
            faults.append(f"{text}: takes one option, not a list")
        elif key in options and isinstance(value, str) and value not in options[key]:
            faults.append(f"{text}: there is no {key} {value}, {did_you_mean(value, options[key])}")
    return faults


def _explain(command: str, overrides: list[str], folders: Sequence[Path], error: Exception) -> str:
    """One line for an error of Hydra's: the unknown keys and the nearest valid ones, else its own words."""
    options = groups(folders)
    choices = [text for text in overrides if split_override(text)[0] in options]
    if len(choices) < len(overrides):
        keys = set(_flat_keys(compose(command, choices, folders)))
        faults = [
            f"{text}: there is no {key}, {did_you_mean(key, keys | set(options))}"
            for text in overrides
            if (key := split_override(text)[0]) not in keys | set(options) and not text.startswith("+")
        ]
        if faults:
            return "; ".join(faults)
    return " ".join(str(error).split())


def _flat_keys(config: "DictConfig", prefix: str = "") -> list[str]:
    """The dotted keys of `config`, nodes and leaves, without what only `build` reads."""
    from omegaconf import DictConfig

    keys = []
    for name, value in config.items_ex(resolve=False):
        if name not in ("_target_", "_partial_"):
            keys.append(f"{prefix}{name!s}")
        if isinstance(value, DictConfig) and not value._is_none() and not value._is_interpolation():
            keys.extend(_flat_keys(value, f"{prefix}{name!s}."))
    return keys


def _check_types(command: str, config: "DictConfig") -> None:
    """Hold the command's own settings against their defaults: a number stays a number, a switch a switch."""
    from omegaconf import OmegaConf

    defaults: Any = OmegaConf.load(config_dir() / f"{command}.yaml")
    faults = []
    for key, default in defaults.items():
        value = config.get(key)
        if isinstance(default, bool | int | float) and not fits(value, type(default)):
            faults.append(f"{key}={value}: expected {describe(type(default))}")
    if faults:
        raise NMTError("; ".join(faults))
