"""Local attention (Luong, Pham & Manning 2015, section 3.2): a window of the source, soft inside it.

Local is not hard: inside its window it takes a weighted mean and is differentiable.

Source positions s count from 0. S_b is the real length of sentence b, so that padding changes nothing. A
window holds the positions with |s - p_t| <= D that the sentence has: at most 2D + 1.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from nmt.attention.base import Attended, Attention, concatenate_steps, over_queries
from nmt.attention.concat import ConcatAttention
from nmt.attention.dot import DotAttention
from nmt.attention.general import GeneralAttention
from nmt.attention.soft import SoftAttention
from nmt.errors import NMTError

# Up to so many windows of source, scoring all of it and masking costs less than gathering the windows: for
# the few queries of a decoding step, and for as many as make a matrix product run at full speed.
_WINDOWS_SCORED_WHOLE, _WINDOWS_OF_MANY_QUERIES, _MANY_QUERIES = 2, 20, 32


class LocalSource(NamedTuple):
    """The source side of local attention."""

    keys: Tensor  # (B, S, A)
    values: Tensor  # (B, S, M)
    mask: Tensor  # (B, S)
    length: Tensor  # (B,) S_b: one more than the last position that may be attended


class LocalAttention(Attention):
    """What local_m and local_p share: an inner score, a window around p_t, and what is read from it.

    Args:
        query_size: H.
        annotation_size: M; None = H.
        window: D, source positions to either side of p_t (the paper takes 10).
        score: dot, general or concat, the score inside the window.
        normalizer: softmax, sparsemax or entmax15, over the window.
    """

    def __init__(
        self,
        query_size: int,
        annotation_size: int | None = None,
        *,
        window: int = 10,
        score: str = "general",
        normalizer: str = "softmax",
    ) -> None:
        super().__init__()
        if window < 1:
            raise NMTError(f"attention.window is {window}: give 1 or more source positions to either side")
        self.score = _inner_score(score, query_size, annotation_size, normalizer)
        self.context_size = self.score.context_size
        self.window = window

    def prepare(self, annotations: Tensor, mask: Tensor) -> LocalSource:
        """Keys, values, mask and real lengths of `annotations` (B, S, M) and `mask` (B, S)."""
        places = torch.arange(1, mask.shape[1] + 1, device=mask.device)
        return LocalSource(self.score.keys(annotations), annotations, mask, (mask * places).amax(1))

    def factor(self, distance: Tensor) -> Tensor | None:
        """What multiplies the weight of a position at `distance` s - p_t; None = nothing."""
        return None

    def look(self, query: Tensor, source: LocalSource, centre: Tensor, need_weights: bool) -> Attended:
        """Attend with `query` (B, T, H) to the windows around `centre` (B, T), the p_t."""
        num_sentences, source_length, size = source.values.shape
        width = 2 * self.window + 1
        many = query.shape[1] >= _MANY_QUERIES
        if source_length <= width * (_WINDOWS_OF_MANY_QUERIES if many else _WINDOWS_SCORED_WHOLE):
            return self._look_at_all(query, source, centre)

        def look(query: Tensor, centre: Tensor) -> Attended:
            return self._look_at_windows(query, source, centre, need_weights)

        floats_per_query = num_sentences * width * (source.keys.shape[2] + size)
        return concatenate_steps(over_queries(look, (query, centre), floats_per_query))

    def _look_at_all(self, query: Tensor, source: LocalSource, centre: Tensor) -> Attended:
        """Score the whole of a short source and mask what is outside the window."""
        distance = torch.arange(source.mask.shape[1], device=centre.device) - centre.unsqueeze(2)
        allowed = source.mask.unsqueeze(1) & (distance.abs() <= self.window)
        weights = self._weigh(self.score.energy(query, source.keys), allowed, distance)
        return Attended(weights @ source.values, weights)

    def _look_at_windows(
        self, query: Tensor, source: LocalSource, centre: Tensor, need_weights: bool
    ) -> Attended:
        """Gather the 2D + 1 positions around p_t; but for dense weights, nothing grows with S."""
        num_sentences, num_queries, query_size = query.shape
        source_length, width = source.mask.shape[1], 2 * self.window + 1
        first = (centre.detach() - self.window).ceil().long().unsqueeze(2)
        places = first + torch.arange(width, device=centre.device)  # (B, T, W)
        distance = places - centre.unsqueeze(2)
        sentence = torch.arange(num_sentences, device=centre.device).view(-1, 1, 1)
        inside = (places >= 0) & (places < source_length) & (distance.abs() <= self.window)
        places = places.clamp(0, source_length - 1)
        rows = (sentence * source_length + places).flatten()

        def gather(
            table: Tensor,
        ) -> Tensor:  # (B, S, X) -> (B * T, W, X): each query a sentence
            picked = table.flatten(0, 1).index_select(0, rows)
            return picked.view(num_sentences * num_queries, width, table.shape[2])

        allowed = inside & source.mask.flatten().index_select(0, rows).view_as(inside)
        energy = self.score.energy(query.reshape(-1, 1, query_size), gather(source.keys)).view(inside.shape)
        weights = self._weigh(energy, allowed, distance)
        context = weights.view(num_sentences * num_queries, 1, width) @ gather(source.values)
        context = context.view(num_sentences, num_queries, self.context_size)
        if not need_weights:
            return Attended(context, None)
        dense = weights.new_zeros(num_sentences, num_queries, source_length)
        return Attended(context, dense.scatter_add(2, places, weights))

    def _weigh(self, energy: Tensor, allowed: Tensor, distance: Tensor) -> Tensor:
        weights = self.score.normalize(energy, allowed)
        factor = self.factor(distance)
        return weights if factor is None else weights * factor.to(weights.dtype)


class MonotonicLocalAttention(LocalAttention):
    """local_m: p_t = t, and p_t = S_b - 1 where the target is longer than the source.

    The paper does not say what happens past the end of the source; there we stay at the last position. The
    memo is the number of the step, t (B, T).
    """

    def start(self, source: LocalSource) -> Tensor:
        """t = 0, (B, 1)."""
        return source.length.new_zeros(source.length.shape[0], 1)

    def attend(
        self, query: Tensor, source: LocalSource, memo: Tensor, need_weights: bool = True
    ) -> tuple[Attended, Tensor]:
        """Attend with `query` (B, T, H) around the positions `memo` (B, T)."""
        last = (source.length - 1).clamp(min=0).unsqueeze(1)
        centre = torch.minimum(memo, last)
        return self.look(query, source, centre.expand(query.shape[:2]), need_weights), memo + 1

    def attend_sequence(self, query: Tensor, source: LocalSource, need_weights: bool = True) -> Attended:
        """All steps at once: the position does not depend on what was seen before."""
        steps = torch.arange(query.shape[1], device=query.device)
        return self.attend(query, source, steps.expand(query.shape[:2]), need_weights)[0]


class PredictiveLocalAttention(LocalAttention):
    """local_p: p_t = S_b · sigmoid(v_p · tanh(W_p s_t)), weights normalise(score) · exp(-2 (s - p_t)² / D²).

    As in the paper (equations 9-10) the Gaussian multiplies the normalised weights and nothing is normalised
    after it: a row of weights sums to at most 1, not to 1. It is the Gaussian through which p_t learns.

    Args:
        query_size: H.
        annotation_size: M; None = H.
        window: D, source positions to either side of p_t (the paper takes 10).
        score: dot, general or concat, the score inside the window.
        normalizer: softmax, sparsemax or entmax15, over the window.
    """

    def __init__(
        self,
        query_size: int,
        annotation_size: int | None = None,
        *,
        window: int = 10,
        score: str = "general",
        normalizer: str = "softmax",
    ) -> None:
        super().__init__(query_size, annotation_size, window=window, score=score, normalizer=normalizer)
        self.position_map = nn.Linear(query_size, query_size, bias=False)  # W_p
        self.position_vector = nn.Parameter(torch.empty(query_size))  # v_p
        nn.init.uniform_(self.position_vector, -(query_size**-0.5), query_size**-0.5)

    def factor(self, distance: Tensor) -> Tensor:
        """The Gaussian of deviation D/2 at `distance`."""
        return torch.exp(-2 * (distance / self.window).square())

    def position(self, query: Tensor, source: LocalSource) -> Tensor:
        """p_t (B, T) of `query` (B, T, H): a real number between 0 and S_b."""
        share = torch.sigmoid(torch.tanh(self.position_map(query)) @ self.position_vector)
        exact = torch.promote_types(share.dtype, torch.float32)  # half precision blurs far positions
        return source.length.unsqueeze(1) * share.to(exact)

    def attend(
        self, query: Tensor, source: LocalSource, memo: None, need_weights: bool = True
    ) -> tuple[Attended, None]:
        """Attend with `query` (B, T, H) around the positions that it predicts."""
        return self.look(query, source, self.position(query, source), need_weights), None


def _inner_score(name: str, query_size: int, annotation_size: int | None, normalizer: str) -> SoftAttention:
    scores: dict[str, type[DotAttention] | type[GeneralAttention] | type[ConcatAttention]] = {
        "dot": DotAttention,
        "general": GeneralAttention,
        "concat": ConcatAttention,
    }
    if name not in scores:
        raise NMTError(f"unknown attention.score {name!r}: choose one of {', '.join(scores)}")
    return scores[name](query_size, annotation_size, normalizer=normalizer)
