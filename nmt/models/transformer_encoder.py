"""The Transformer's encoder (Vaswani et al. 2017, section 3.1).

Shapes: **B** batch (sentences), **S** source length, **E** embedding size, **M** annotation size.
"""

from collections.abc import Sequence
from typing import cast

from torch import Tensor, nn

from nmt.models.feed_forward import FeedForward
from nmt.models.interfaces import Encoder
from nmt.models.residual import Residual, final_norm
from nmt.models.self_attention import SelfAttention, heads_for
from nmt.models.state import Memory
from nmt.models.word_input import WordInput


class EncoderLayer(nn.Module):
    """Self-attention over the sentence, then the feed-forward network, each within a residual connection.

    `dropout` is that of the residual connections, `attention_dropout` that of weights, `activation_dropout`
    that of the feed-forward network's inner units.
    """

    def __init__(
        self,
        size: int,
        num_heads: int,
        feed_forward_size: int,
        *,
        activation: str = "relu",
        norm: str = "pre",
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        activation_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.self_attention = SelfAttention(size, num_heads, attention_dropout)
        self.self_residual = Residual(size, norm, dropout)
        self.feed_forward = FeedForward(size, feed_forward_size, activation, activation_dropout)
        self.feed_forward_residual = Residual(size, norm, dropout)

    def forward(self, x: Tensor, allowed: Tensor | None) -> Tensor:
        """(B, S, M) of `x` (B, S, M), whose words `allowed` (B, 1, 1, S) may be attended; None = all."""
        residual = self.self_residual
        x = residual.leave(x, self.self_attention(residual.enter(x), allowed))
        residual = self.feed_forward_residual
        return residual.leave(x, self.feed_forward(residual.enter(x)))


class TransformerEncoder(Encoder):
    """`num_layers` layers over words at their positions; there are no final states.

    `annotation_size` (M) is the size of every layer; where E differs, embeddings are mapped to it.
    `num_heads` N (None = 64 elements each); `feed_forward_size` inner units (None = 4M); `activation` relu,
    gelu or swiglu; `norm` pre or post; `positions` sinusoidal, or learned up to `max_positions`. Dropout
    probabilities: `dropout` of residual connections, `embedding_dropout` of what enters the first layer
    (None = `dropout`), `attention_dropout` of weights, `activation_dropout` of inner units, `word_dropout` of
    whole words.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        annotation_size: int,
        *,
        num_layers: int = 3,
        num_heads: int | None = None,
        feed_forward_size: int | None = None,
        activation: str = "relu",
        norm: str = "pre",
        positions: str = "sinusoidal",
        max_positions: int = 1024,
        dropout: float = 0.0,
        embedding_dropout: float | None = None,
        attention_dropout: float = 0.0,
        activation_dropout: float = 0.0,
        word_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.annotation_size = annotation_size
        self.embedding = embedding
        self.input = WordInput(
            embedding.embedding_dim,
            annotation_size,
            positions=positions,
            max_positions=max_positions,
            dropout=dropout if embedding_dropout is None else embedding_dropout,
            word_dropout=word_dropout,
        )
        self.embedding_scale = self.input.scale
        num_heads = heads_for(annotation_size, num_heads)
        layers = (
            EncoderLayer(
                annotation_size,
                num_heads,
                feed_forward_size or 4 * annotation_size,
                activation=activation,
                norm=norm,
                dropout=dropout,
                attention_dropout=attention_dropout,
                activation_dropout=activation_dropout,
            )
            for _ in range(num_layers)
        )
        self.layers = cast(Sequence[EncoderLayer], nn.ModuleList(layers))
        self.norm = final_norm(annotation_size, norm)

    def forward(self, tokens: Tensor, mask: Tensor) -> Memory:
        """Encode `tokens` (B, S) whose real ones are true in `mask` (B, S) and come first."""
        embedded = self.embedding(tokens)
        x = self.input(embedded)
        allowed = mask[:, None, None]
        for layer in self.layers:
            x = layer(x, allowed)
        return Memory.of(self.norm(x), mask, words=embedded * self.embedding_scale, tokens=tokens)
