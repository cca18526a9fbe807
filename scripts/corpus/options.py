"""What the slots of templates ask for: options, with weights where there is a choice."""

from __future__ import annotations

from functools import cache

Options = dict[str, str]
Slots = dict[str, object]  # the clauses and phrases drawn so far, by the label of their slot


@cache
def weights_of(text: str) -> dict[str, float]:
    """`present,past` or `present:3,past:1`."""
    parts = (part.partition(":") for part in text.split(","))
    return {key: float(weight or 1) for key, _, weight in parts}
