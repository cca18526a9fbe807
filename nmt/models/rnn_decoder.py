"""Attentive recurrent decoders in both published orders.

`AttendThenUpdate` (Bahdanau 2015, eqs. 4-6): the old state s_{i-1} asks, the context c_i enters the
recurrence. `UpdateThenAttend` (Luong 2015, eqs. 5-8): the recurrence moves first, the new state h_t asks;
with input feeding the attentional vector of the step before enters the recurrence.

Shapes: **B** batch (sentences), **K** hypotheses a sentence, **S** source length, **T** target length, **E**
embedding size, **H** state size, **C** context size, **R** readout size, **V** target vocabulary.
"""

from collections.abc import Callable, Iterator, Sequence
from inspect import signature
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from nmt.attention.base import Attended, Attention, concatenate_steps
from nmt.attention.guidance import cross_entropy, guidance_loss
from nmt.errors import NMTError
from nmt.models.bridge import Bridge
from nmt.models.hidden_alignment import HiddenAlignment, lexicon_of
from nmt.models.interfaces import Decoder, Features, Step
from nmt.models.lexical import LexicalModel
from nmt.models.recurrent import RecurrentLayer, State, Stepper
from nmt.models.state import DecoderState, Memory, map_tensors

Steppers = tuple[Stepper, ...]  # one a layer


class Source(NamedTuple):
    """The half of the state with one row a sentence."""

    attention: Any
    mask: Tensor  # (B, S)
    words: Tensor | None  # (B, S, E), where a lexical model reads them


class Prefix(NamedTuple):
    """The half of the state with one row a hypothesis."""

    layers: tuple[State, ...]
    feed: Tensor | None  # (B * K, R): the attentional vector that input feeding hands on
    memo: Any


