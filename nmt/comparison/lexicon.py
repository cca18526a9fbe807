"""A word lexicon out of sentence pairs: IBM model 1 (Brown et al. 1993, section 4.2).

t(f | e) is the probability that the source word e, or the empty word, becomes f. Expectation maximisation
starts where all are alike.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

_ITERATIONS = 5
_EMPTY = ""
_SHIFT = 32  # bits: a pair of words is one number, the target word's above the source word's

Codes = NDArray[np.int64]


class Lexicon:
    """What `pairs` of (source, target) words teach."""

    def __init__(self, pairs: Iterable[tuple[Sequence[str], Sequence[str]]]) -> None:
        sources: dict[str, int] = {}
        targets: dict[str, int] = {}
        tables = []  # of each pair: a row for each target word, a column for the empty and each source word
        for source, target in pairs:
            columns = [sources.setdefault(word, len(sources)) for word in (_EMPTY, *source)]
            rows = [targets.setdefault(word, len(targets)) for word in target]
            tables.append(_codes(rows, columns))
        self._sources, self._targets = sources, targets
        self._known, self._probabilities = _learn(tables)

    def covered(self, source: Sequence[str], target: Sequence[str]) -> set[int]:
        """The positions of the `source` words that some `target` word most probably comes from.

        A word that stands on both sides alike comes from itself.
        """
        found = {place for place, word in enumerate(source) if word in target}
        rows = [self._targets[word] for word in target if word in self._targets and word not in source]
        if rows:
            unknown = np.array([word not in self._sources for word in (_EMPTY, *source)])
            codes = _codes(rows, [self._sources.get(word, 0) for word in (_EMPTY, *source)])
            places = np.searchsorted(self._known, codes).clip(max=len(self._known) - 1)
            is_known = (self._known[places] == codes) & ~unknown
            best = np.where(is_known, self._probabilities[places], 0.0).argmax(axis=1)
            found.update((best[best > 0] - 1).tolist())
        return found


def _codes(rows: list[int], columns: list[int]) -> Codes:
    """Codes (T, S + 1) of every target word with every source word."""
    return (np.array(rows, dtype=np.int64)[:, None] << _SHIFT) | np.array(columns, dtype=np.int64)


def _learn(tables: list[Codes]) -> tuple[Codes, NDArray[np.float64]]:
    """The codes of all pairs of words that met, sorted, and the probability of each."""
    tables = [table for table in tables if table.size]
    if not tables:
        return np.array([-1]), np.zeros(1)
    known, places = np.unique(np.concatenate([table.ravel() for table in tables]), return_inverse=True)
    lengths = [table.shape[1] for table in tables for _ in range(len(table))]
    rows = np.repeat(np.arange(len(lengths)), lengths)
    sources = known & ((1 << _SHIFT) - 1)
    probabilities = np.ones(len(known))
    for _ in range(_ITERATIONS):
        weights = probabilities[places]
        weights /= np.bincount(rows, weights)[rows]
        counts = np.bincount(places, weights, minlength=len(known))
        probabilities = counts / np.bincount(sources, counts)[sources]
    return known, probabilities
