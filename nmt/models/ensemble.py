"""Several models that translate together (Sutskever et al. 2014): one model to search, scoring and alignment.

The probability of a word is the mean of the members'. They share both vocabularies and nothing else:
recurrent models and Transformers may sit side by side.

Shapes: **B** batch (sentences), **K** hypotheses a sentence, **S** source length, **T** target length, **R**
readout size, **V** target vocabulary.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from nmt.models.interfaces import Decoder, Encoder, Features, Step
from nmt.models.seq2seq import Seq2Seq
from nmt.models.state import DecoderState, Memory


class EnsembleEncoder(Encoder):
    """The memories of all members stand in `final`; mask and annotations are the first one's."""

    def __init__(self, members: Sequence[Encoder]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        self.embedding = members[0].embedding
        self.annotation_size = members[0].annotation_size

    def forward(self, tokens: Tensor, mask: Tensor) -> Memory:
        memories = tuple(member(tokens, mask) for member in self.members)
        return memories[0]._replace(final=memories)


class EnsembleDecoder(Decoder):
    """Steps all members and means their probabilities; weights are the mean of those that have any.

    Logits are log-probabilities, readouts the members' side by side.
    """

    members: Sequence[Decoder]

    def __init__(self, members: Sequence[Decoder]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)  # type: ignore[assignment]
        self.embedding = members[0].embedding
        self.readout_size = sum(member.readout_size for member in members)

    def init_state(self, memory: Memory) -> DecoderState:
        pairs = zip(self.members, memory.final, strict=True)
        return _joined([member.init_state(own) for member, own in pairs])

    def step(self, tokens: Tensor, state: DecoderState) -> Step:
        states = (DecoderState(*halves) for halves in zip(state.source, state.prefix, strict=True))
        steps = [member.step(tokens, own) for member, own in zip(self.members, states, strict=True)]
        return Step(
            _mean_log_probabilities([step.logits for step in steps]),
            _mean_weights([step.weights for step in steps]),
            _joined([step.state for step in steps]),
        )

    def features(self, tokens: Tensor, memory: Memory, need_weights: bool = True) -> Features:
        pairs = zip(self.members, memory.final, strict=True)
        each = [member.features(tokens, own, need_weights) for member, own in pairs]
        hidden = torch.cat([features.hidden for features in each], dim=2)
        return Features(hidden, _mean_weights([features.weights for features in each]))

    def output(self, hidden: Tensor) -> Tensor:
        sizes = [member.readout_size for member in self.members]
        parts = zip(self.members, hidden.split(sizes, dim=-1), strict=True)
        return _mean_log_probabilities([member.output(part) for member, part in parts])


def ensemble(models: Sequence[Seq2Seq]) -> Seq2Seq:
    """`models` of the same vocabularies as one, in evaluation mode."""
    encoder = EnsembleEncoder([model.encoder for model in models])
    return Seq2Seq(encoder, EnsembleDecoder([model.decoder for model in models])).eval()


def _joined(states: list[DecoderState]) -> DecoderState:
    """One state of the members' `states`."""
    return DecoderState(tuple(state.source for state in states), tuple(state.prefix for state in states))


def _mean_log_probabilities(logits: list[Tensor]) -> Tensor:
    """log of the mean of softmax(z) over all z (..., V) of `logits`."""
    each = torch.stack([z.log_softmax(dim=-1) for z in logits])
    return each.logsumexp(dim=0) - math.log(len(logits))


def _mean_weights(weights: list[Tensor | None]) -> Tensor | None:
    present = [each for each in weights if each is not None]
    return torch.stack(present).mean(dim=0) if present else None
