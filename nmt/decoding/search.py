"""One beam search for every model.

Search knows a decoder only as `init_state(memory)`, `step(tokens, state)` and a state that can be reordered
and selected, so recurrent and self-attentive decoders are searched by the same lines. Hypotheses are read
back from a trellis, so attention is there for each of them at any beam size. A beam of 1 is greedy search.

Score (Wu et al. 2016, eq. 14): log P(Y|X) / lp(Y) + cp(X; Y) with lp(Y) = ((5 + |Y|) / 6)^alpha, |Y| counting
the end of sentence, and cp(X; Y) = beta * sum_i log(min(sum_j a_ij, 1)) over the source tokens i without the
end of sentence. It ranks finished hypotheses; the beam itself goes by log P.

With several groups (diverse beam search, Vijayakumar et al. 2018, Hamming diversity) each group searches for
itself, and a token costs `diversity` more for each hypothesis of an earlier group that takes it in this step.

Shapes: **B** sentences still running, **G** groups, **K** hypotheses of a group, **S** source length, **V**
target vocabulary. Before the first step a sentence has one hypothesis, which all groups share.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import torch
from torch import Tensor

from nmt.data.pieces import BOS_ID, EOS_ID, PAD_ID
from nmt.decoding.constraints import Constraint, Lengths, NoRepeatedNgrams, Past, WithinLengths, extra_length
from nmt.decoding.continuations import best_continuations
from nmt.decoding.required import RequiredPhrases
from nmt.decoding.trellis import Finished, Hypothesis, Layer, read_back
from nmt.errors import NMTError
from nmt.models.state import DecoderState, Memory

__all__ = ["DecoderLike", "Hypothesis", "SearchSettings", "beam_search"]

_LEAST_COVERAGE = 1e-6  # of a source token that nothing looked at: the logarithm stays finite


class StepLike(Protocol):
    """What a decoder's step gives."""

    logits: Tensor
    weights: Tensor | None
    state: DecoderState


class DecoderLike(Protocol):
    """All that search knows of a decoder."""

    def init_state(self, memory: Memory) -> DecoderState: ...

    def step(self, tokens: Tensor, state: DecoderState) -> StepLike: ...


@dataclass(frozen=True)
class SearchSettings:
    """What a user may ask of beam search.

    `beam_size` (hypotheses a sentence; 1 = greedy); `n_best` hypotheses handed back, at most that many;
    `length_penalty` alpha (0 = none; larger favours longer); `coverage_penalty` beta (0 = none; larger
    favours translations that look at every source token); lengths as in `Lengths`; `no_repeat_ngram` tokens
    in a row never come twice (0 = they may); `num_groups` share the beam and differ by `diversity` (nats).
    """

    beam_size: int = 5
    n_best: int = 1
    length_penalty: float = 1.0
    max_length_ratio: float = 2.0
    max_length_offset: int = 10
    max_length: int | None = None
    min_length_ratio: float = 0.0
    min_length: int = 0
    coverage_penalty: float = 0.0
    no_repeat_ngram: int = 0
    num_groups: int = 1
    diversity: float = 0.5

    mbr: ClassVar[bool] = False  # what it finds is ranked already

    def __post_init__(self) -> None:
        if self.beam_size < 1:
            raise NMTError(f"search.beam_size={self.beam_size}: a beam holds at least 1 hypothesis")
        if not 1 <= self.n_best <= self.beam_size:
            raise NMTError(
                f"search.n_best={self.n_best} is not within 1 and search.beam_size={self.beam_size}; "
                "raise the beam size"
            )
        if self.num_groups < 1 or self.beam_size % self.num_groups:
            raise NMTError(
                f"search.num_groups={self.num_groups} groups cannot share search.beam_size={self.beam_size} "
                "evenly: choose a divisor of it"
            )
        for name in ("length_penalty", "coverage_penalty", "diversity", "no_repeat_ngram"):
            if getattr(self, name) < 0:
                raise NMTError(f"search.{name}={getattr(self, name)}: give 0 (for none) or more")
        self.lengths  # noqa: B018 (complains of negative ones)

    @property
    def lengths(self) -> Lengths:
        return Lengths(
            self.max_length_ratio,
            self.max_length_offset,
            self.max_length,
            self.min_length_ratio,
            self.min_length,
        )

    @property
    def width(self) -> int:
        """Hypotheses a sentence, which memory grows with."""
        return self.beam_size

    def search(
        self,
        decoder: DecoderLike,
        memory: Memory,
        sources: Sequence[Sequence[int]],
        constraints: Sequence[Constraint] = (),
        required: RequiredPhrases | None = None,
    ) -> list[list[Hypothesis]]:
        """The `n_best` hypotheses, best first, of each of the `sources` that `memory` holds."""
        return beam_search(decoder, memory, self, constraints, required)


