"""Translations drawn from the model instead of searched for.

Each step draws a token from softmax(logits / temperature), cut to the `top_k` likeliest tokens (Fan et al.
2018) or to the fewest that together have the probability `top_p` (Holtzman et al. 2020), by inverting the
cumulative distribution at a random number. The numbers of a sentence come from a generator of its own,
seeded by the sentence itself, so what is drawn for a line depends on the line and the seed alone.

Shapes: **B** sentences still running, **K** samples a sentence, **T** target length, **V** target vocabulary.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from nmt.data.pieces import BOS_ID, EOS_ID, PAD_ID
from nmt.decoding.constraints import (
    Constraint,
    Lengths,
    NoRepeatedNgrams,
    Past,
    WithinLengths,
    extra_length,
)
from nmt.decoding.required import RequiredPhrases
from nmt.decoding.search import DecoderLike, Hypothesis
from nmt.decoding.trellis import Finished, Layer, read_back
from nmt.errors import NMTError
from nmt.models.state import Memory


@dataclass(frozen=True)
class SamplingSettings:
    """What a user may ask of sampling.

    `num_samples` are drawn a sentence, and the `n_best` likeliest of them handed back or, with `mbr`, those
    that are most like all others (minimum Bayes risk); `top_k` = 0 and `top_p` = 1 cut nothing; a
    `temperature` below 1 sharpens. Lengths as in `Lengths`, `no_repeat_ngram` as in beam search.
    """

    num_samples: int = 1
    n_best: int = 1
    top_k: int = 0
    top_p: float = 1.0
    temperature: float = 1.0
    seed: int = 1
    mbr: bool = False
    max_length_ratio: float = 2.0
    max_length_offset: int = 10
    max_length: int | None = None
    min_length_ratio: float = 0.0
    min_length: int = 0
    no_repeat_ngram: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.n_best <= self.num_samples:
            raise NMTError(
                f"search.n_best={self.n_best} is not within 1 and search.num_samples={self.num_samples}; "
                "draw more samples"
            )
        if self.temperature <= 0 or not 0 < self.top_p <= 1:
            raise NMTError(
                f"search.temperature={self.temperature} must be above 0, and search.top_p={self.top_p} "
                "above 0 and at most 1"
            )
        if self.top_k < 0 or self.no_repeat_ngram < 0:
            raise NMTError("search.top_k and search.no_repeat_ngram: give 0 (for no limit) or more")
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
        return self.num_samples

    def search(
        self,
        decoder: DecoderLike,
        memory: Memory,
        sources: Sequence[Sequence[int]],
        constraints: Sequence[Constraint] = (),
        required: RequiredPhrases | None = None,
    ) -> list[list[Hypothesis]]:
        """Samples for each of the `sources` (token ids) that `memory` holds, likeliest first."""
        if required is not None:
            raise NMTError("samples cannot be made to hold given words: choose search=beam")
        return sample(decoder, memory, sources, self, constraints)


@torch.inference_mode()
def sample(
    decoder: DecoderLike,
    memory: Memory,
    sources: Sequence[Sequence[int]],
    settings: SamplingSettings,
    constraints: Sequence[Constraint] = (),
) -> list[list[Hypothesis]]:
    """Samples for each sentence, likeliest first: the `n_best` or, for `mbr` to choose from, all."""
    samples = _Samples(memory, sources, settings, constraints)
    state = decoder.init_state(memory).reorder(samples.running.repeat_interleave(settings.num_samples))
    tokens = torch.full((len(sources) * settings.num_samples,), BOS_ID, device=memory.mask.device)
    while samples.running.numel():
        step = decoder.step(tokens, state)
        going, drawn = samples.extend(step.logits, step.weights)
        all_go = len(going) * settings.num_samples == len(tokens)
        state = step.state if all_go else step.state.select(going, settings.num_samples)
        tokens = drawn.flatten()
    return samples.hypotheses()


class _Samples:
    """The samples of one batch, which grow a token at a time; each goes on from itself."""

    def __init__(
        self,
        memory: Memory,
        sources: Sequence[Sequence[int]],
        settings: SamplingSettings,
        constraints: Sequence[Constraint],
    ) -> None:
        self.settings = settings
        device, size = memory.mask.device, (len(sources), settings.num_samples)
        least, most = settings.lengths.bounds(memory.mask, extra_length(constraints))
        self.constraints: list[Constraint] = [WithinLengths(least, most), *constraints]
        if settings.no_repeat_ngram:
            self.constraints.append(NoRepeatedNgrams(settings.no_repeat_ngram))
        self.numbers = random_numbers(sources, settings.seed, size[1], most.tolist()).to(device)
        self.running = torch.arange(len(sources), device=device)
        self.totals = torch.zeros(size, dtype=memory.annotations.dtype, device=device)
        self.alive = torch.ones(size, dtype=torch.bool, device=device)
        self.past = Past(torch.zeros(*size, 0, dtype=torch.long, device=device), None)
        self.finished = Finished.none_yet(size, self.totals)
        self.trellis: list[Layer] = []

    def extend(self, logits: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor]:
        """Draw a token for each sample; which of the sentences go on (B'), and their tokens (B', K)."""
        shape = self.totals.shape
        logits = logits.unflatten(0, shape)
        normaliser = logits.logsumexp(dim=2)
        ends = logits[:, :, EOS_ID] - normaliser
        possible = logits.clone()
        possible[:, :, PAD_ID] = possible[:, :, BOS_ID] = -torch.inf
        for constraint in self.constraints:
            constraint.forbid(possible, self.past, self.running)
        drawn = draw(possible, self.numbers[self.running, :, len(self.trellis)], self.settings)
        costs = logits.gather(2, drawn.unsqueeze(2)).squeeze(2) - normaliser
        self.totals = self.totals + costs
        self.alive = self.alive & possible.isfinite().any(dim=2)  # not those to which all is forbidden

        itself = torch.arange(shape[1], device=drawn.device).expand_as(drawn)
        ending = self.alive & (drawn == EOS_ID)
        results = (self.totals, self.totals, torch.full_like(drawn, len(self.trellis)), itself)
        for part, values in zip(self.finished, results, strict=True):
            part[self.running] = torch.where(ending, values, part[self.running])
        looks = None if weights is None else weights.unflatten(0, shape)
        self.trellis.append(Layer(self.running, itself, drawn, costs, ends, looks))

        self.alive = self.alive & ~ending
        going = self.alive.any(dim=1).nonzero().squeeze(1)
        self.past = self.past.extended(itself, drawn).select(going)
        self.running, self.totals, self.alive = self.running[going], self.totals[going], self.alive[going]
        return going, drawn[going]

    def hypotheses(self) -> list[list[Hypothesis]]:
        """The finished samples of each sentence, likeliest first."""
        order = self.finished.scores.argsort(dim=1, descending=True, stable=True)
        order = order if self.settings.mbr else order[:, : self.settings.n_best]
        return read_back(self.trellis, Finished(*(part.gather(1, order) for part in self.finished)))


def draw(logits: Tensor, numbers: Tensor, settings: SamplingSettings) -> Tensor:
    """Tokens (B, K) from `logits` (B, K, V) by random `numbers` (B, K) within 0 and 1."""
    count = min(settings.top_k or logits.shape[2], logits.shape[2])
    best, tokens = (logits.double() / settings.temperature).topk(count, dim=2)
    cumulative = best.softmax(dim=2).cumsum(dim=2)
    before = cumulative.roll(1, dims=2)
    before[:, :, 0] = 0
    cumulative = cumulative.masked_fill(before >= settings.top_p, 0)  # beyond the fewest that have top_p
    kept = cumulative.amax(dim=2, keepdim=True)
    place = (cumulative.cummax(dim=2).values <= numbers.unsqueeze(2) * kept).sum(dim=2, keepdim=True)
    return tokens.gather(2, place.clamp(max=count - 1)).squeeze(2)


def random_numbers(
    sources: Sequence[Sequence[int]], seed: int, num_samples: int, limits: Sequence[int]
) -> Tensor:
    """Numbers (B, K, T) within 0 and 1, each sentence's from a generator seeded by it and by `seed`."""
    numbers = torch.zeros(len(sources), num_samples, max(limits) + 1, dtype=torch.double)
    for row, (source, limit) in enumerate(zip(sources, limits, strict=True)):
        digest = hashlib.blake2b(f"{seed} {list(source)}".encode(), digest_size=8).digest()
        generator = torch.Generator().manual_seed(int.from_bytes(digest, "big") >> 1)
        numbers[row, :, : limit + 1] = torch.rand(
            num_samples, limit + 1, generator=generator, dtype=torch.double
        )
    return numbers
