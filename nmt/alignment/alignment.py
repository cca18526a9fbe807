"""A sentence pair's words and how much attention each target word pays to each source word."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nmt.data.links import Link

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Alignment:
    """The alignment of `source` words (S) and `target` words (T).

    `weights` (T, S), float64: row t says how target word t spreads over the source words. Each row sums to 1
    without end-of-sentence, whose share of the attention stands in `eos` (T,); a row that attended to nothing
    but end-of-sentence is all zeros with 1 in `eos`. `links` are (source, target) positions from 0.
    """

    source: list[str]
    target: list[str]
    weights: np.ndarray
    eos: np.ndarray
    links: list[Link]

    @classmethod
    def of(
        cls,
        source: Sequence[str],
        target: Sequence[str],
        weights: np.ndarray,
        eos: np.ndarray | None = None,
        links: Iterable[Link] | None = None,
    ) -> Alignment:
        """The alignment with raw `weights` (T, S) of words, whose rows are renormalised here.

        `eos` (T,) is the attention that end-of-sentence drew on the same scale (none by default). `links` are
        each row's argmax by default; a row of zeros has none.
        """
        weights = np.asarray(weights, dtype=np.float64).reshape(len(target), len(source))
        eos = np.zeros(len(target)) if eos is None else np.asarray(eos, dtype=np.float64)
        words = weights.sum(axis=1)
        everything = words + eos
        weights = np.divide(weights, words[:, None], out=np.zeros_like(weights), where=words[:, None] > 0)
        share = np.divide(eos, everything, out=np.zeros_like(eos), where=everything > 0)
        links = argmax_links(weights) if links is None else sorted(links)
        return cls(list(source), list(target), weights, share, links)

    def with_links(self, links: Iterable[Link]) -> Alignment:
        """The same with other links."""
        return replace(self, links=sorted(links))

    def plot(self, axes: Axes, numbers: bool | None = None) -> None:
        """Draw the matrix as a heat map on matplotlib `axes`: source words on top, target words at the left.

        `numbers` writes each weight into its cell; by default where they fit.
        """
        from nmt.alignment.plot import draw

        draw(self, axes, numbers)

    def text(self, width: int | None = None) -> str:
        """The matrix for a terminal: shades and numbers, in blocks of columns where wider than `width`."""
        from nmt.alignment.text import matrix_text

        return matrix_text(self, width)

    def to_json(self) -> dict[str, Any]:
        """The object that `format=json` writes; weights rounded to 8 decimals."""
        return {
            "source": self.source,
            "target": self.target,
            "weights": self.weights.round(8).tolist(),
            "eos": self.eos.round(8).tolist(),
            "links": [list(link) for link in self.links],
        }


def argmax_links(weights: np.ndarray) -> list[Link]:
    """Each row's largest weight (the first of equals) as a link; rows of zeros give none."""
    if weights.shape[1] == 0:
        return []
    links = zip(weights.argmax(axis=1).tolist(), range(len(weights)), strict=True)
    return sorted(link for link in links if weights[link[1], link[0]] > 0)
