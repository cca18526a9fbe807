"""Alignment as a hidden chain of positions: each target word translates one source word, nobody says which.

The hidden Markov model of Vogel et al. 1996 with a neural lexicon, trained by gradients (Wang et al. 2018):

    p(y | x) = Σ_a Π_t p(a_t | a_{t-1}) ((1 - ν) p(y_t | x_{a_t}) + ν p(y_t | </s>))

where p(a_t = j | a_{t-1} = i) is a softmax over the sentence's positions j of a learned number for the jump
j - i, and ν is how often a target word translates nothing, which the end of sentence then stands for: a chain
that rests at a word forgets no position.

Shapes: **B** batch (sentences), **S** source length, **T** target length.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

_TINY = 1e-30  # keeps divisions finite in float32


class _Chain(NamedTuple):
    """What the recursions need; all are probabilities."""

    first: Tensor  # (B, S)
    move: Tensor  # (B, S, S): from row to column
    translate: Tensor  # (B, T, S): by this word, zero where there is none
    emit: Tensor  # (B, T, S): by this word or by nothing; 1 on padding


class HiddenAlignment(nn.Module):
    """Likelihood and posterior of hidden alignments; jumps up to `longest` have their own number."""

    def __init__(self, longest: int = 12) -> None:
        super().__init__()
        self.longest = longest
        offsets = torch.arange(-longest, longest + 1)
        self.jumps = nn.Parameter(-0.3 * (offsets - 1).abs())  # short ones, best to the next word
        self.null = nn.Parameter(torch.tensor(-2.0))  # logit: one word in eight translates nothing

    def forward(self, lexicon: Tensor, src_mask: Tensor, tgt_mask: Tensor) -> Tensor:
        """log p(y | x) summed over the batch, in nats, a sum ().

        `lexicon` (B, T, S) holds p(y_t | x_j), the end of sentence being the last true position of `src_mask`
        (B, S); target words are true in `tgt_mask` (B, T).
        """
        return self._forward(self._chain(lexicon, src_mask, tgt_mask))[1]

    def posterior(self, lexicon: Tensor, src_mask: Tensor, tgt_mask: Tensor) -> Tensor:
        """p(y_t translates x_j | x, y) as (B, T, S): each row sums to 1, the end of sentence standing for
        nothing.
        """
        chain = self._chain(lexicon, src_mask, tgt_mask)
        ahead, _ = self._forward(chain)
        at = torch.stack(
            [_normalised(f * b)[0] for f, b in zip(ahead, self._backward(chain), strict=True)], 1
        )
        posterior = at * chain.translate / chain.emit.clamp_min(_TINY)
        nothing = (1 - posterior.sum(2)).clamp_min(0)
        return posterior.scatter_add(2, _ends(src_mask, nothing), nothing.unsqueeze(2))

    def _chain(self, lexicon: Tensor, src_mask: Tensor, tgt_mask: Tensor) -> _Chain:
        ends = _ends(src_mask, lexicon[:, :, 0])
        words = src_mask.scatter(1, ends[:, 0], False)
        words = torch.where(words.any(1, keepdim=True), words, src_mask)  # an empty source has its end alone
        positions = torch.arange(words.shape[1], device=words.device)
        allowed = words.to(lexicon.dtype)
        jumps = self.jumps.to(lexicon.dtype).exp()
        offsets = (positions - positions.unsqueeze(1)).clamp(-self.longest, self.longest) + self.longest
        starts = (positions + 1).clamp(max=self.longest) + self.longest
        null = self.null.sigmoid().to(lexicon.dtype)
        translate = (1 - null) * lexicon * allowed.unsqueeze(1)
        emit = (translate + null * lexicon.gather(2, ends)) * allowed.unsqueeze(1)
        return _Chain(
            _normalised(jumps[starts] * allowed)[0],
            _normalised(jumps[offsets] * allowed.unsqueeze(1))[0],
            translate,
            torch.where(tgt_mask.unsqueeze(2), emit, allowed.unsqueeze(1)),
        )

    @staticmethod
    def _forward(chain: _Chain) -> tuple[list[Tensor], Tensor]:
        """p(a_t | y_1 ... y_t) (B, S) for each t, and log p(y | x), a sum ()."""
        states, scales = [], []
        state = chain.first
        for step, emit in enumerate(chain.emit.unbind(1)):
            if step:
                state = torch.bmm(state.unsqueeze(1), chain.move).squeeze(1)
            state, scale = _normalised(state * emit)
            states.append(state)
            scales.append(scale)
        return states, torch.stack(scales).log().sum()

    @staticmethod
    def _backward(chain: _Chain) -> list[Tensor]:
        """What is proportional to p(y_{t+1} ... | a_t) (B, S), for each t."""
        state = torch.ones_like(chain.first)
        states = [state]
        for emit in chain.emit[:, 1:].flip(1).unbind(1):
            state = _normalised(torch.bmm(chain.move, (state * emit).unsqueeze(2)).squeeze(2))[0]
            states.append(state)
        return states[::-1]


def _ends(src_mask: Tensor, like: Tensor) -> Tensor:
    """The index of each sentence's last position (B, T, 1), for each row of `like` (B, T)."""
    return (src_mask.sum(1) - 1).view(-1, 1, 1).expand(*like.shape, 1)


def _normalised(values: Tensor) -> tuple[Tensor, Tensor]:
    """`values` (..., S) over their sums, and the sums (..., 1)."""
    sums = values.sum(-1, keepdim=True).clamp_min(_TINY)
    return values / sums, sums


def lexicon_of(logits: Tensor, words: Tensor, targets: Tensor) -> Tensor:
    """p(y_t | x_j) as (B, T, S) from `logits` (U, V) of U kinds of words, whose rows the source's `words` (B,
    S) name, and columns the `targets` (B, T).
    """
    cells = logits.flatten()[words.unsqueeze(1) * logits.shape[1] + targets.unsqueeze(2)]
    return (cells - logits.logsumexp(1)[words].unsqueeze(1)).exp()
