"""Phrases that must appear in a translation: dynamic beam allocation (Post and Vilar 2018).

A hypothesis that has met more of its sentence's phrases stands in a higher bank. The beam is dealt out over
the banks in turn, the best of each first, so that hypotheses which say what they must are not crowded out by
likelier ones that do not; and only who has said everything may end.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from nmt.data.pieces import EOS_ID, PAD_ID
from nmt.decoding.constraints import Past

Phrase = tuple[int, ...]


class Progress(NamedTuple):
    """How far a hypothesis has come with its phrases."""

    bank: int  # tokens of phrases that it has said
    wanted: tuple[int, ...]  # tokens that would bring it on
    is_complete: bool
    ends_phrase: bool  # its last token ended a phrase, so that the word must end there too


class RequiredPhrases:
    """For each sentence of the batch the phrases (token ids) that it must say, whole words each.

    `starts_word` (V,) is true for tokens that begin a word: *chat* is not said by *château*.
    """

    def __init__(self, phrases: Sequence[Sequence[Phrase]], starts_word: Tensor) -> None:
        self.phrases = [tuple(each) for each in phrases]
        self.starts_word = starts_word
        lengths = [sum(map(len, each)) for each in phrases]
        self.extra_length: Tensor | int = torch.tensor(lengths, device=starts_word.device)
        self._starts = starts_word.tolist()
        self._progress = lru_cache(maxsize=100_000)(self._measure)

    def forbid(self, logits: Tensor, past: Past, sentences: Tensor) -> None:
        """No end before everything is said, and no other word out of a phrase just said."""
        states = self._states(sentences, past.tokens)
        for row, hypotheses in enumerate(states):
            for column, state in enumerate(hypotheses):
                if not state.is_complete:
                    logits[row, column, EOS_ID] = -torch.inf
                if state.ends_phrase:
                    goes_on = ~self.starts_word
                    goes_on[EOS_ID] = False
                    logits[row, column].masked_fill_(goes_on, -torch.inf)

    def add_wanted(self, tokens: Tensor, past: Tensor, sentences: Tensor) -> Tensor:
        """The candidate `tokens` (B, K, N) and after them those that bring hypotheses on.

        `past` (B, K, T) holds the tokens so far. Where there is nothing to add stands padding.
        """
        states = self._states(sentences, past)
        width = max(len(state.wanted) for hypotheses in states for state in hypotheses)
        rows = [
            [[*state.wanted, *[PAD_ID] * (width - len(state.wanted))] for state in hypotheses]
            for hypotheses in states
        ]
        wanted = torch.tensor(rows, dtype=torch.long, device=tokens.device).view(*tokens.shape[:2], width)
        known = (tokens.unsqueeze(3) == wanted.unsqueeze(2)).any(dim=2)
        return torch.cat([tokens, wanted.masked_fill(known, PAD_ID)], dim=2)

    def priorities(self, tokens: Tensor, sentences: Tensor, totals: Tensor) -> Tensor:
        """In which order the candidates `tokens` (B, N, T) deserve a place in the beam, highest first.

        `totals` (B, N) are their log-probabilities; impossible ones keep -inf.
        """
        states = self._states(sentences, tokens)
        banks = torch.tensor([[state.bank for state in each] for each in states], device=tokens.device)
        priority = (banks - _ranks(totals, banks) * (banks.max() + 1)).to(totals.dtype)
        return torch.where(torch.isfinite(totals), priority, -torch.inf)

    def _states(self, sentences: Tensor, tokens: Tensor) -> list[list[Progress]]:
        """The progress of each hypothesis of `tokens` (B, K, T)."""
        return [
            [self._progress(self.phrases[sentence], tuple(hypothesis)) for hypothesis in hypotheses]
            for sentence, hypotheses in zip(sentences.tolist(), tokens.tolist(), strict=True)
        ]

    def _measure(self, phrases: tuple[Phrase, ...], tokens: tuple[int, ...]) -> Progress:
        ends = [self._end_of(phrase, tokens) for phrase in phrases]
        missing = [phrase for phrase, end in zip(phrases, ends, strict=True) if end is None]
        begun = [
            (length, phrase[length])
            for phrase in missing
            for length in range(1, len(phrase))
            if tokens[-length:] == phrase[:length]
        ]
        longest = max(begun, default=(0, 0))[0]
        wanted = {token for length, token in begun if length == longest} or {each[0] for each in missing}
        said = sum(len(phrase) for phrase in phrases) - sum(map(len, missing))
        return Progress(said + longest, tuple(sorted(wanted)), not missing, len(tokens) in ends)

    def _end_of(self, phrase: Phrase, tokens: tuple[int, ...]) -> int | None:
        """Where `phrase` first ends in `tokens` together with its word; None if it does not stand there."""
        for start in range(len(tokens) - len(phrase) + 1):
            end = start + len(phrase)
            if tokens[start:end] == phrase and (end == len(tokens) or self._ends_word(tokens[end])):
                return end
        return None

    def _ends_word(self, following: int) -> bool:
        return following == EOS_ID or self._starts[following]


def _ranks(totals: Tensor, banks: Tensor) -> Tensor:
    """How many candidates of the same bank (both (B, N)) have a higher total."""
    by_total = totals.argsort(dim=1, descending=True, stable=True)
    by_bank = banks.gather(1, by_total).argsort(dim=1, stable=True)
    order = by_total.gather(1, by_bank)
    sorted_banks = banks.gather(1, order)
    first = torch.searchsorted(sorted_banks, sorted_banks)
    places = torch.arange(order.shape[1], device=order.device)
    return torch.zeros_like(order).scatter(1, order, places - first)