@torch.inference_mode()
def beam_search(
    decoder: DecoderLike,
    memory: Memory,
    settings: SearchSettings,
    constraints: Sequence[Constraint] = (),
    required: RequiredPhrases | None = None,
) -> list[list[Hypothesis]]:
    """The `n_best` hypotheses, best first, of each sentence of `memory`.

    All keep to `constraints` and say the phrases `required`; a sentence for which the beam finds none that
    does gets an empty list.
    """
    beam = _Beam(memory, settings, constraints, required)
    return beam.search(decoder, decoder.init_state(memory))


class _Candidates(NamedTuple):
    """Ways to go on, all (B, N)."""

    parents: Tensor  # which hypothesis of the sentence goes on
    tokens: Tensor
    costs: Tensor  # log-probabilities of the tokens
    totals: Tensor  # and of the hypotheses that end in them
    priorities: Tensor  # who comes first when places are given out

    def best(self, number: int, allowed: Tensor | None = None) -> "_Candidates":
        """The first `number` by priority; those not `allowed` (B, N) count as impossible."""
        priorities = self.priorities
        if allowed is not None:
            priorities = torch.where(allowed, priorities, -torch.inf)
        found, places = priorities.topk(min(number, priorities.shape[1]), dim=1)
        parents, tokens, costs, totals = (part.gather(1, places) for part in self[:4])
        totals = torch.where(torch.isfinite(found), totals, -torch.inf)
        missing = number - places.shape[1]
        fills = (0, 0, 0.0, -torch.inf, -torch.inf)
        parts = (parents, tokens, costs, totals, found)
        return _Candidates(
            *(
                torch.nn.functional.pad(part, (0, missing), value=fill)
                for part, fill in zip(parts, fills, strict=True)
            )
        )


