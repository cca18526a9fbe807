"""The Transformer's decoder (Vaswani et al. 2017, section 3.1), with any attention over the source.

Self-attention's cache has one row a sentence and stands with the source (see `nmt.models.self_attention`):
search reorders nothing but masks, and now and then the places of hypotheses that died are taken out.
Cross-attention takes the K hypotheses of a sentence as K queries.

Shapes: **B** batch (sentences), **K** hypotheses a sentence, **S** source length, **T** target length, **E**
embedding size, **H** size of a layer, **C** context size, **P** places in the cache, **L** layers, **N**
heads, **R** readout size, **V** target vocabulary.
"""

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from nmt.attention.base import Attended, Attention
from nmt.errors import NMTError
from nmt.models.feed_forward import FeedForward
from nmt.models.interfaces import Decoder, Features, Step
from nmt.models.residual import Residual, final_norm
from nmt.models.self_attention import Cache, SelfAttention, heads_for
from nmt.models.state import DecoderState, Memory, map_tensors
from nmt.models.word_input import WordInput

TIDY_EVERY = 8  # steps between two looks for places that nobody needs any more


class Source(NamedTuple):
    """The half of the state with one row a sentence; of attention and cache one for each layer."""

    attention: tuple[Any, ...]
    caches: tuple[Cache, ...]
    mask: Tensor  # (B, S)


class Prefix(NamedTuple):
    """The half of the state with one row a hypothesis."""

    own: Tensor  # (B * K, P) true where a cached place holds a word of this hypothesis
    memos: tuple[Any, ...]  # of each layer's attention
    position: int  # of the next word


