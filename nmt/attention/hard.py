"""Hard attention: one annotation is picked (Xu et al. 2015, section 4.1)."""

import torch
from torch import Tensor
from torch.nn import functional

from nmt.attention.additive import AdditiveAttention
from nmt.attention.base import Attended
from nmt.attention.guidance import choice_guidance_loss
from nmt.attention.soft import Source
from nmt.errors import NMTError

_ESTIMATORS = ("gumbel", "reinforce")
_BASELINE_RATE = 0.1  # the newest batch's share of the moving average (Xu 2015, section 4.1)


class HardAttention(AdditiveAttention):
    """c_t = h_j with j ~ softmax_j(v · tanh(W s_t + U h_j)) in training, the most likely j otherwise.

    The choice is not differentiable. `estimator` says how the score learns nevertheless:

    - `gumbel`: the straight-through Gumbel estimator (Jang et al. 2017), biased, of low variance: the choice
      goes forward, the gradient of a softmax of the perturbed energies goes back.
    - `reinforce`: Xu's equation 12, unbiased: `loss` rewards the log-probability of what was sampled. The
      reward of a choice is the log-likelihood of the target words that it reaches, where Xu takes that of the
      whole sentence (the same on average, with more variance); the baseline is the moving average of the
      log-likelihood a word, as many times as there are such words.

    The weights are one-hot. In training `log_probability` (B, T, S), that of every choice, is handed out.

    Args:
        query_size: H.
        annotation_size: M; None = H.
        alignment_size: A, the size of the hidden layer; None = H.
        estimator: gumbel or reinforce.
        temperature: of the Gumbel softmax.
    """

    baseline: Tensor  # (), in nats a word

    def __init__(
        self,
        query_size: int,
        annotation_size: int | None = None,
        *,
        alignment_size: int | None = None,
        estimator: str = "gumbel",
        temperature: float = 1.0,
    ) -> None:
        super().__init__(query_size, annotation_size, alignment_size=alignment_size)
        if estimator not in _ESTIMATORS:
            raise NMTError(
                f"unknown attention.estimator {estimator!r}: choose one of {', '.join(_ESTIMATORS)}"
            )
        self.estimator = estimator
        self.temperature = temperature
        if estimator == "reinforce":
            self.register_buffer("baseline", torch.zeros(()))

    def attend(
        self, query: Tensor, source: Source, memo: None, need_weights: bool = True
    ) -> tuple[Attended, None]:
        """Contexts (B, T, M), one-hot weights and, in training, every choice's log-probability (B, T, S)."""
        energy = self.energy(query, source.keys)
        mask = source.mask.unsqueeze(1)
        if not self.training:
            weights = _one_hot(energy, mask)
            return Attended(weights @ source.values, weights), None
        if self.estimator == "gumbel":
            perturbed = (energy + _gumbel_noise(energy)) / self.temperature
            soft = self.normalize(perturbed, mask)
            weights = _one_hot(perturbed, mask) + soft - soft.detach()
        else:
            weights = _one_hot(energy + _gumbel_noise(energy), mask)  # argmax of it = a sample of the softmax
        log_probability = energy.masked_fill(~mask, torch.finfo(energy.dtype).min).log_softmax(-1)
        return Attended(weights @ source.values, weights, log_probability=log_probability), None

    def loss(
        self,
        weights: Tensor | None,
        log_probability: Tensor | None,
        log_likelihood: Tensor,
        mask: Tensor,
        feeds_back: bool,
    ) -> Tensor | None:
        """The `reinforce_loss` of what was sampled, over the words true in `mask` (B, T)."""
        if self.estimator != "reinforce" or weights is None or log_probability is None:
            return None
        chosen = (log_probability * weights).sum(-1)
        reward, words = log_likelihood * mask, mask.to(log_likelihood.dtype)
        mean = reward.sum() / words.sum().clamp(min=1)
        if feeds_back:  # a choice answers for its own word and all after it
            reward, words = (part.flip(1).cumsum(1).flip(1) for part in (reward, words))
        loss = (reinforce_loss(chosen, reward, self.baseline * words) * mask).sum()
        self.baseline.lerp_(mean.to(self.baseline.dtype), _BASELINE_RATE)
        return loss

    def guidance_loss(self, weights: Tensor, log_probability: Tensor | None, links: Tensor) -> Tensor:
        """The negative log-likelihood of choosing what is linked."""
        if log_probability is None:
            return super().guidance_loss(weights, log_probability, links)
        return choice_guidance_loss(log_probability, links)


def reinforce_loss(log_probability: Tensor, reward: Tensor, baseline: Tensor | float) -> Tensor:
    """-(reward - baseline) · log p(choice): a loss (B, T) with REINFORCE's gradient (Xu 2015, equation 12).

    `log_probability` (B, T) comes from `Attended`; `reward` (B, T) is what followed from the choice (in the
    paper log p of the target words); `baseline` is what was expected (there, a moving average of rewards).
    """
    return (baseline - reward).detach() * log_probability


def _one_hot(energy: Tensor, mask: Tensor) -> Tensor:
    """1 at each row's greatest energy that the mask allows, (B, T, S); zeros where it allows none."""
    possible = energy.detach().masked_fill(~mask, float("-inf"))
    choice = functional.one_hot(possible.argmax(-1), energy.shape[-1]).to(energy.dtype)
    return choice.masked_fill(~mask, 0.0)


def _gumbel_noise(energy: Tensor) -> Tensor:
    return -torch.empty_like(energy).exponential_().log()
