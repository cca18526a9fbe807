"""The interface that every attention shares: where does this query look?

Shapes: **B** batch (sentences), **T** queries, **S** source length, **M** annotation size, **H** query size,
**C** context size, **A** alignment size, **N** heads. Masks: true = may attend.

Words, as the papers define them. *Soft* attention takes a weighted mean of the annotations and is
differentiable; *hard* attention picks one of them (Xu 2015). *Global* attention scores every source position;
*local* attention scores a window of them (Luong 2015), and is soft inside it. Some introductions call local
attention hard: it is not.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from nmt.attention.guidance import guidance_loss

Result = TypeVar("Result")

MAX_FLOATS_ALIVE = 1 << 24  # numbers: what a part of the queries may hold at once, 64 MB in float32


class Attended(NamedTuple):
    """What attention gives back for T queries."""

    context: Tensor  # (B, T, C)
    weights: Tensor | None  # (B, T, S); None where there are none, or where nobody asked for them
    head_weights: Tensor | None = None  # (B, N, T, S)
    log_probability: Tensor | None = None  # (B, T, S) of every hard choice, in training


class Attention(nn.Module):
    """Base of the family; a variant writes `prepare`, `attend` and, if it remembers, `start`.

    A constructor takes `query_size` (H) and `annotation_size` (M; None = H), then its own settings by name.
    `source` and `memo` are opaque to everyone else: trees (tuples, dicts) of tensors whose first axis is the
    sentence. Attributes: `context_size` (C), `aligns` (false where there are no weights), `reads_word` (true
    where a query is the decoder's state and its input word's embedding side by side), `num_heads` (N),
    `maps_context` (true where contexts have been through an output map already).

    `need_weights=False` says that nobody will read the weights: an attention may then leave them out (None)
    and use a fused kernel, or spare itself what it takes to write them down. Contexts stay the same.
    """

    context_size: int
    aligns: bool = True
    reads_word: bool = False
    num_heads: int = 1
    maps_context: bool = False

    def prepare(self, annotations: Tensor, mask: Tensor) -> Any:
        """Keys, values, mask: the source side of `annotations` (B, S, M), `mask` (B, S); once a sentence."""
        raise NotImplementedError

    def start(self, source: Any) -> Any:
        """The memo, rows (B, 1, ...), of a hypothesis that has seen nothing; None without memory."""
        return None

    def attend(
        self, query: Tensor, source: Any, memo: Any, need_weights: bool = True
    ) -> tuple[Attended, Any]:
        """Attend with T independent queries (B, T, H), one memo row (B, T, ...) each, at one decoding step.

        In beam search the T queries are the K hypotheses of a sentence, so the source is never repeated.
        Returns what was attended and the memo after this step.
        """
        raise NotImplementedError

    def attend_sequence(self, query: Tensor, source: Any, need_weights: bool = True) -> Attended:
        """Attend with the T successive steps (B, T, H) of one target, from the start.

        Without a memo the steps are independent and run at once; otherwise one after the other.
        """
        memo = self.start(source)
        if memo is None:
            return self.attend(query, source, None, need_weights)[0]
        steps = []
        for step in query.split(1, dim=1):
            attended, memo = self.attend(step, source, memo, need_weights)
            steps.append(attended)
        return concatenate_steps(steps)

    def loss(
        self,
        weights: Tensor | None,
        log_probability: Tensor | None,
        log_likelihood: Tensor,
        mask: Tensor,
        feeds_back: bool,
    ) -> Tensor | None:
        """What this attention adds to the training loss: a sum () over the words true in `mask` (B, T).

        `weights` and `log_probability` (B, T, S) are as attended; `log_likelihood` (B, T), without
        gradient, is what became of the target words, in nats; `feeds_back` says whether what is attended at
        one step reaches the later ones. None = nothing, as for most.
        """
        return None

    def guidance_loss(self, weights: Tensor, log_probability: Tensor | None, links: Tensor) -> Tensor:
        """How far `weights` (B, T, S) are from `links` (3, L), a sum () over rows, see `guidance_loss`.

        `log_probability` (B, T, S) is as attended; links are sentence, row and column of each.
        """
        return guidance_loss(weights, links)

    def forward(
        self, query: Tensor, annotations: Tensor, mask: Tensor | None = None, need_weights: bool = True
    ) -> tuple[Tensor, Tensor | None]:
        """Context (B, T, C) and weights (B, T, S) of `query` (B, T, H) or (B, H), which counts as T = 1.

        The annotations are (B, S, M) and the mask is (B, S); without one every position may be attended.
        """
        if query.dim() == 2:
            query = query.unsqueeze(1)
        if mask is None:
            mask = annotations.new_ones(annotations.shape[:2])
        attended = self.attend_sequence(query, self.prepare(annotations, mask.bool()), need_weights)
        return attended.context, attended.weights


def concatenate_steps(steps: list[Attended]) -> Attended:
    """Join successive steps along T."""
    if len(steps) == 1:
        return steps[0]

    def join(parts: tuple[Tensor | None, ...], axis: int) -> Tensor | None:
        present = [part for part in parts if part is not None]
        return torch.cat(present, dim=axis) if present else None

    context, weights, head_weights, log_probability = zip(*steps, strict=True)
    return Attended(
        torch.cat(context, dim=1), join(weights, 1), join(head_weights, 2), join(log_probability, 1)
    )


def over_queries(
    function: Callable[..., Result], queries: tuple[Tensor, ...], floats_per_query: int
) -> list[Result]:
    """`function` of `queries` (each (B, T, ...)), in parts along T that hold some 64 MB of float32 each.

    `floats_per_query` counts the numbers that one query of every sentence keeps alive, such as B * S * A.
    Where gradients are wanted and there are several parts, each is computed again in the backward pass, so
    that memory stays bounded in training, too.
    """
    length = max(1, MAX_FLOATS_ALIVE // max(1, floats_per_query))
    if queries[0].shape[1] <= length:
        return [function(*queries)]
    parts = zip(*(query.split(length, dim=1) for query in queries), strict=True)
    if not torch.is_grad_enabled():
        return [function(*part) for part in parts]
    return [checkpoint(function, *part, use_reentrant=False, preserve_rng_state=False) for part in parts]