class _Beam:
    """The search over one batch."""

    def __init__(
        self,
        memory: Memory,
        settings: SearchSettings,
        constraints: Sequence[Constraint],
        required: RequiredPhrases | None,
    ) -> None:
        self.settings = settings
        self.size = settings.beam_size // settings.num_groups
        self.required = required
        rules = [*constraints, *([required] if required else [])]
        least, self.most = settings.lengths.bounds(memory.mask, extra_length(rules))
        if settings.no_repeat_ngram:
            rules.append(NoRepeatedNgrams(settings.no_repeat_ngram))
        self.constraints: list[Constraint] = [WithinLengths(least, self.most), *rules]
        num_sentences, device = memory.mask.shape[0], memory.mask.device
        places = torch.arange(memory.mask.shape[1], device=device)
        self.words = places < memory.mask.sum(dim=1, keepdim=True) - 1  # without the end of sentence
        self.running = torch.arange(num_sentences, device=device)
        self.totals = torch.zeros(num_sentences, 1, dtype=memory.annotations.dtype, device=device)
        coverage = memory.annotations.new_zeros(num_sentences, 1, memory.mask.shape[1])
        self.past = Past(
            torch.zeros(num_sentences, 1, 0, dtype=torch.long, device=device),
            coverage if settings.coverage_penalty else None,
        )
        self.finished = Finished.none_yet((num_sentences, settings.num_groups, self.size), self.totals)
        self.trellis: list[Layer] = []

    def search(self, decoder: DecoderLike, state: DecoderState) -> list[list[Hypothesis]]:
        """Step until every sentence has finished, then read the trellis back."""
        tokens = torch.full_like(self.running, BOS_ID)
        while self.running.numel():
            logits, weights, state = _of(decoder.step(tokens, state))
            layer = self._extend(logits, weights)
            done = self._is_done()
            state = self._keep(state, layer, done)
            tokens = layer.tokens[~done].flatten()
        return self._hypotheses()

    def _extend(self, logits: Tensor, weights: Tensor | None) -> Layer:
        """Choose the best continuations of each sentence, and put the endings among the best aside."""
        num_running, width = self.totals.shape
        scores = logits.log_softmax(dim=1).unflatten(0, (num_running, width))
        weights = None if weights is None else weights.unflatten(0, (num_running, width))
        scores[:, :, PAD_ID] = scores[:, :, BOS_ID] = -torch.inf
        ends = scores[:, :, EOS_ID].clone()
        for constraint in self.constraints:
            constraint.forbid(scores, self.past, self.running)
        self.past = self.past.seen(weights)

        groups: list[_Candidates] = []
        taken = None
        for group in range(self.settings.num_groups):
            candidates = self._candidates(scores, group, taken)
            nearest = candidates.best(2 * self.size)  # twice the group: at most half of these can be endings
            first = _Candidates(*(part[:, : self.size] for part in nearest))
            self._finish(group, first)
            groups.append(nearest.best(self.size, allowed=nearest.tokens != EOS_ID))
            if group + 1 < self.settings.num_groups:
                taken = self._taken(scores, taken, first, groups[-1])
        chosen = _Candidates(*(torch.cat(parts, dim=1) for parts in zip(*groups, strict=True)))

        self.totals = chosen.totals
        self.past = self.past.extended(chosen.parents, chosen.tokens)
        layer = Layer(self.running, chosen.parents, chosen.tokens, chosen.costs, ends, weights)
        self.trellis.append(layer)
        return layer

    def _candidates(self, scores: Tensor, group: int, taken: Tensor | None) -> _Candidates:
        """How the hypotheses of `group` may go on, by `scores` (B, K, V), the log-probabilities of what is
        not forbidden; tokens cost `taken` (B, 1, V) more when choosing.
        """
        first = group * self.size if self.totals.shape[1] > 1 else 0
        members = slice(first, first + self.size)
        scores, totals = scores[:, members], self.totals[:, members]
        preferred = scores if taken is None else scores - taken
        if self.required:  # each hypothesis has words that bring it on
            words = preferred.topk(min(2 * self.size, scores.shape[2]), dim=2).indices
            words = self.required.add_wanted(words, self.past.tokens[:, members], self.running)
            tokens = words.flatten(1)
            parents = torch.arange(words.shape[1], device=words.device).repeat_interleave(words.shape[2])
            parents = parents.expand_as(tokens)
        else:
            parents, tokens = best_continuations(preferred, totals, 2 * self.size)
        places = parents * scores.shape[2] + tokens
        costs = scores.flatten(1).gather(1, places)
        sums = totals.gather(1, parents) + costs
        priorities = sums if taken is None else sums - taken.squeeze(1).gather(1, tokens)
        candidates = _Candidates(first + parents, tokens, costs, sums, priorities)
        if self.required:
            going = self.past.extended(candidates.parents, candidates.tokens)
            ranks = self.required.priorities(going.tokens, self.running, candidates.totals)
            candidates = candidates._replace(priorities=ranks)
        return candidates

    def _taken(self, scores: Tensor, before: Tensor | None, first: _Candidates, going: _Candidates) -> Tensor:
        """What each token (B, 1, V) costs further groups: as `before`, and what this group took.

        It took the endings among its `first` candidates, and what it has `going`.
        """
        costs = torch.zeros_like(scores[:, 0]) if before is None else before.squeeze(1)
        ended = (first.tokens == EOS_ID) & torch.isfinite(first.totals)
        for tokens, are_taken in ((first.tokens, ended), (going.tokens, torch.isfinite(going.totals))):
            costs = costs.scatter_add(1, tokens, self.settings.diversity * are_taken.to(costs.dtype))
        return costs.unsqueeze(1)

    def _finish(self, group: int, candidates: _Candidates) -> None:
        """Merge the endings among `candidates` (B, K) into the finished hypotheses of `group`."""
        totals = torch.where(candidates.tokens == EOS_ID, candidates.totals, -torch.inf)
        step, parents = len(self.trellis), candidates.parents
        scores = totals / self._penalty(step + 1) + self._coverage(parents)
        new = Finished(scores, totals, torch.full_like(parents, step), parents)
        both = [
            torch.cat([old[self.running, group], added], dim=1)
            for old, added in zip(self.finished, new, strict=True)
        ]
        # A stable sort: of equal scores the earlier found stays first.
        order = both[0].argsort(dim=1, descending=True, stable=True)[:, : self.size]
        for part, merged in zip(self.finished, both, strict=True):
            part[self.running, group] = merged.gather(1, order)

    def _coverage(self, parents: Tensor) -> Tensor | float:
        """The coverage term cp (B, K) of hypotheses that end after `parents` (B, K)."""
        if self.past.coverage is None:
            return 0.0
        attended = self.past.coverage.clamp(_LEAST_COVERAGE, 1.0).log()
        terms = (attended * self.words[self.running].unsqueeze(1)).sum(dim=2)
        return self.settings.coverage_penalty * terms.gather(1, parents)

    def _is_done(self) -> Tensor:
        """(B,) true where the n best are settled, in every group.

        Either nothing unfinished can overtake them, however long it grows; or the group is full of finished
        hypotheses, and the best unfinished one is behind by now. Being full alone is no reason: a sure model
        fills a beam with poor endings first.
        """
        needed = -(-self.settings.n_best // self.settings.num_groups)
        scores = self.finished.scores[self.running]
        worst, fullest = scores[:, :, needed - 1], scores[:, :, -1]
        best = self.totals.unflatten(1, (-1, self.size)).amax(dim=2)
        longest: Tensor | float = 1.0
        if self.settings.length_penalty > 0:
            longest = self._penalty(self.most[self.running].unsqueeze(1) + 1)
        behind = torch.isfinite(fullest) & (worst >= best / self._penalty(len(self.trellis)))
        return (behind | (worst >= best / longest)).all(dim=1)

    def _keep(self, state: DecoderState, layer: Layer, done: Tensor) -> DecoderState:
        """The state of the sentences that go on, each row following its parent."""
        going = (~done).nonzero().squeeze(1)
        width = layer.end_log_probabilities.shape[1]
        if going.numel() < done.numel():
            state = state.select(going, width)
            self.running, self.totals = self.running[going], self.totals[going]
            self.past = self.past.select(going)
        offsets = torch.arange(going.numel(), device=going.device).unsqueeze(1) * width
        return state.reorder((offsets + layer.parents[going]).flatten())

    def _penalty(self, length: Tensor | int) -> Tensor | float:
        return ((5.0 + length) / 6.0) ** self.settings.length_penalty

    def _hypotheses(self) -> list[list[Hypothesis]]:
        """The n best of each sentence, one from each group before a second from any, without repetitions."""
        finished = Finished(*(part.transpose(1, 2).flatten(1) for part in self.finished))
        if self.settings.num_groups == 1:
            return read_back(self.trellis, Finished(*(part[:, : self.settings.n_best] for part in finished)))
        result = []
        for hypotheses in read_back(self.trellis, finished):
            distinct = {tuple(each.tokens): each for each in reversed(hypotheses)}
            first = list(reversed(distinct.values()))[: self.settings.n_best]
            result.append(sorted(first, key=lambda each: -each.score))
        return result


def _of(step: StepLike) -> tuple[Tensor, Tensor | None, DecoderState]:
    return step.logits, step.weights, step.state
