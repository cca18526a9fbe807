"""What a hypothesis may not do: small rules that set logits to -inf before search or sampling chooses.

A rule sees the tokens that hypotheses consist of so far and nothing else of the search, so that it holds for
beams and samples alike, and costs of the tokens that stay possible are the model's own.

Shapes: **B** sentences still running, **K** hypotheses a sentence, **T** tokens so far, **S** source length,
**V** target vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from nmt.data.pieces import EOS_ID, PAD_ID
from nmt.errors import NMTError


class Past(NamedTuple):
    """Of each hypothesis: its tokens so far and how much it attended to each source position."""

    tokens: Tensor  # (B, K, T)
    coverage: Tensor | None  # (B, K, S): summed weights; None where nobody asks for them

    def seen(self, weights: Tensor | None) -> "Past":
        """After one more look, `weights` (B, K, S), at the source."""
        if self.coverage is None:
            return self
        if weights is None:
            raise NMTError(
                "search.coverage_penalty needs attention, which this model has none of: set it to 0"
            )
        return self._replace(coverage=self.coverage + weights)

    def extended(self, parents: Tensor, tokens: Tensor) -> "Past":
        """The past of hypotheses (B, K'), which go on from `parents` (B, K') with `tokens` (B, K')."""

        def follow(values: Tensor) -> Tensor:
            return values.gather(1, parents.unsqueeze(2).expand(-1, -1, values.shape[2]))

        extended = torch.cat([follow(self.tokens), tokens.unsqueeze(2)], dim=2)
        return Past(extended, None if self.coverage is None else follow(self.coverage))

    def select(self, sentences: Tensor) -> "Past":
        """That of the `sentences` (B',) alone."""
        return Past(self.tokens[sentences], None if self.coverage is None else self.coverage[sentences])


class Constraint(Protocol):
    """A rule about the next token. `extra_length` (whole batch): tokens it adds, beyond the usual limit."""

    extra_length: Tensor | int

    def forbid(self, logits: Tensor, past: Past, sentences: Tensor) -> None:
        """Set `logits` (B, K, V) of impossible tokens to -inf, in place.

        `sentences` (B,) are the places of the sentences still running in the whole batch.
        """


@dataclass(frozen=True)
class Lengths:
    """How many tokens a translation may have, the end of sentence not counted; S counts source tokens.

    At most `max_length_ratio` * S + `max_length_offset`, and at most `max_length` if that is given; at least
    `min_length_ratio` * S and at least `min_length`, unless that is more than the most.
    """

    max_length_ratio: float
    max_length_offset: int
    max_length: int | None
    min_length_ratio: float
    min_length: int

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and value < 0:
                raise NMTError(f"search.{name}={value}: a length cannot be negative")

    def bounds(self, mask: Tensor, extra: Tensor | int = 0) -> tuple[Tensor, Tensor]:
        """The least and the most (B,) for sources with `mask` (B, S); `extra` tokens (B,) may be added."""
        lengths = mask.sum(dim=1) - 1  # the end of sentence is no word
        most = (self.max_length_ratio * lengths).long() + self.max_length_offset
        if self.max_length is not None:
            most = most.clamp(max=self.max_length)
        most = most.clamp(min=1) + extra
        least = (self.min_length_ratio * lengths).long().clamp(min=self.min_length)
        return torch.minimum(least, most), most


def extra_length(constraints: Sequence[Constraint]) -> Tensor | int:
    """The tokens (B,) that `constraints` add to sentences, all together."""
    total: Tensor | int = 0
    for constraint in constraints:
        total = total + constraint.extra_length
    return total


class WithinLengths:
    """No end before `least` (B,) tokens, and nothing but the end after `most` (B,)."""

    extra_length: Tensor | int = 0

    def __init__(self, least: Tensor, most: Tensor) -> None:
        self.least = least
        self.most = most
        self._first_end = int(most.min()) if most.numel() else 0  # before it all may go on

    def forbid(self, logits: Tensor, past: Past, sentences: Tensor) -> None:
        length = past.tokens.shape[2]
        too_short = length < self.least[sentences]
        logits[:, :, EOS_ID].masked_fill_(too_short[:, None], -torch.inf)
        if length < self._first_end:  # spares a pass over all logits
            return
        must_end = length >= self.most[sentences]
        others = torch.arange(logits.shape[2], device=logits.device) != EOS_ID
        logits.masked_fill_(must_end[:, None, None] & others, -torch.inf)


class NoRepeatedNgrams:
    """No `size` tokens in a row twice (Paulus et al. 2018, section 2.5)."""

    extra_length: Tensor | int = 0

    def __init__(self, size: int) -> None:
        self.size = size

    def forbid(self, logits: Tensor, past: Past, sentences: Tensor) -> None:
        tokens = past.tokens
        if tokens.shape[2] < self.size:
            return
        ngrams = tokens.unfold(2, self.size, 1)  # (B, K, T - size + 1, size)
        begun = tokens[:, :, tokens.shape[2] - self.size + 1 :].unsqueeze(2)
        again = (ngrams[..., :-1] == begun).all(dim=3)
        logits.scatter_(2, torch.where(again, ngrams[..., -1], PAD_ID), -torch.inf)


class ForcedPrefix:
    """Translations begin with given tokens, one row of `prefixes` a sentence of the batch."""

    def __init__(self, prefixes: Sequence[Sequence[int]], device: torch.device) -> None:
        self._lengths = torch.tensor([len(prefix) for prefix in prefixes], device=device)
        self.extra_length: Tensor | int = self._lengths
        self._tokens = torch.full((len(prefixes), int(self._lengths.max())), EOS_ID, device=device)
        for row, prefix in zip(self._tokens, prefixes, strict=True):
            row[: len(prefix)] = torch.tensor(prefix, dtype=torch.long, device=device)

    def forbid(self, logits: Tensor, past: Past, sentences: Tensor) -> None:
        length = past.tokens.shape[2]
        if length >= self._tokens.shape[1]:
            return
        forced = self._lengths[sentences] > length
        others = torch.arange(logits.shape[2], device=logits.device) != self._tokens[sentences, length, None]
        logits.masked_fill_((forced[:, None] & others).unsqueeze(1), -torch.inf)
