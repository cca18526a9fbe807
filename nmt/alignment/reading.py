"""How attention between pieces is read as an alignment between words.

An alignment is a choice of several: which layer and head look (those of a Transformer differ a lot), at which
step of the decoder, how pieces fold into words, and which cells of the matrix count as links.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from nmt.alignment.alignment import Alignment, argmax_links
from nmt.alignment.fold import TargetFold, WordWeights, fold_pieces
from nmt.data.links import Link
from nmt.errors import NMTError

DecoderStep = Literal["predict", "read", "posterior"]


class PieceAttention(NamedTuple):
    """Attention between a sentence pair's pieces, as it was paid; the last row predicts end-of-sentence, the
    last column is the source's.
    """

    source: list[str]  # words
    target: list[str]
    source_words: list[int]  # the word of each piece (S)
    target_words: list[int]  # (T)
    weights: np.ndarray  # (T + 1, S + 1)
    heads: np.ndarray | None = None  # (L, N, T + 1, S + 1), where they were asked for and exist
    posterior: np.ndarray | None = None  # (T + 1, S + 1) of a hidden alignment, where there is one


@dataclass(frozen=True)
class Reading:
    """What of the attention counts.

    `layer` and `head` count from 1; without a head the mean of the layer's, without either what the model
    calls its weights. `step`: a target word is aligned at the decoder's step that predicts it, or at the next
    one, which reads it (shifted attention; Chen et al. 2020), or by the posterior of the hidden alignment
    that a decoder was trained with, where end-of-sentence stands for no word and lowers the others' weights
    before they meet the threshold. `fold`: over a target word's pieces.
    `threshold`: every weight at least so high is a link; without one, each row's highest.
    """

    layer: int | None = None
    head: int | None = None
    step: DecoderStep = "predict"
    fold: TargetFold = "mean"
    threshold: float | None = None

    def __post_init__(self) -> None:
        for name, choices in (("step", get_args(DecoderStep)), ("fold", get_args(TargetFold))):
            value = getattr(self, name)
            if value not in choices:
                raise NMTError(f"{name}={value}: choose {', '.join(choices[:-1])} or {choices[-1]}")
        if self.threshold is not None and not 0 < self.threshold <= 1:
            raise NMTError(f"threshold={self.threshold}: give a weight above 0, 1 at most")
        if self.step == "posterior" and self.layer is not None:
            raise NMTError(f"step=posterior and layer={self.layer}: give one of them")
        if self.head is not None and self.layer is None:
            raise NMTError(f"head={self.head}: needs layer= too, each counts from 1")

    @property
    def needs_heads(self) -> bool:
        """Whether single layers or heads are looked at."""
        return self.layer is not None

    @property
    def needs_forcing(self) -> bool:
        """Whether a translation has to be forced upon the model for it, after the search."""
        return self.needs_heads or self.step == "posterior"

    def text(self) -> str:
        """The reading as arguments of a command."""
        values = {name: getattr(self, name) for name in ("layer", "head", "step", "fold", "threshold")}
        return " ".join(f"{name}={'null' if value is None else value}" for name, value in values.items())

    def align(self, attention: PieceAttention) -> Alignment:
        """The alignment of words that `attention` between pieces means."""
        return self.alignment(attention.source, attention.target, self.fold_words(attention))

    def alignment(self, source: Sequence[str], target: Sequence[str], folded: WordWeights) -> Alignment:
        """The alignment with weights between words, and its links."""
        alignment = Alignment.of(source, target, *folded, links=())
        weights = alignment.weights
        if self.step == "posterior" and self.threshold is not None:
            weights = weights * (1 - alignment.eos)[:, None]
        return alignment.with_links(self.links(weights))

    def fold_words(self, attention: PieceAttention) -> WordWeights:
        """The weights between words, as they were paid."""
        rows = self.choose(attention)
        if self.step == "read":  # the row after a piece's own; what follows the last row is not looked at
            rows = np.concatenate([rows[1:], rows[-1:]])
        return fold_pieces(
            rows,
            attention.source_words,
            len(attention.source),
            attention.target_words,
            len(attention.target),
            self.fold,
        )

    def choose(self, attention: PieceAttention) -> np.ndarray:
        """The weights (T + 1, S + 1) of the layer and head that this reading looks at."""
        if self.step == "posterior":
            if attention.posterior is None:
                raise NMTError("step=posterior: this run was trained without decoder.hidden_alignment")
            return attention.posterior
        if self.layer is None:
            return attention.weights
        if attention.heads is None:
            raise NMTError(f"layer={self.layer}: this run's attention has no heads to choose among")
        num_layers, num_heads = attention.heads.shape[:2]
        for name, value, count in (("layer", self.layer, num_layers), ("head", self.head, num_heads)):
            if value is not None and not 1 <= value <= count:
                raise NMTError(f"{name}={value}: this run has {name}s 1 to {count}")
        layer = attention.heads[self.layer - 1]
        return layer.mean(axis=0) if self.head is None else layer[self.head - 1]

    def links(self, weights: np.ndarray) -> list[Link]:
        """The links of the rows `weights` (T, S), renormalised, between words."""
        if self.threshold is None:
            return argmax_links(weights)
        return sorted((int(source), int(target)) for target, source in np.argwhere(weights >= self.threshold))


def places(attention: PieceAttention) -> Iterator[Reading]:
    """A reading for every step, layer and head that `attention` can be read at."""
    for step in get_args(DecoderStep):
        if step != "posterior":
            yield from (Reading(layer, head, step) for layer, head in layers_and_heads(attention))
        elif attention.posterior is not None:
            yield Reading(step=step)


def layers_and_heads(attention: PieceAttention) -> Iterator[tuple[int | None, int | None]]:
    """Every (layer, head) that `attention` can be read at: the model's own, each layer's mean, each head."""
    yield None, None
    if attention.heads is not None:
        num_layers, num_heads = attention.heads.shape[:2]
        for layer in range(1, num_layers + 1):
            yield layer, None
            yield from ((layer, head) for head in range(1, num_heads + 1))