class DecoderLayer(nn.Module):
    """Self-attention, attention over the source, feed-forward network, each within a residual connection.

    A context of other attentions than the multi-head one has not been through an output map W_o yet: one is
    added.
    """

    def __init__(
        self,
        size: int,
        num_heads: int,
        feed_forward_size: int,
        attention: Attention,
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
        self.attention = attention
        self.context_map = (
            nn.Identity() if attention.maps_context else nn.Linear(attention.context_size, size, bias=False)
        )
        self.attention_residual = Residual(size, norm, dropout)
        self.feed_forward = FeedForward(size, feed_forward_size, activation, activation_dropout)
        self.feed_forward_residual = Residual(size, norm, dropout)

    def forward(self, x: Tensor, source: Any, need_weights: bool) -> tuple[Tensor, Attended]:
        """A whole target `x` (B, T, H) at once: (B, T, H) and what was attended of `source`."""
        residual = self.self_residual
        x = residual.leave(x, self.self_attention(residual.enter(x), causal=True))
        query = self.attention_residual.enter(x)
        attended = self.attention.attend_sequence(query, source, need_weights)
        return self._finish(x, attended.context), attended

    def step(
        self, x: Tensor, own: Tensor | None, cache: Cache, source: Any, memo: Any, need_weights: bool
    ) -> tuple[Tensor, Attended, Cache, Any]:
        """The newest words `x` (B, K, H): (B, K, H), what was attended, and cache and memo after it."""
        residual = self.self_residual
        y, cache = self.self_attention.step(residual.enter(x), own, cache)
        x = residual.leave(x, y)
        query = self.attention_residual.enter(x)
        attended, memo = self.attention.attend(query, source, memo, need_weights)
        return self._finish(x, attended.context), attended, cache, memo

    def _finish(self, x: Tensor, context: Tensor) -> Tensor:
        """The rest of the layer after the context (B, T, C) of `x` (B, T, H) was found."""
        x = self.attention_residual.leave(x, self.context_map(context))
        residual = self.feed_forward_residual
        return residual.leave(x, self.feed_forward(residual.enter(x)))


class TransformerDecoder(Decoder):
    """`num_layers` layers over the words so far, each with an attention of its own over the source.

    Arguments: `embedding` of V rows (E); `attention`, a factory called once a layer with the query and
    annotation sizes (and, where it leaves them open, `num_heads` and the `dropout` of weights);
    `memory_size` (M); `hidden_size` (H); `align_layer` (from 1; None = the last but one, as Garg et al. 2019
    found best) and `align_head` (from 1; None = the heads' mean) say whose weights stand for the model's;
    `tie_output` shares the vocabulary projection's weights with `embedding`, by way of a map to R = E where H
    differs. The rest is as in `TransformerEncoder`.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        attention: Callable[..., Attention],
        memory_size: int,
        hidden_size: int,
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
        align_layer: int | None = None,
        align_head: int | None = None,
        tie_output: bool = False,
    ) -> None:
        super().__init__()
        self.size = hidden_size
        self.embedding = embedding
        self.input = WordInput(
            embedding.embedding_dim,
            hidden_size,
            positions=positions,
            max_positions=max_positions,
            dropout=dropout if embedding_dropout is None else embedding_dropout,
            word_dropout=word_dropout,
        )
        self.embedding_scale = self.input.scale
        num_heads = heads_for(hidden_size, num_heads)
        settings = _attention_settings(attention, num_heads, attention_dropout)
        layers = (
            DecoderLayer(
                hidden_size,
                num_heads,
                feed_forward_size or 4 * hidden_size,
                attention(query_size=hidden_size, annotation_size=memory_size, **settings),
                activation=activation,
                norm=norm,
                dropout=dropout,
                attention_dropout=attention_dropout,
                activation_dropout=activation_dropout,
            )
            for _ in range(num_layers)
        )
        self.layers = cast(Sequence[DecoderLayer], nn.ModuleList(layers))
        self.norm = final_norm(hidden_size, norm)
        self.align_layer = align_layer or max(1, num_layers - 1)
        self.align_head = align_head
        _check_attention(self.layers, self.align_layer, align_head)
        embedding_size = embedding.embedding_dim
        self.readout_size = embedding_size if tie_output else hidden_size
        self.readout = (
            nn.Identity()
            if self.readout_size == hidden_size
            else nn.Linear(hidden_size, embedding_size, bias=False)
        )
        self.projection = nn.Linear(self.readout_size, embedding.num_embeddings)
        if tie_output:
            self.projection.weight = embedding.weight

    def init_state(self, memory: Memory) -> DecoderState:
        sources = self._prepare(memory)
        batch_size = memory.mask.shape[0]
        memos = tuple(
            map_tensors(lambda tensor: tensor.flatten(0, 1), layer.attention.start(source))
            for layer, source in zip(self.layers, sources, strict=True)
        )
        caches = tuple(
            layer.self_attention.first_cache(memory.annotations, batch_size) for layer in self.layers
        )
        prefix = Prefix(memory.mask.new_empty(batch_size, 0), memos, 0)
        return DecoderState(Source(sources, caches, memory.mask), prefix)

    def step(self, tokens: Tensor, state: DecoderState) -> Step:
        source, prefix = state
        rows = source.mask.shape[0], tokens.shape[0] // source.mask.shape[0]  # B, K
        own, old_caches = prefix.own.unflatten(0, rows), source.caches
        if prefix.position % TIDY_EVERY == 0 and own.shape[2] > prefix.position:
            own, old_caches = _without_dead_ends(own, old_caches)
        own = _with_newest(own)
        # With one hypothesis all along, every place is its own.
        allowed = None if own.shape[2] == prefix.position + 1 else own
        x = self.input(self.embedding(tokens.unsqueeze(1)), prefix.position).view(*rows, self.size)
        memos = map_tensors(lambda tensor: tensor.unflatten(0, rows), prefix.memos)
        caches, new_memos, weights = [], [], None
        parts = zip(self.layers, source.attention, old_caches, memos, strict=True)
        for number, (layer, prepared, cache, memo) in enumerate(parts, start=1):
            wanted = number == self.align_layer
            x, attended, cache, memo = layer.step(x, allowed, cache, prepared, memo, wanted)
            weights = self._chosen(attended) if wanted else weights
            caches.append(cache)
            new_memos.append(memo)
        memo_rows = map_tensors(lambda tensor: tensor.flatten(0, 1), tuple(new_memos))
        hidden = self.readout(self.norm(x)).flatten(0, 1)
        return Step(
            self.output(hidden),
            None if weights is None else weights.flatten(0, 1),
            DecoderState(
                source._replace(caches=tuple(caches)),
                Prefix(own.flatten(0, 1), memo_rows, prefix.position + 1),
            ),
        )

    def features(self, tokens: Tensor, memory: Memory, need_weights: bool = True) -> Features:
        x = self.input(self.embedding(tokens))
        layers = []
        for layer, source in zip(self.layers, self._prepare(memory), strict=True):
            x, attended = layer(x, source, need_weights)
            layers.append(attended)
        chosen = layers[self.align_layer - 1]
        return Features(
            self.readout(self.norm(x)),
            self._chosen(chosen),
            chosen.log_probability,
            _all_heads(layers) if need_weights else None,
            tuple(layers),
        )

    def output(self, hidden: Tensor) -> Tensor:
        return self.projection(hidden)

    def attention_loss(
        self, features: Features, targets: Tensor, log_likelihood: Tensor, mask: Tensor
    ) -> Tensor | None:
        """The sum of what the layers' attentions add; only the top one's contexts reach no later word."""
        losses = [
            layer.attention.loss(
                attended.weights, attended.log_probability, log_likelihood, mask, layer is not self.layers[-1]
            )
            for layer, attended in zip(self.layers, features.layers, strict=True)
        ]
        present = [loss for loss in losses if loss is not None]
        return torch.stack(present).sum() if present else None

    def guidance_loss(self, features: Features, targets: Tensor, mask: Tensor, links: Tensor) -> Tensor:
        assert features.weights is not None
        attention = self.layers[self.align_layer - 1].attention
        return attention.guidance_loss(features.weights, features.log_probability, links)

    def _prepare(self, memory: Memory) -> tuple[Any, ...]:
        """What each layer's attention makes of the source."""
        return tuple(layer.attention.prepare(memory.annotations, memory.mask) for layer in self.layers)

    def _chosen(self, attended: Attended) -> Tensor | None:
        """The weights (B, T, S) of the head asked for, or the mean of the heads."""
        if self.align_head is None or attended.head_weights is None:
            return attended.weights
        return attended.head_weights[:, self.align_head - 1]


def _without_dead_ends(own: Tensor, caches: tuple[Cache, ...]) -> tuple[Tensor, tuple[Cache, ...]]:
    """`own` (B, K, P) and `caches` without the places that no hypothesis owns any more, where those are many.

    Hypotheses soon share all but their latest words, so that about T places of K T stay. Sentences with fewer
    than the most keep some dead ones, masked as before. A quarter must go: so what is copied over all steps
    grows as T does.
    """
    owned = own.any(dim=1)  # (B, P)
    most = int(owned.sum(dim=1).max())
    if 4 * most > 3 * own.shape[2]:
        return own, caches
    places = owned.long().argsort(dim=1, descending=True, stable=True)[:, :most]
    kept = own.gather(2, places.unsqueeze(1).expand(-1, own.shape[1], -1))
    return kept, tuple(cache.at(places) for cache in caches)


def _with_newest(own: Tensor) -> Tensor:
    """`own` (B, K, P) with the K places of the newest words, one of which belongs to each hypothesis."""
    newest = torch.eye(own.shape[1], dtype=torch.bool, device=own.device)
    return torch.cat([own, newest.expand(own.shape[0], -1, -1)], dim=2)


def _all_heads(layers: list[Attended]) -> Tensor | None:
    """Weights (B, L, N, T, S) of all layers' heads; N = 1 where an attention has none."""
    heads = [
        attended.weights.unsqueeze(1)
        if attended.head_weights is None and attended.weights is not None
        else attended.head_weights
        for attended in layers
    ]
    present = [head for head in heads if head is not None]
    return torch.stack(present, dim=1) if present else None


def _attention_settings(
    attention: Callable[..., Attention], num_heads: int, dropout: float
) -> dict[str, Any]:
    """What the factory `attention` takes and leaves open of the decoder's own settings."""
    parameters = signature(attention).parameters
    own = {"num_heads": num_heads, "dropout": dropout}
    return {name: own[name] for name in own if name in parameters and parameters[name].default is None}


def _check_attention(layers: Sequence[DecoderLayer], align_layer: int, align_head: int | None) -> None:
    """Raise for an attention that shows the decoder nothing, or weights to align by that are not there."""
    attention = layers[0].attention
    if attention.context_size == 0:
        raise NMTError(
            "attention.feed=false shows a Transformer decoder nothing of the source: set attention.feed=true"
        )
    if not 1 <= align_layer <= len(layers):
        raise NMTError(f"decoder.align_layer={align_layer} is not within 1 and num_layers={len(layers)}")
    if align_head is not None and not 1 <= align_head <= attention.num_heads:
        raise NMTError(
            f"decoder.align_head={align_head} is not within 1 and the attention's {attention.num_heads} heads"
        )
