"""One beam search for every model.

Search knows a decoder only as `init_state(memory)`, `step(tokens, state)` and a state that can be reordered
and selected, so recurrent and self-attentive decoders are searched by the same lines. Hypotheses are read
back from a trellis of (parent, token, weights), so attention is there for each of them at any beam size. A
beam of 1 is greedy search.

Score (Wu et al. 2016, eq. 14): log P(Y|X) / lp(Y) with lp(Y) = ((5 + |Y|) / 6)^alpha, |Y| counting the end of
sentence.

Shapes: **B** sentences still running, **K** beam size, **S** source length, **V** target vocabulary.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from nmt.data.pieces import BOS_ID, EOS_ID, PAD_ID
from nmt.errors import NMTError
from nmt.models.state import DecoderState, Memory


@dataclass(frozen=True)
class SearchSettings:
    """What a user may ask of search.

    `beam_size` (K, hypotheses a sentence; 1 = greedy); `n_best` hypotheses handed back, at most K;
    `length_penalty` alpha (0 = none; larger favours longer); a hypothesis has at most `max_length_ratio` * S
    + `max_length_offset` tokens (S counts the source's tokens without the end of sentence), then it must end.
    """

    beam_size: int = 5
    n_best: int = 1
    length_penalty: float = 1.0
    max_length_ratio: float = 2.0
    max_length_offset: int = 10

    def __post_init__(self) -> None:
        if self.beam_size < 1:
            raise NMTError(f"search.beam_size={self.beam_size}: a beam holds at least 1 hypothesis")
        if not 1 <= self.n_best <= self.beam_size:
            raise NMTError(
                f"search.n_best={self.n_best} is not within 1 and search.beam_size={self.beam_size}; "
                "raise the beam size"
            )
        if self.max_length_ratio < 0 or self.max_length_offset < 0:
            raise NMTError("search.max_length_ratio and search.max_length_offset cannot be negative")


class Hypothesis(NamedTuple):
    """A finished translation."""

    tokens: list[int]  # without the end of sentence
    score: float  # log-probability over length penalty
    log_probability: float  # nats, end of sentence included
    token_log_probabilities: list[float]  # nats, one a token and one for the end of sentence
    weights: Tensor | None  # (len(tokens) + 1, S): the last row is the end of sentence's


class StepLike(Protocol):
    """What a decoder's step gives."""

    logits: Tensor
    weights: Tensor | None
    state: DecoderState


class DecoderLike(Protocol):
    """All that search knows of a decoder."""

    def init_state(self, memory: Memory) -> DecoderState: ...

    def step(self, tokens: Tensor, state: DecoderState) -> StepLike: ...


@torch.inference_mode()
def beam_search(decoder: DecoderLike, memory: Memory, settings: SearchSettings) -> list[list[Hypothesis]]:
    """The `n_best` hypotheses, best first, of each sentence of `memory`."""
    return _Beam(memory, settings).search(decoder, decoder.init_state(memory))


class _Layer(NamedTuple):
    """One step of the trellis, for the sentences that took it."""

    sentences: Tensor  # (B,): their places in the whole batch
    parents: Tensor  # (B, K): which hypothesis of the step before goes on
    tokens: Tensor  # (B, K): with which token
    log_probabilities: Tensor  # (B, K): at what cost
    end_log_probabilities: Tensor  # (B, K'): what ending here instead would have cost each parent
    weights: Tensor | None  # (B, K', S): where each parent looked


class _Finished(NamedTuple):
    """The best finished hypotheses so far, best first; unused places score -inf. All (B, K), whole batch."""

    scores: Tensor
    totals: Tensor  # log-probabilities, nats
    steps: Tensor  # the layer of the trellis in which the end of sentence was chosen
    parents: Tensor  # by which of the hypotheses before it

    @classmethod
    def none_yet(cls, size: tuple[int, int], like: Tensor) -> "_Finished":
        worst = like.new_full(size, -torch.inf)
        place = torch.zeros(size, dtype=torch.long, device=like.device)
        return cls(worst, worst.clone(), place, place.clone())


class _Beam:
    """The search over one batch."""

    def __init__(self, memory: Memory, settings: SearchSettings) -> None:
        self.settings = settings
        num_sentences, device = memory.mask.shape[0], memory.mask.device
        lengths = memory.mask.sum(dim=1) - 1  # the end of sentence is no word
        limit = (settings.max_length_ratio * lengths).long() + settings.max_length_offset
        self.limit = limit.clamp(min=1)
        self.running = torch.arange(num_sentences, device=device)
        self.totals = torch.zeros(num_sentences, 1, dtype=memory.annotations.dtype, device=device)
        self.finished = _Finished.none_yet((num_sentences, settings.beam_size), self.totals)
        self.trellis: list[_Layer] = []

    def search(self, decoder: DecoderLike, state: DecoderState) -> list[list[Hypothesis]]:
        """Step until every sentence has finished, then read the trellis back."""
        tokens = torch.full_like(self.running, BOS_ID)
        while self.running.numel():
            logits, weights, state = _of(decoder.step(tokens, state))
            layer = self._extend(logits, weights)
            done = self._is_done()
            state = self._keep(state, layer, done)
            tokens = layer.tokens[~done].flatten()
        return _Readback(self.trellis, self.finished).hypotheses(self.settings.n_best)

    def _extend(self, logits: Tensor, weights: Tensor | None) -> _Layer:
        """Choose the K best continuations of each sentence, and put the endings among the best aside."""
        num_running, width = self.totals.shape
        size = self.settings.beam_size
        logits = logits.unflatten(0, (num_running, width))
        normaliser = logits.logsumexp(dim=2, keepdim=True)
        logits[:, :, PAD_ID] = logits[:, :, BOS_ID] = -torch.inf
        ends = (logits[:, :, EOS_ID] - normaliser[:, :, 0]).clone()
        must_end = len(self.trellis) >= self.limit[self.running]
        others = torch.arange(logits.shape[2], device=logits.device) != EOS_ID
        logits.masked_fill_(must_end[:, None, None] & others, -torch.inf)

        # Twice the beam, since at most half of these can be endings.
        best, tokens = logits.topk(min(2 * size, logits.shape[2]), dim=2)
        costs = best - normaliser
        candidates = (self.totals.unsqueeze(2) + costs).flatten(1)
        totals, places = candidates.topk(min(2 * size, candidates.shape[1]), dim=1)
        totals, places = _pad(totals, -torch.inf, 2 * size), _pad(places, 0, 2 * size)
        parents = places // costs.shape[2]
        tokens, costs = tokens.flatten(1).gather(1, places), costs.flatten(1).gather(1, places)

        ending = tokens == EOS_ID
        self._finish(torch.where(ending, totals, -torch.inf)[:, :size], parents[:, :size])
        going = torch.where(ending, -torch.inf, totals)
        self.totals, chosen = going.topk(size, dim=1)
        layer = _Layer(
            self.running,
            parents.gather(1, chosen),
            tokens.gather(1, chosen),
            costs.gather(1, chosen),
            ends,
            None if weights is None else weights.unflatten(0, (num_running, width)),
        )
        self.trellis.append(layer)
        return layer

    def _finish(self, totals: Tensor, parents: Tensor) -> None:
        """Merge endings (B, K) with log-probabilities `totals` (-inf = none) into the finished hypotheses."""
        step = len(self.trellis)
        new = _Finished(totals / self._penalty(step + 1), totals, torch.full_like(parents, step), parents)
        old = _Finished(*(part[self.running] for part in self.finished))
        both = [torch.cat(pair, dim=1) for pair in zip(old, new, strict=True)]
        # A stable sort: of equal scores the earlier found stays first.
        order = both[0].argsort(dim=1, descending=True, stable=True)[:, : self.settings.beam_size]
        for part, merged in zip(self.finished, both, strict=True):
            part[self.running] = merged.gather(1, order)

    def _is_done(self) -> Tensor:
        """(B,) true where the n best are settled.

        Either nothing unfinished can overtake them, however long it grows; or the beam is full of finished
        hypotheses, and the best unfinished one is behind by now. A full beam alone is no reason: a sure model
        fills it with poor endings first.
        """
        worst = self.finished.scores[self.running]
        worst, fullest = worst[:, self.settings.n_best - 1], worst[:, -1]
        best = self.totals[:, 0]
        longest = self._penalty(self.limit[self.running] + 1) if self.settings.length_penalty > 0 else 1.0
        behind = torch.isfinite(fullest) & (worst >= best / self._penalty(len(self.trellis)))
        return behind | (worst >= best / longest)

    def _keep(self, state: DecoderState, layer: _Layer, done: Tensor) -> DecoderState:
        """The state of the sentences that go on, each row following its parent."""
        size = self.settings.beam_size
        going = (~done).nonzero().squeeze(1)
        width = layer.end_log_probabilities.shape[1]
        if going.numel() < done.numel():
            state = state.select(going, width)
            self.running, self.totals = self.running[going], self.totals[going]
        offsets = torch.arange(going.numel(), device=going.device).unsqueeze(1) * width
        rows = (offsets + layer.parents[going]).view(going.numel() * size)
        return state.reorder(rows)

    def _penalty(self, length: Tensor | int) -> Tensor | float:
        return ((5.0 + length) / 6.0) ** self.settings.length_penalty


class _Readback:
    """Hypotheses from the trellis, all sentences a step at a time."""

    def __init__(self, trellis: list[_Layer], finished: _Finished) -> None:
        self.trellis = trellis
        self.finished = finished

    def hypotheses(self, n_best: int) -> list[list[Hypothesis]]:
        """The `n_best` finished hypotheses of each sentence, best first; fewer where fewer finished."""
        scores, totals, steps, parents = (part[:, :n_best] for part in self.finished)
        tokens, costs, weights = self._walk(steps, parents)
        result = []
        for sentence in range(scores.shape[0]):
            found = []
            for rank in range(scores.shape[1]):
                length = int(steps[sentence, rank])
                if not torch.isfinite(scores[sentence, rank]):
                    continue
                found.append(
                    Hypothesis(
                        tokens[sentence, rank, :length].tolist(),
                        float(scores[sentence, rank]),
                        float(totals[sentence, rank]),
                        costs[sentence, rank, : length + 1].tolist(),
                        None if weights is None else weights[sentence, rank, : length + 1],
                    )
                )
            result.append(found)
        return result

    def _walk(self, steps: Tensor, parents: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Tokens and their costs (B, N, T), and weights (B, N, T, S), back from the endings at `steps` by
        `parents` (B, N).
        """
        shape = (*steps.shape, len(self.trellis))
        device = steps.device
        tokens = torch.zeros(shape, dtype=torch.long, device=device)
        costs = self.finished.scores.new_zeros(shape)
        first = self.trellis[0].weights if self.trellis else None
        weights = None if first is None else first.new_zeros(*shape, first.shape[2])
        at = parents.clone()  # for each hypothesis, its place among its sentence's before the step at hand
        for step in range(len(self.trellis) - 1, -1, -1):
            layer = self.trellis[step]
            rows = layer.sentences
            here, ends_here = at[rows], steps[rows] == step
            goes_on = steps[rows] > step
            width = layer.end_log_probabilities.shape[1]
            came_from = layer.parents.gather(1, here)
            before = torch.where(goes_on, came_from, here).clamp(max=width - 1)
            tokens[rows, :, step] = layer.tokens.gather(1, here) * goes_on
            costs[rows, :, step] = torch.where(
                ends_here,
                layer.end_log_probabilities.gather(1, before),
                layer.log_probabilities.gather(1, here),
            )
            if weights is not None and layer.weights is not None:
                places = before.unsqueeze(2).expand(-1, -1, layer.weights.shape[2])
                weights[rows, :, step] = layer.weights.gather(1, places)
            at[rows] = before
        return tokens, costs, weights


def _of(step: StepLike) -> tuple[Tensor, Tensor | None, DecoderState]:
    return step.logits, step.weights, step.state


def _pad(values: Tensor, fill: float, width: int) -> Tensor:
    """`values` (B, W) filled up on the right to (B, `width`)."""
    return torch.nn.functional.pad(values, (0, width - values.shape[1]), value=fill)
