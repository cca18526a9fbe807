"""An encoder of one self-attention and nothing else: each annotation is a mean of the words, as seen from one
of them.

The encoder-only variants of introductions to attention: by plain dot products x_i · x_j, or by learned query,
key and value maps. Without `positions` it knows which words there are, not their order. Shapes: **B** batch,
**S** source length, **M** annotation size, **E** embedding size.
"""

from torch import Tensor, nn

from nmt.attention import DotAttention, QKVAttention, ScaledDotAttention
from nmt.attention.base import Attention
from nmt.errors import NMTError
from nmt.models.interfaces import Encoder
from nmt.models.positions import sinusoidal_positions
from nmt.models.state import Memory

SCORES = ("dot", "scaled_dot", "qkv")


class SelfAttentionEncoder(Encoder):
    """a_i = Σ_j softmax_j(score(x_i, x_j)) x_j over embedded words x, each sentence by itself.

    `score` is dot or scaled_dot, where a_i is mapped to M if E differs, or qkv, whose value map leads to M.
    `positions`: none, or sinusoidal (Vaswani 2017), added to the embeddings. `dropout` is the probability
    with which elements of the embeddings are dropped. There are no final states: a decoder starts from the
    mean of the annotations.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        annotation_size: int,
        *,
        score: str = "qkv",
        positions: str = "none",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if score not in SCORES:
            raise NMTError(f"encoder.score={score} is no score here; choose one of {', '.join(SCORES)}")
        if positions not in ("none", "sinusoidal"):
            raise NMTError(f"encoder.positions={positions}: choose none or sinusoidal")
        size = embedding.embedding_dim
        self.annotation_size = annotation_size
        self.embedding = embedding
        self.positions = positions
        self.dropout = nn.Dropout(dropout)
        self.attention: Attention
        if score == "qkv":
            self.attention = QKVAttention(size, size, alignment_size=annotation_size)
        else:
            self.attention = DotAttention(size) if score == "dot" else ScaledDotAttention(size)
        fits = self.attention.context_size == annotation_size
        self.output_map = nn.Identity() if fits else nn.Linear(size, annotation_size, bias=False)

    def forward(self, tokens: Tensor, mask: Tensor) -> Memory:
        """Encode `tokens` (B, S) whose real ones are true in `mask` (B, S) and come first."""
        words = self.embedding(tokens)
        if self.positions == "sinusoidal":
            words = words + sinusoidal_positions(words.shape[1], words.shape[2], like=words)
        words = self.dropout(words)
        context, _ = self.attention(words, words, mask, need_weights=False)
        return Memory.of(self.output_map(context), mask, words=words, tokens=tokens)
