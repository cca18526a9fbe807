"""Whether a value from a config fits the annotation of the argument it is meant for."""

import types
from enum import Enum
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "a text", type(None): "null"}


def fits(value: Any, annotation: Any) -> bool:
    """Whether `value` (plain data out of YAML) may stand for an argument annotated so; in doubt, yes."""
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return any(fits(value, member) for member in get_args(annotation))
    if origin is Literal:
        return value in get_args(annotation)
    if annotation is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if annotation is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if annotation in (bool, str):
        return isinstance(value, annotation)
    if annotation in (None, type(None)):
        return value is None
    if isinstance(value, dict):
        return True  # a nested part, checked by its own target
    if origin in (list, tuple, dict, set) or annotation in (list, tuple, dict, set):
        return isinstance(value, list) and (origin or annotation) is not dict
    if annotation is Path:
        return isinstance(value, str)
    if isinstance(annotation, type) and not issubclass(annotation, Enum):
        return not isinstance(value, int | float | str | bool | None)
    return True


def describe(annotation: Any) -> str:
    """`annotation` in a user's words."""
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        members = [describe(member) for member in get_args(annotation)]
        return " or ".join(sorted(set(members), key=lambda text: (text == "null", members.index(text))))
    if origin is Literal:
        return "one of " + ", ".join(str(choice) for choice in get_args(annotation))
    if origin in (list, tuple, set):
        return "a list"
    return _NAMES.get(annotation, getattr(annotation, "__name__", str(annotation)))
