"""Label-smoothed cross-entropy (Szegedy et al. 2016, section 7), over real target tokens only.

For a token y and logits z over V entries, with smoothing e: loss = (1 - e) nll(y) + (e / V) sum_v nll(v),
with nll(v) = log sum_u exp z_u - z_v.

Shapes: **B** batch (sentences), **T** target length, **R** readout size, **N** real target tokens, **V**
target vocabulary.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from nmt.errors import NMTError


class TrainingBatch(Protocol):
    """What training needs of a batch; `nmt.data` makes them."""

    @property
    def src(self) -> Tensor: ...  # (B, S)
    @property
    def src_mask(self) -> Tensor: ...  # (B, S)
    @property
    def tgt_in(self) -> Tensor: ...  # (B, T)
    @property
    def tgt_out(self) -> Tensor: ...  # (B, T)
    @property
    def tgt_mask(self) -> Tensor: ...  # (B, T)
    @property
    def num_target_tokens(self) -> int: ...
    @property
    def links(self) -> Tensor | None: ...  # (3, L), see nmt.data.batches; None without
    def to(self, device: Any) -> "TrainingBatch": ...
    def split(self, number: int) -> Sequence["TrainingBatch"]: ...  # its sentences, shared out


class BatchLoss(NamedTuple):
    """Sums over the real target tokens of a batch."""

    objective: Tensor  # (): what training minimises
    nll: Tensor  # (): the negative log-likelihood, in nats; no gradient


class LabelSmoothedCrossEntropy:
    """The loss of `model` on a batch. Padding never meets the vocabulary projection.

    With `guided_alignment` above 0 the attention's distance from the batch's word links counts as much beside
    (Chen et al. 2016; Garg et al. 2019): nats a target piece that has links, where the rest is nats a token.
    """

    def __init__(self, label_smoothing: float = 0.0, guided_alignment: float = 0.0) -> None:
        self.label_smoothing = label_smoothing
        self.guided_alignment = guided_alignment

    def __call__(
        self, model: nn.Module, batch: TrainingBatch, teacher_forcing_rate: float = 1.0
    ) -> BatchLoss:
        """Sums over the batch's N real target tokens; the objective holds what the attention adds."""
        compute: Any = model.features
        decoder: Any = model.decoder
        mask = batch.tgt_mask
        guided = self.guided_alignment > 0
        features = compute(batch.src, batch.src_mask, batch.tgt_in, teacher_forcing_rate, guided)
        logits = decoder.output(features.hidden[mask])  # (N, V)
        objective, nll = smoothed_cross_entropy(logits, batch.tgt_out[mask], self.label_smoothing)
        log_likelihood = torch.zeros(mask.shape, dtype=nll.dtype, device=mask.device)
        log_likelihood[mask] = -nll
        added = decoder.attention_loss(features, batch.tgt_out, log_likelihood, mask)
        if added is not None:
            objective = objective + added
        if self.guided_alignment:
            objective = objective + self.guided_alignment * self._guidance(decoder, features, batch)
        return BatchLoss(objective, nll.sum())

    @staticmethod
    def _guidance(decoder: Any, features: Any, batch: TrainingBatch) -> Tensor:
        if features.weights is None:
            raise NMTError(
                "training.guided_alignment has no attention to guide in this model: set it to 0, or choose "
                "another attention"
            )
        return decoder.guidance_loss(features, batch.tgt_out, batch.tgt_mask, batch.links)


def mean_nll(model: nn.Module, batches: Iterable[TrainingBatch], device: torch.device) -> float:
    """Negative log-likelihood a target token, in nats, of `batches`; perplexity is its exponential."""
    loss = LabelSmoothedCrossEntropy()
    total, num_tokens = 0.0, 0
    with torch.no_grad():
        for batch in batches:
            total += loss(model, batch.to(device)).nll.item()
            num_tokens += batch.num_target_tokens
    return total / max(num_tokens, 1)


def smoothed_cross_entropy(
    logits: Tensor, target: Tensor, label_smoothing: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Summed loss () and nll (N,) of `logits` (N, V) for `target` (N,). **Overwrites `logits`.**"""
    return _SmoothedCrossEntropy.apply(logits, target, label_smoothing)


class _SmoothedCrossEntropy(torch.autograd.Function):
    """One (N, V) tensor in all: `forward` writes the gradient, softmax(z) - smoothed target, over the logits.

    On a CPU this goes block by block, each small enough for the cache.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, target: Tensor, label_smoothing: float) -> tuple[Tensor, Tensor]:
        vocabulary_size = logits.shape[1]
        on_cpu = logits.device.type == "cpu"
        rows = max(1, _CACHED_ENTRIES // vocabulary_size if on_cpu else len(target))
        dtype = torch.promote_types(logits.dtype, torch.float32)  # bfloat16 is too coarse to sum in
        objective = torch.zeros((), dtype=dtype, device=logits.device)
        nll = torch.empty(len(target), dtype=dtype, device=logits.device)
        blocks = (logits.split(rows), target.unsqueeze(1).split(rows), nll.split(rows))
        for block, ids, block_nll in zip(*blocks, strict=True):
            scores = block.to(dtype)
            highest = scores.amax(1)
            chosen = scores.gather(1, ids).squeeze(1)
            mean = scores.mean(1) if label_smoothing else chosen
            probabilities = torch.softmax(scores, 1)
            normaliser = highest - probabilities.amax(1).log()  # log sum exp; the maximum cannot underflow
            torch.sub(normaliser, chosen, out=block_nll)
            objective += (normaliser - (1 - label_smoothing) * chosen - label_smoothing * mean).sum()
            torch.sub(probabilities, label_smoothing / vocabulary_size, out=block)
            block.scatter_add_(1, ids, block.new_full(ids.shape, label_smoothing - 1))
        ctx.save_for_backward(logits)
        ctx.mark_non_differentiable(nll)
        return objective, nll

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        scale = gradients[0]
        if scale.device.type == "cpu" and scale == 1:  # the trainer's case: one pass over (N, V) less
            return gradient, None, None
        return gradient * scale.to(gradient.dtype), None, None


_CACHED_ENTRIES = 1 << 18  # of a block: a megabyte of float32
