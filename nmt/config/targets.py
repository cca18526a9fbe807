"""From a config node to an object: `build` calls what `_target_` names, `check` names every fault beforehand.

A config may come out of a stranger's run directory, so it is code. What is judged is therefore the object
that a dotted path leads to, not its spelling (`nmt.config.os.system` leads to `posix.system`), and that same
object is called. Nodes are Hydra's: `_target_`, `_partial_: true`, nested nodes inside.
"""

import functools
import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any, get_type_hints

from nmt.config.nearest import did_you_mean
from nmt.config.types import describe, fits
from nmt.errors import NMTError

if TYPE_CHECKING:
    from omegaconf import DictConfig

_ALLOWED = {"nmt", "torch.optim"}  # modules, with everything below them
_REFUSED = {"nmt.cli", "nmt.config", "nmt.experiment", "nmt.files"}  # what acts or grants, and is no part
_RESERVED = {"_target_", "_partial_"}


def allow(*modules: str) -> None:
    """Let configs call what lies in `modules` too; for the user to say, never for a config."""
    _ALLOWED.update(modules)


def build(config: "DictConfig | Mapping[str, Any]", **parts: Any) -> Any:
    """What `config` describes: its target called with its values and with `parts`, which come ready-made.

    Nested nodes are built first. With `_partial_: true` the result is a callable that waits for the rest.
    Raises `NMTError` where a target is unknown or lies outside the allowed modules.
    """
    node = _plain(config)
    for _, inner in _targets(node, ""):
        locate(inner["_target_"])
    return _build(node, parts)


def _build(node: Any, parts: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_build(item, {}) for item in node]
    if not isinstance(node, dict):
        return node
    values = {key: _build(value, {}) for key, value in node.items() if key not in _RESERVED}
    if "_target_" not in node:
        return values
    values.update(parts)
    target = locate(node["_target_"])
    return functools.partial(target, **values) if node.get("_partial_") else target(**values)


def check(config: "DictConfig | Mapping[str, Any]") -> None:
    """Raise one `NMTError` naming all faults of `config`: missing values, targets, arguments, their types.

    Arguments that are not given may still come as ready-made parts, so only names and values are judged.
    """
    faults = [f"{key}=???: needs a value" for key in _missing(_plain(config, resolve=False), "")]
    node = _plain(config, resolve=not faults)  # what hangs on a missing value cannot be resolved
    for path, inner in _targets(node, ""):
        try:
            target = locate(inner["_target_"])
        except NMTError as error:
            faults.append(str(error))
        else:
            faults.extend(list(_argument_faults(target, inner, path)) or _value_faults(target, inner))
    if faults:
        raise NMTError("; ".join(faults))


def with_defaults(config: "DictConfig | Mapping[str, Any]") -> dict[str, Any]:
    """The values of `config`, and of plain settings of its target that it does not name the defaults."""
    node = dict(_plain(config))
    if "_target_" not in node:
        return node
    parameters = inspect.signature(locate(node["_target_"])).parameters.values()
    plain = (type(None), bool, int, float, str)
    defaults = {each.name: each.default for each in parameters if isinstance(each.default, plain)}
    return {**defaults, **node}


def locate(path: str) -> Callable[..., Any]:
    """The class or function at the dotted `path`, if it and its name lie in an allowed module."""
    if not isinstance(path, str) or not _is_allowed(path):
        raise NMTError(f"_target_={path}: configs may only call {_allowed_text()}; {_remedy(path)}")
    found = _follow(path)
    module = getattr(found, "__module__", None)
    plain = "." not in getattr(found, "__qualname__", ".")  # no methods: a config describes, it does not act
    if not (callable(found) and plain and isinstance(module, str) and _is_allowed(module)):
        raise NMTError(
            f"_target_={path}: this leads to {module or type(found).__name__}, and configs may only call "
            f"classes and functions of {_allowed_text()}; {_remedy(module)}"
        )
    return found


def _follow(path: str) -> Any:
    """The object at `path`: the longest prefix that is a module is imported, the rest are attributes."""
    names = path.split(".")
    for length in range(len(names) - 1, 0, -1):
        module = ".".join(names[:length])
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise NMTError(f"_target_={path}: needs {error.name}, which is not installed") from error
            continue
        for name in names[length:]:
            if not hasattr(found, name):
                public = [valid for valid in dir(found) if not valid.startswith("_")]
                raise NMTError(f"_target_={path}: {module} has no {name}, {did_you_mean(name, public)}")
            found = getattr(found, name)
        return found
    raise NMTError(f"_target_={path}: there is no such module; give the dotted path of a class or function")


def _argument_faults(target: Callable[..., Any], node: Mapping[str, Any], path: str) -> Iterator[str]:
    parameters = inspect.signature(target).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    hints = _hints(target)
    for key, value in node.items():
        if key in _RESERVED:
            continue
        full = f"{path}.{key}" if path else key
        if key not in parameters:
            yield f"{full}: {node['_target_']} takes no {key}, {did_you_mean(key, parameters)}"
        elif key in hints and not _is_open(value) and not fits(value, hints[key]):
            yield f"{full}={value}: expected {describe(hints[key])}"


def _is_open(value: Any) -> bool:
    """Whether `value` is missing or hangs on one that is."""
    return isinstance(value, str) and (value == "???" or "${" in value)


def _value_faults(target: Callable[..., Any], node: Mapping[str, Any]) -> list[str]:
    """What plain settings (a data class) say against their own values when they are made."""
    if not is_dataclass(target) or node.get("_partial_") or any(map(_is_open, node.values())):
        return []
    try:
        target(**{key: value for key, value in node.items() if key not in _RESERVED})
    except NMTError as error:
        return [str(error)]
    return []


def _hints(target: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of the arguments of `target`; none where they cannot be evaluated."""
    made_by_init = (
        inspect.isclass(target) and target.__init__ is not object.__init__ and tuple not in target.__mro__
    )
    try:
        return get_type_hints(target.__init__ if made_by_init else target)  # a named tuple is made by __new__
    except (NameError, TypeError):
        return {}


def _targets(node: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every node with a `_target_`, outermost first, with its dotted path."""
    if isinstance(node, dict) and "_target_" in node:
        yield path, node
    for key, value in _children(node):
        yield from _targets(value, f"{path}.{key}" if path else key)


def _missing(node: Any, path: str) -> Iterator[str]:
    """The dotted paths of the values still to be given."""
    if node == "???":
        yield path
    for key, value in _children(node):
        yield from _missing(value, f"{path}.{key}" if path else key)


def _children(node: Any) -> list[tuple[str, Any]]:
    if isinstance(node, dict):
        return [(str(key), value) for key, value in node.items()]
    return [(str(index), value) for index, value in enumerate(node)] if isinstance(node, list) else []


def _plain(config: "DictConfig | Mapping[str, Any]", resolve: bool = True) -> Any:
    """`config` as dicts and lists, interpolations resolved if asked for."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    if not OmegaConf.is_config(config):
        return config
    try:
        return OmegaConf.to_container(config, resolve=resolve)
    except OmegaConfBaseException as error:
        raise NMTError(" ".join(str(error).split())) from error


def _is_allowed(module: str) -> bool:
    def below(parents: set[str]) -> bool:
        return any(f"{module}.".startswith(f"{parent}.") for parent in parents)

    return below(_ALLOWED) and not below(_REFUSED)


def _allowed_text() -> str:
    return ", ".join(sorted(_ALLOWED))


def _remedy(module: Any) -> str:
    return f"if you wrote it or trust it, add allow_modules={str(module).partition('.')[0]}"