class RNNDecoder(Decoder):
    """What both orders share: embeddings, recurrent layers, bridge, readout and vocabulary projection.

    Arguments: `embedding` of V rows (E); `attention`, a factory called with the query and annotation sizes;
    `memory_size` (M); `hidden_size` (H); `num_layers`; `cell` gru, lstm or rnn; `start` and `bridge` as in
    `Bridge`; `readout` tanh or maxout; `readout_size` (R; by default E with tied output embeddings and H
    without); `lexical` adds a `LexicalModel` to the readout, where the attention has weights, and in training
    `context_dropout` is the probability with which a step's readout then goes without its context;
    `hidden_alignment` is the weight of a loss that has single words translate each other by the lexical model
    under a `HiddenAlignment`, whose posterior teaches the attention, too, and is taught by links where the
    attention is; `dropout` probability on embeddings, between layers and on the readout; `tie_output` shares
    the vocabulary projection's weights with `embedding`.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        attention: Callable[..., Attention],
        memory_size: int,
        hidden_size: int,
        *,
        num_layers: int = 1,
        cell: str = "gru",
        start: str = "mean",
        bridge: bool = True,
        readout: str = "tanh",
        readout_size: int | None = None,
        lexical: bool = False,
        context_dropout: float = 0.0,
        hidden_alignment: float = 0.0,
        dropout: float = 0.0,
        tie_output: bool = False,
    ) -> None:
        super().__init__()
        embedding_size = embedding.embedding_dim
        self.readout_size = readout_size or (embedding_size if tie_output else hidden_size)
        self.embedding = embedding
        self.attention = attention(**_attention_sizes(attention, hidden_size, memory_size, embedding_size))
        first = RecurrentLayer(cell, embedding_size, hidden_size, self._feedback_size())
        others = (RecurrentLayer(cell, hidden_size, hidden_size) for _ in range(num_layers - 1))
        self.layers = cast(Sequence[RecurrentLayer], nn.ModuleList([first, *others]))
        self.bridge = Bridge(
            memory_size, hidden_size, num_layers, start=start, project=bridge, has_cell=cell == "lstm"
        )
        self.readout = Readout(self._readout_inputs(hidden_size), self.readout_size, readout)
        speaks = lexical and self.attention.aligns
        self.lexical = LexicalModel(embedding_size, self.readout_size) if speaks else None
        self.context_dropout = context_dropout
        self.hidden_alignment = hidden_alignment
        if hidden_alignment and not speaks:
            raise NMTError(
                f"decoder.hidden_alignment={hidden_alignment}: needs decoder.lexical=true and attention with "
                "weights"
            )
        self.chain = HiddenAlignment() if hidden_alignment else None
        self.projection = nn.Linear(self.readout_size, embedding.num_embeddings)
        if tie_output:
            if self.readout_size != embedding_size:
                raise NMTError(
                    f"tied output embeddings of size {embedding_size} do not fit "
                    f"a readout of size {self.readout_size}"
                )
            self.projection.weight = embedding.weight
        self.dropout = nn.Dropout(dropout)

    def _feedback_size(self) -> int:
        """How much of the past enters the recurrence beside the last word's embedding."""
        raise NotImplementedError

    def _readout_inputs(self, hidden_size: int) -> list[int]:
        """The sizes of what the readout looks at."""
        raise NotImplementedError

    def _advance(
        self, steppers: Steppers, embedded: Tensor, projected: Tensor, source: Source, prefix: Prefix
    ) -> "_Advance":
        """One step of all rows from embedded words (B * K, E), `projected` being their part of the first
        layer's gates.
        """
        raise NotImplementedError

    def init_state(self, memory: Memory) -> DecoderState:
        source = self.attention.prepare(memory.annotations, memory.mask)
        memo = map_tensors(lambda tensor: tensor.flatten(0, 1), self.attention.start(source))
        prefix = Prefix(self.bridge(memory), self._first_feed(memory), memo)
        return DecoderState(Source(source, memory.mask, memory.words if self.lexical else None), prefix)

    def step(self, tokens: Tensor, state: DecoderState) -> Step:
        embedded = self.dropout(self.embedding(tokens))
        projected = self.layers[0].project(embedded)
        hidden, attended, prefix = self._advance(
            self._steppers(), embedded, projected, state.source, state.prefix
        )
        weights = None if attended.weights is None else attended.weights.flatten(0, 1)
        return Step(self.output(hidden), weights, state._replace(prefix=prefix))

    def output(self, hidden: Tensor) -> Tensor:
        return self.projection(hidden)

    def attention_loss(
        self, features: Features, targets: Tensor, log_likelihood: Tensor, mask: Tensor
    ) -> Tensor | None:
        feeds_back = self._feedback_size() > 0
        own = self.attention.loss(
            features.weights, features.log_probability, log_likelihood, mask, feeds_back
        )
        if self.chain is None or not self.training:
            return own
        hidden = self.hidden_alignment * self._hidden_alignment_loss(features, targets, mask)
        return hidden if own is None else own + hidden

    def _hidden_alignment_loss(self, features: Features, targets: Tensor, mask: Tensor) -> Tensor:
        """What the hidden alignment makes of the target, and how far the attention is from its posterior."""
        assert self.chain is not None and features.weights is not None and features.memory is not None
        lexicon, src_mask = self._lexicon(features.memory, targets), features.memory.mask
        with torch.no_grad():
            posterior = self.chain.posterior(lexicon, src_mask, mask) * mask.unsqueeze(2)
        return cross_entropy(features.weights, posterior) - self.chain(lexicon, src_mask, mask)

    def posterior(self, features: Features, targets: Tensor, mask: Tensor) -> Tensor | None:
        if self.chain is None:
            return None
        assert features.memory is not None
        return self.chain.posterior(self._lexicon(features.memory, targets), features.memory.mask, mask)

    def _lexicon(self, memory: Memory, targets: Tensor) -> Tensor:
        """p(y_t | x_j) (B, T, S): what the lexical model says of each kind of word in the batch by itself."""
        assert self.lexical is not None and memory.words is not None and memory.tokens is not None
        kinds, kind_of = memory.tokens.unique(return_inverse=True)
        places = torch.arange(kind_of.numel(), device=kind_of.device)
        first = places.new_full(kinds.shape, kind_of.numel()).scatter_reduce(
            0, kind_of.flatten(), places, "amin"
        )
        logits = self.output(self.lexical.translate(memory.words.flatten(0, 1)[first]))
        return lexicon_of(logits, kind_of, targets)

    def guidance_loss(self, features: Features, targets: Tensor, mask: Tensor, links: Tensor) -> Tensor:
        assert features.weights is not None
        own = self.attention.guidance_loss(features.weights, features.log_probability, links)
        posterior = self.posterior(features, targets, mask)
        return own if posterior is None else own + guidance_loss(posterior, links)

    def _read_out(self, attended: Attended, words: Tensor | None, *states: Tensor) -> Tensor:
        """Readouts (B, T, R) of what was attended, `states` (B, T, ...) and the source's `words` (B, S, E).

        Where the context is dropped, the lexical model has to do: attention learns to look at the word that
        says most by itself, and not at a neighbour whose annotation knows of it.
        """
        context = attended.context
        if self.lexical is None:
            return self.dropout(self.readout(context, *states))
        assert attended.weights is not None and words is not None
        if self.training and self.context_dropout:
            kept = torch.rand(context.shape[:2], device=context.device) >= self.context_dropout
            context = context * kept.unsqueeze(2)
        return self.dropout(self.readout(context, *states) + self.lexical(attended.weights, words))

    def _query(self, states: Tensor, embedded: Tensor) -> Tensor:
        """What asks: `states` (..., H), beside the words (..., E) where the attention reads them."""
        return torch.cat([states, embedded], dim=-1) if self.attention.reads_word else states

    def _first_feed(self, memory: Memory) -> Tensor | None:
        return None

    def _steppers(self) -> Steppers:
        """The layers, ready to go through one target."""
        return tuple(layer.stepper() for layer in self.layers)

    def _update(self, steppers: Steppers, gates: Tensor, layers: tuple[State, ...]) -> tuple[State, ...]:
        """New states of all layers, the first of which is driven by `gates` (B * K, G*H)."""
        states = [steppers[0].step(gates, layers[0])]
        for layer, stepper, old in zip(self.layers[1:], steppers[1:], layers[1:], strict=True):
            states.append(stepper.step(layer.project(self.dropout(states[-1][0])), old))
        return tuple(states)

    def _attend(self, query: Tensor, source: Source, memo: Any) -> tuple[Attended, Any]:
        """Ask with one query (B * K, H) a hypothesis; what was attended keeps its axes (B, K, ...)."""
        sentences = source.mask.shape[0]
        memo = map_tensors(lambda tensor: tensor.unflatten(0, (sentences, -1)), memo)
        attended, memo = self.attention.attend(query.unflatten(0, (sentences, -1)), source.attention, memo)
        return attended, map_tensors(lambda tensor: tensor.flatten(0, 1), memo)


