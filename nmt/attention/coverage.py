"""Coverage: additive attention that sees what has been attended so far (Tu et al. 2016; See et al. 2017)."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from nmt.attention.additive import AdditiveAttention
from nmt.attention.base import Attended, over_queries
from nmt.errors import NMTError


class CoverageSource(NamedTuple):
    """The source side of attention with coverage."""

    keys: Tensor  # (B, S, A)
    values: Tensor  # (B, S, M)
    mask: Tensor  # (B, S)
    fertility: Tensor | None  # (B, S) Φ_j; None = 1


class CoverageAttention(AdditiveAttention):
    """e_tj = v · tanh(W s_t + U h_j + w_c k_tj), with coverage k_tj = Σ_{t' < t} alpha_t'j / Φ_j.

    With `max_fertility` the fertility is Φ_j = max_fertility · sigmoid(u_f · h_j), Tu's linguistic coverage;
    without one Φ_j = 1 and coverage is the sum of the weights (See 2017, equations 10-11). The memo is the
    coverage (B, T, S). With `loss_weight` training also minimises See's `coverage_loss`, times that weight
    (1 there, in a last phase of training).

    Args:
        query_size: H.
        annotation_size: M; None = H.
        alignment_size: A, the size of the hidden layer; None = H.
        normalizer: softmax, sparsemax or entmax15.
        max_fertility: target tokens that a source token makes at most (2 in the paper); None = no fertility.
        loss_weight: of the coverage loss; 0 = without it.
    """

    def __init__(
        self,
        query_size: int,
        annotation_size: int | None = None,
        *,
        alignment_size: int | None = None,
        normalizer: str = "softmax",
        max_fertility: float | None = None,
        loss_weight: float = 0.0,
    ) -> None:
        super().__init__(query_size, annotation_size, alignment_size=alignment_size, normalizer=normalizer)
        if loss_weight < 0:
            raise NMTError(f"attention.loss_weight={loss_weight} is negative: give 0 or more")
        self.loss_weight = loss_weight
        size = self.vector.shape[0]
        self.coverage_vector = nn.Parameter(torch.empty(size).uniform_(-(size**-0.5), size**-0.5))  # w_c
        self.max_fertility = max_fertility
        self.fertility_map = nn.Linear(self.context_size, 1, bias=False) if max_fertility else None  # u_f

    def prepare(self, annotations: Tensor, mask: Tensor) -> CoverageSource:  # type: ignore[override]
        """Keys, values, mask and fertilities of `annotations` (B, S, M) and `mask` (B, S)."""
        fertility = None
        if self.fertility_map is not None:
            fertility = self.max_fertility * self.fertility_map(annotations).squeeze(2).sigmoid()
        return CoverageSource(self.keys(annotations), annotations, mask, fertility)

    def start(self, source: CoverageSource) -> Tensor:
        """Nothing is covered: zeros (B, 1, S)."""
        return torch.zeros_like(source.mask, dtype=source.keys.dtype).unsqueeze(1)

    def attend(  # type: ignore[override]
        self, query: Tensor, source: CoverageSource, memo: Tensor, need_weights: bool = True
    ) -> tuple[Attended, Tensor]:
        """Attend with `query` (B, T, H) given the coverage `memo` (B, T, S)."""

        def energy(part: Tensor, coverage: Tensor) -> Tensor:
            covered = coverage.unsqueeze(3) * self.coverage_vector
            return (covered + part.unsqueeze(2) + source.keys.unsqueeze(1)).tanh_() @ self.vector

        energies = over_queries(energy, (self.query_map(query), memo), 2 * source.keys.numel())
        weights = self.normalize(torch.cat(energies, dim=1), source.mask.unsqueeze(1))
        seen = weights if source.fertility is None else weights / source.fertility.unsqueeze(1)
        return Attended(weights @ source.values, weights), memo + seen

    def loss(
        self,
        weights: Tensor | None,
        log_probability: Tensor | None,
        log_likelihood: Tensor,
        mask: Tensor,
        feeds_back: bool,
    ) -> Tensor | None:
        """The weighted `coverage_loss` over the words true in `mask` (B, T)."""
        if not self.loss_weight or weights is None:
            return None
        return self.loss_weight * (coverage_loss(weights) * mask).sum()


def coverage_loss(weights: Tensor) -> Tensor:
    """Σ_j min(alpha_tj, Σ_{t' < t} alpha_t'j): a loss (B, T) of `weights` (B, T, S) (See 2017, equation 12).

    It punishes looking again where one has looked before.
    """
    return torch.minimum(weights, weights.cumsum(1) - weights).sum(2)
