"""What somebody probably meant: the valid name nearest to a mistyped one."""

from collections.abc import Iterable
from difflib import SequenceMatcher

_FEW = 20  # names that still fit into an error message
_ALIKE = 0.65  # share of two spellings that must agree


def did_you_mean(name: str, valid: Iterable[str]) -> str:
    """A clause that names the nearest of the `valid` names, plain or dotted, or all if they are few."""
    names = sorted(set(valid))
    parent = name.rpartition(".")[0]
    siblings = [other for other in names if parent and other.rpartition(".")[0] == parent]
    nearest = _nearest_ending(name, siblings) or _nearest(name, names) or _nearest_ending(name, names)
    if nearest:
        return f"did you mean {nearest}?"
    if not names:
        return "there is nothing to choose from"
    return f"choose from {', '.join(names)}" if len(names) <= _FEW else "see --help, or --cfg for all keys"


def _nearest(name: str, names: list[str]) -> str | None:
    """The one of `names` spelled most like `name`, if they are alike."""
    likeness, nearest = max(((_likeness(name, other), other) for other in names), default=(0.0, None))
    return nearest if likeness >= _ALIKE else None


def _nearest_ending(name: str, names: list[str]) -> str | None:
    """The one of `names` whose last component (after the dots) is spelled most like that of `name`."""
    endings = {other.rpartition(".")[2]: other for other in reversed(names)}
    ending = _nearest(name.rpartition(".")[2], list(endings))
    return endings[ending] if ending else None


def _likeness(name: str, other: str) -> float:
    """From 0 to 1; people also shorten: `bem` is near to `beam_size`, though less than to `beam`."""
    whole = SequenceMatcher(None, name, other).ratio()
    start = SequenceMatcher(None, name, other[: len(name) + 1]).ratio()
    return max(whole, 0.9 * start)
