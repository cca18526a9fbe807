"""Batches of padded ids, and the order in which training sees them.

Shapes: **B** batch (sentences), **S** source length and **T** target length (tokens, </s> or <s> included).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from nmt.data.pieces import BOS_ID, EOS_ID, PAD_ID
from nmt.errors import NMTError

_BLUR = 3  # tokens: how finely pairs of equal larger side are sorted by the other; finer batches mix less


class Batch(NamedTuple):
    """Pairs side by side. Masks: true = a token, false = padding."""

    src: Tensor  # (B, S) int64: x1..xn </s>, then <pad>
    src_mask: Tensor  # (B, S) bool
    tgt_in: Tensor  # (B, T) int64: <s> y1..ym, then <pad>
    tgt_out: Tensor  # (B, T) int64: y1..ym </s>, then <pad>
    tgt_mask: Tensor  # (B, T) bool
    indices: list[int]  # (B): rows of the encoded corpus
    num_target_tokens: int  # </s> included, <s> not
    links: Tensor | None = None  # (3, L) int64: sentence, target and source position of each link of pieces

    def to(self, device: torch.device | str) -> "Batch":
        src, src_mask, tgt_in, tgt_out, tgt_mask = (
            tensor.to(device, non_blocking=True) for tensor in self[:5]
        )
        links = None if self.links is None else self.links.to(device, non_blocking=True)
        return Batch(src, src_mask, tgt_in, tgt_out, tgt_mask, self.indices, self.num_target_tokens, links)

    def split(self, number: int) -> list["Batch"]:
        """`number` batches of like lengths, some perhaps empty: in turns each gets a sentence."""
        return [self._every(number, first) for first in range(number)]

    def _every(self, step: int, first: int) -> "Batch":
        src_mask, tgt_mask = self.src_mask[first::step], self.tgt_mask[first::step]
        longest_src, longest_tgt = (
            int(mask.sum(1).max()) if len(mask) else 0 for mask in (src_mask, tgt_mask)
        )
        src = self.src[first::step, :longest_src]
        tgt_in, tgt_out = (ids[first::step, :longest_tgt] for ids in (self.tgt_in, self.tgt_out))
        links = self.links
        if links is not None:
            links = links[:, links[0] % step == first]
            links = torch.stack([links[0] // step, links[1], links[2]])
        return Batch(
            src, src_mask[:, :longest_src], tgt_in, tgt_out, tgt_mask[:, :longest_tgt],
            self.indices[first::step], int(tgt_mask.sum()), links,
        )  # fmt: skip


class Pairs(Protocol):
    """What batches are made from: an EncodedCorpus, or anything alike."""

    src_lengths: NDArray[np.int32]
    tgt_lengths: NDArray[np.int32]

    def __getitem__(self, row: int) -> tuple[ArrayLike, ...]: ...


def make_batch(pairs: Sequence[tuple[ArrayLike, ...]], indices: Sequence[int] | None = None) -> Batch:
    """A batch of (source ids, target ids), both without <s> and </s>; `indices` are by default 0, 1, …

    A third member of each pair, where there is one, holds its links (L, 2): target and source position.
    """
    src, src_mask = make_source_batch([pair[0] for pair in pairs])
    tgt_out, tgt_mask = make_source_batch([pair[1] for pair in pairs])
    tgt_in = torch.full_like(tgt_out, PAD_ID)
    tgt_in[:, 0] = BOS_ID
    tgt_in[:, 1:] = tgt_out[:, :-1].masked_fill(~tgt_mask[:, 1:], PAD_ID)
    rows = list(range(len(pairs))) if indices is None else [int(row) for row in indices]
    links = _joined_links([pair[2] for pair in pairs]) if pairs and len(pairs[0]) > 2 else None
    return Batch(src, src_mask, tgt_in, tgt_out, tgt_mask, rows, int(tgt_mask.sum()), links)


def _joined_links(links: Sequence[ArrayLike]) -> Tensor:
    """Links (3, L) of a batch from those (L, 2) of each of its sentences."""
    each = [np.asarray(pairs, dtype=np.int64).reshape(-1, 2) for pairs in links]
    sentences = np.repeat(np.arange(len(each)), [len(pairs) for pairs in each])
    return torch.from_numpy(np.vstack([sentences, np.concatenate(each).T]))


def make_source_batch(sources: Sequence[ArrayLike]) -> tuple[Tensor, Tensor]:
    """Ids (B, S) and mask (B, S) of sequences of ids, each with </s> at its end."""
    lengths = np.array([len(source) + 1 for source in sources], dtype=np.int64)  # type: ignore[arg-type]
    width = int(lengths.max(initial=1))
    ids = np.full((len(sources), width), PAD_ID, dtype=np.int64)
    for row, source in enumerate(sources):
        end = lengths[row] - 1
        ids[row, :end] = source
        ids[row, end] = EOS_ID
    return torch.from_numpy(ids), torch.from_numpy(np.arange(width) < lengths[:, None])


def batches_by_length(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Positions in batches of similar lengths, longest first, of at most `budget` padded tokens each."""
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lambda position: -lengths[position]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > budget:
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


class TrainBatches:
    """The batches of each epoch, a pure function of `seed` and the epoch's number.

    Pairs of like lengths share a batch: as many as fit in `batch_tokens`, which counts the padded tokens of
    the larger side, B * max(S, T). A pair that alone exceeds it is a batch of its own. Each epoch deals pairs
    of like lengths out anew and orders the batches anew; how many there are stays.
    """

    def __init__(self, corpus: Pairs, batch_tokens: int, seed: int) -> None:
        if batch_tokens < 1:
            raise NMTError(f"training.batch_tokens={batch_tokens}: give a number of tokens, 1 or more")
        self._corpus = corpus
        self._seed = seed
        src, tgt = corpus.src_lengths.astype(np.int64) + 1, corpus.tgt_lengths.astype(np.int64) + 1
        self._larger = np.maximum(src, tgt)
        self._difference = src - tgt
        self._bounds = _cut(np.sort(self._larger), batch_tokens)

    def __len__(self) -> int:
        """How many batches an epoch has."""
        return len(self._bounds) - 1

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """The batches of epoch `number` (from 0), without the first `start`, which cost no time."""
        random = np.random.default_rng([self._seed, number])
        order = random.permutation(len(self._larger))
        difference = self._difference[order] + random.integers(0, _BLUR, len(order))
        order = order[np.lexsort((difference, self._larger[order]))]
        for batch in random.permutation(len(self))[start:]:
            rows = order[self._bounds[batch] : self._bounds[batch + 1]]
            yield make_batch([self._corpus[row] for row in rows.tolist()], rows.tolist())


def _cut(lengths: NDArray[np.int64], batch_tokens: int) -> list[int]:
    """Where batches of at most `batch_tokens` padded tokens begin in ascending `lengths`, and the end."""
    bounds = [0]
    while bounds[-1] < len(lengths):
        start = bounds[-1]
        window = lengths[start : start + batch_tokens // int(lengths[start])]
        fitting = int(np.searchsorted(window * np.arange(1, len(window) + 1), batch_tokens, side="right"))
        bounds.append(start + max(1, fitting))
    return bounds
