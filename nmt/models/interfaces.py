"""What every encoder and every decoder offers; they meet only in `Memory`.

Shapes: **B** batch (sentences), **K** hypotheses a sentence, **S** source length, **T** target length, **M**
annotation size, **R** readout size, **V** target vocabulary. Masks: true = a real token.
"""

from typing import Any, NamedTuple

from torch import Tensor, nn

from nmt.attention.base import Attended
from nmt.attention.guidance import guidance_loss
from nmt.models.state import DecoderState, Memory


class Features(NamedTuple):
    """A teacher-forced target before the vocabulary projection."""

    hidden: Tensor  # (B, T, R)
    weights: Tensor | None  # (B, T, S)
    log_probability: Tensor | None = None  # (B, T, S), of hard attention's choices, in training
    head_weights: Tensor | None = None  # (B, L, N, T, S), of L layers' N heads, where there are heads
    layers: tuple[Attended, ...] = ()  # what each layer attended, where there are several
    memory: Memory | None = None  # the source, where a hidden alignment reads it


class Step(NamedTuple):
    """One step of decoding."""

    logits: Tensor  # (B * K, V)
    weights: Tensor | None  # (B * K, S)
    state: DecoderState


class Encoder(nn.Module):
    """Reads a source: `(tokens (B, S), mask (B, S)) -> Memory`."""

    annotation_size: int  # M
    embedding: nn.Embedding
    embedding_scale: float = 1.0  # what embeddings are multiplied by

    def forward(self, tokens: Tensor, mask: Tensor) -> Memory:
        """The memory of `tokens` (B, S), whose real ones come first and are true in `mask` (B, S)."""
        raise NotImplementedError

    def __call__(self, *arguments: Any) -> Memory:
        return super().__call__(*arguments)


class Decoder(nn.Module):
    """Writes a target: step by step in search, all at once under teacher forcing."""

    embedding: nn.Embedding
    embedding_scale: float = 1.0  # what embeddings are multiplied by
    readout_size: int  # R

    def init_state(self, memory: Memory) -> DecoderState:
        """The state before the first word: one hypothesis a sentence of `memory`."""
        raise NotImplementedError

    def step(self, tokens: Tensor, state: DecoderState) -> Step:
        """Advance every hypothesis by its last word in `tokens` (B * K)."""
        raise NotImplementedError

    def features(self, tokens: Tensor, memory: Memory, need_weights: bool = True) -> Features:
        """What `forward` computes of `tokens` (B, T), short of the vocabulary: a loss may skip padding.

        `need_weights=False` says that nobody will read the weights, which may then be None.
        """
        raise NotImplementedError

    def attention_loss(
        self, features: Features, targets: Tensor, log_likelihood: Tensor, mask: Tensor
    ) -> Tensor | None:
        """What the attention adds to the training loss, a sum (); None = nothing.

        `log_likelihood` (B, T), without gradient, is that of the words `targets`, which are true in `mask`.
        """
        return None

    def posterior(self, features: Features, targets: Tensor, mask: Tensor) -> Tensor | None:
        """Which source word each of the words `targets` (B, T) translates, now that all of them are known:
        probabilities (B, T, S); None where the decoder has no hidden alignment.
        """
        return None

    def guidance_loss(self, features: Features, targets: Tensor, mask: Tensor, links: Tensor) -> Tensor:
        """How far the attention of `features` is from `links` (3, L), a sum () over the rows with links.

        `targets` (B, T) are the words, true in `mask`.
        """
        assert features.weights is not None
        return guidance_loss(features.weights, links)

    def output(self, hidden: Tensor) -> Tensor:
        """Logits (..., V) of readouts (..., R)."""
        raise NotImplementedError

    def forward(self, tokens: Tensor, memory: Memory) -> tuple[Tensor, Tensor | None]:
        """Logits (B, T, V) and weights (B, T, S) with the words `tokens` (B, T) forced upon it."""
        features = self.features(tokens, memory)
        return self.output(features.hidden), features.weights

    def __call__(self, *arguments: Any) -> tuple[Tensor, Tensor | None]:
        return super().__call__(*arguments)
