"""From attention between pieces to attention between words.

A source word draws the sum of what its pieces draw: they are parts of one target of attention. A target word
looks where its pieces look: on average, or as the first of them, or at most.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

TargetFold = Literal["mean", "first", "max"]


class WordWeights(NamedTuple):
    """Attention between words, as it was paid: not renormalised."""

    weights: np.ndarray  # (target words, source words)
    eos: np.ndarray  # (target words,): what end-of-sentence drew


def fold_pieces(
    weights: np.ndarray,
    source_words: Sequence[int],
    num_source_words: int,
    target_words: Sequence[int],
    num_target_words: int,
    target_fold: TargetFold = "mean",
) -> WordWeights:
    """Fold attention `weights` (T + 1, S + 1) between T target and S source pieces into words.

    The last row predicts end-of-sentence and is dropped; the last column is the source's end-of-sentence.
    `source_words` (S) and `target_words` (T) name the word of each piece. A word without pieces has zeros.
    """
    weights = np.asarray(weights, dtype=np.float64)
    expected = (len(target_words) + 1, len(source_words) + 1)
    if weights.shape != expected:
        raise ValueError(f"weights of shape {weights.shape} for pieces that need {expected}")
    columns = np.zeros((expected[1], num_source_words + 1))
    columns[np.arange(expected[1]), [*source_words, num_source_words]] = 1
    folded = _fold_rows(
        weights[:-1] @ columns, np.asarray(target_words, dtype=int), num_target_words, target_fold
    )
    return WordWeights(folded[:, :-1], folded[:, -1])


def _fold_rows(rows: np.ndarray, words: np.ndarray, num_words: int, fold: TargetFold) -> np.ndarray:
    """One row a word (num_words, C) from one row a piece (T, C), whose word is in `words` (T,)."""
    folded = np.zeros((num_words, rows.shape[1]))
    if fold == "max":
        np.maximum.at(folded, words, rows)
    elif fold == "first":
        present, first = np.unique(words, return_index=True)
        folded[present] = rows[first]
    else:
        np.add.at(folded, words, rows)
        folded /= np.maximum(np.bincount(words, minlength=num_words), 1)[:, None]
    return folded