def _attention_sizes(
    attention: Callable[..., Attention], hidden_size: int, memory_size: int, embedding_size: int
) -> dict[str, int]:
    """The sizes that the factory `attention` asks for: words' only if it can read them."""
    sizes = {"query_size": hidden_size, "annotation_size": memory_size}
    if "embedding_size" in signature(attention).parameters:
        sizes["embedding_size"] = embedding_size
    return sizes


def _steps(*sequences: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Step by step what `sequences` (B, T, ...) hold."""
    return zip(*(sequence.unbind(dim=1) for sequence in sequences), strict=True)


def _features(hidden: Tensor, attended: Attended, memory: Memory) -> Features:
    """Readouts and what was attended, whose heads are those of the one layer that attends."""
    heads = attended.head_weights
    return Features(
        hidden,
        attended.weights,
        attended.log_probability,
        None if heads is None else heads.unsqueeze(1),
        memory=memory,
    )


class _Advance(NamedTuple):
    """One step: readout (B * K, R), what was attended (axes B, K) and the prefix after it."""

    hidden: Tensor
    attended: Attended
    prefix: Prefix


class Readout(nn.Module):
    """t = tanh(sum of linear maps), or maxout over pairs (Goodfellow 2013; Bahdanau 2015, appendix A.2.2)."""

    def __init__(self, input_sizes: list[int], size: int, kind: str) -> None:
        super().__init__()
        if kind not in ("tanh", "maxout"):
            raise NMTError(f"readout={kind} is no readout; choose tanh or maxout")
        self.kind = kind
        self.linear = nn.Linear(sum(input_sizes), 2 * size if kind == "maxout" else size)

    def forward(self, *inputs: Tensor) -> Tensor:
        """Readout (..., R) of `inputs` (..., their sizes)."""
        mapped = self.linear(torch.cat(inputs, dim=-1))
        return mapped.unflatten(-1, (-1, 2)).amax(dim=-1) if self.kind == "maxout" else torch.tanh(mapped)


class AttendThenUpdate(RNNDecoder):
    """s_i = f(s_{i-1}, y_{i-1}, c_i), c_i attended by s_{i-1} (the top layer's), readout of (s_i, y_{i-1},
    c_i).

    The readout sees s_i as in the paper's eq. 4; its appendix writes s_{i-1} there. Readout and vocabulary
    run outside the recurrence, and so does the words' part of the gates.
    """

    def _feedback_size(self) -> int:
        return self.attention.context_size

    def _readout_inputs(self, hidden_size: int) -> list[int]:
        return [self.attention.context_size, hidden_size, self.embedding.embedding_dim]

    def _recur(
        self, steppers: Steppers, embedded: Tensor, projected: Tensor, source: Source, prefix: Prefix
    ) -> tuple[Attended, Prefix]:
        """Attend, then update: what was attended and the new prefix."""
        attended, memo = self._attend(self._query(prefix.layers[-1][0], embedded), source, prefix.memo)
        gates = steppers[0].feed_back(projected, attended.context.flatten(0, 1))
        return attended, Prefix(self._update(steppers, gates, prefix.layers), None, memo)

    def _advance(
        self, steppers: Steppers, embedded: Tensor, projected: Tensor, source: Source, prefix: Prefix
    ) -> _Advance:
        attended, prefix = self._recur(steppers, embedded, projected, source, prefix)
        state, word = (
            tensor.view(*attended.context.shape[:2], -1) for tensor in (prefix.layers[-1][0], embedded)
        )
        hidden = self._read_out(attended, source.words, state, word)
        return _Advance(hidden.flatten(0, 1), attended, prefix)

    def features(self, tokens: Tensor, memory: Memory, need_weights: bool = True) -> Features:
        source, prefix = self.init_state(memory)
        embedded = self.dropout(self.embedding(tokens))
        steppers = self._steppers()
        states, steps = [], []
        for word, projected in _steps(embedded, self.layers[0].project(embedded)):
            attended, prefix = self._recur(steppers, word, projected, source, prefix)
            states.append(prefix.layers[-1][0])
            steps.append(attended)
        attended = concatenate_steps(steps)
        hidden = self._read_out(attended, source.words, torch.stack(states, dim=1), embedded)
        return _features(hidden, attended, memory)


class UpdateThenAttend(RNNDecoder):
    """h_t = f(h_{t-1}, y_{t-1}), c_t attended by h_t, attentional vector h~_t = tanh(W_c [c_t; h_t]) read
    out.

    With `input_feeding` h~_{t-1} enters the recurrence beside the word (Luong 2015, section 3.3). Without,
    nothing feeds back: all layers run over the whole target at once, and attention takes all its queries
    together.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        attention: Callable[..., Attention],
        memory_size: int,
        hidden_size: int,
        *,
        input_feeding: bool = True,
        num_layers: int = 1,
        cell: str = "gru",
        start: str = "last",
        bridge: bool = True,
        readout: str = "tanh",
        readout_size: int | None = None,
        lexical: bool = False,
        context_dropout: float = 0.0,
        hidden_alignment: float = 0.0,
        dropout: float = 0.0,
        tie_output: bool = False,
    ) -> None:
        self.input_feeding = input_feeding
        super().__init__(
            embedding,
            attention,
            memory_size,
            hidden_size,
            num_layers=num_layers,
            cell=cell,
            start=start,
            bridge=bridge,
            readout=readout,
            readout_size=readout_size,
            lexical=lexical,
            context_dropout=context_dropout,
            hidden_alignment=hidden_alignment,
            dropout=dropout,
            tie_output=tie_output,
        )

    def _feedback_size(self) -> int:
        return self.readout_size if self.input_feeding else 0

    def _readout_inputs(self, hidden_size: int) -> list[int]:
        return [self.attention.context_size, hidden_size]

    def _first_feed(self, memory: Memory) -> Tensor | None:
        if not self.input_feeding:
            return None
        return memory.annotations.new_zeros(memory.annotations.shape[0], self.readout_size)

    def _advance(
        self, steppers: Steppers, embedded: Tensor, projected: Tensor, source: Source, prefix: Prefix
    ) -> _Advance:
        gates = projected if prefix.feed is None else steppers[0].feed_back(projected, prefix.feed)
        layers = self._update(steppers, gates, prefix.layers)
        state = layers[-1][0]
        attended, memo = self._attend(self._query(state, embedded), source, prefix.memo)
        hidden = self._read_out(attended, source.words, state.view(*attended.context.shape[:2], -1)).flatten(
            0, 1
        )
        return _Advance(hidden, attended, Prefix(layers, hidden if self.input_feeding else None, memo))

    def features(self, tokens: Tensor, memory: Memory, need_weights: bool = True) -> Features:
        embedded = self.dropout(self.embedding(tokens))
        return self._unroll(embedded, memory) if self.input_feeding else self._at_once(embedded, memory)

    def _unroll(self, embedded: Tensor, memory: Memory) -> Features:
        source, prefix = self.init_state(memory)
        steppers = self._steppers()
        readouts, steps = [], []
        for word, projected in _steps(embedded, self.layers[0].project(embedded)):
            hidden, attended, prefix = self._advance(steppers, word, projected, source, prefix)
            readouts.append(hidden)
            steps.append(attended)
        attended = concatenate_steps(steps)
        return _features(torch.stack(readouts, dim=1), attended, memory)

    def _at_once(self, embedded: Tensor, memory: Memory) -> Features:
        states = embedded
        for index, (layer, start) in enumerate(zip(self.layers, self.bridge(memory), strict=True)):
            states = layer.run(self.dropout(states) if index else states, start)
        source = self.attention.prepare(memory.annotations, memory.mask)
        attended = self.attention.attend_sequence(self._query(states, embedded), source)
        return _features(self._read_out(attended, memory.words, states), attended, memory)
