"""What a model says of a given translation: its probability, and where attention looks."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from nmt.alignment.alignment import Alignment
from nmt.alignment.reading import PieceAttention, Reading
from nmt.data.batches import batches_by_length, make_batch
from nmt.data.marks import WordRule
from nmt.data.pieces import EOS_ID, SPECIAL_PIECES
from nmt.data.segments import tidy
from nmt.data.tokenizer import Encoded, TokenizerPair
from nmt.decoding.forced import force_decode
from nmt.errors import NMTError
from nmt.models.seq2seq import Seq2Seq
from nmt.translator.source import encode
from nmt.translator.unknown import Replacement

_TOKENS = 2048  # of a batch: their logits (tokens, V) are all there at once


class Forced(NamedTuple):
    """What a model says of a given translation."""

    log_probability: float  # nats, end of sentence included
    pieces: list[str]
    token_log_probabilities: list[float]  # nats, one a piece and one for the end of sentence
    attention: PieceAttention | None  # None for models without
    text: str = ""  # the translation itself, tidied

    @property
    def score(self) -> float:
        return self.log_probability

    @property
    def tokens(self) -> list[tuple[str, float]]:
        """Pieces, the end of sentence among them, and their log-probabilities in nats."""
        return list(zip([*self.pieces, SPECIAL_PIECES[EOS_ID]], self.token_log_probabilities, strict=True))

    @property
    def replacements(self) -> list[Replacement]:
        """None: everything was given."""
        return []

    @property
    def alignment(self) -> Alignment | None:
        """The alignment of words; None for models without attention."""
        return None if self.attention is None else Reading().align(self.attention)

    def align(self, reading: Reading) -> Alignment:
        """The same as `reading` says."""
        return reading.align(require_attention(self.attention))


class _Pair(NamedTuple):
    """A source and its given translation, as the model sees them."""

    source: Encoded
    target: Encoded
    text: str  # the translation


def force(
    model: Seq2Seq,
    tokenizers: TokenizerPair,
    pairs: Sequence[tuple[str, str]],
    rule: WordRule | None = None,
    heads: bool = False,
) -> list[Forced]:
    """What `model` says of `pairs` of texts, in words by `rule`; with `heads` each head's attention, too."""
    encoded = [
        _Pair(
            encode(tokenizers.source, tidy(source), rule),
            encode(tokenizers.target, tidy(target), rule),
            tidy(target),
        )
        for source, target in pairs
    ]
    lengths = [max(len(pair.source.ids), len(pair.target.ids)) + 1 for pair in encoded]
    found: dict[int, Forced] = {}
    for positions in batches_by_length(lengths, _TOKENS):
        batch = [encoded[position] for position in positions]
        found.update(zip(positions, _force_batch(model, batch, heads), strict=True))
    return [found[position] for position in range(len(encoded))]


def _force_batch(model: Seq2Seq, pairs: Sequence[_Pair], heads: bool) -> list[Forced]:
    batch = make_batch([(pair.source.ids, pair.target.ids) for pair in pairs])
    batch = batch.to(next(model.parameters()).device)
    log_probabilities, *attention = force_decode(
        model, batch.src, batch.src_mask, batch.tgt_in, batch.tgt_out, batch.tgt_mask
    )
    rows = log_probabilities.cpu()
    weights, head_weights, posterior = map(_as_array, attention)
    found = []
    for row, (source, target, text) in enumerate(pairs):
        values = rows[row, : len(target.ids) + 1].tolist()
        attended = None
        if weights is not None:
            single = None if head_weights is None or not heads else head_weights[row]
            known = None if posterior is None else posterior[row]
            attended = _between_pieces(source, target, weights[row], single, known)
        found.append(Forced(sum(values), target.pieces, values, attended, text))
    return found


def _as_array(weights: torch.Tensor | None) -> np.ndarray | None:
    return None if weights is None else weights.float().cpu().numpy()


def _between_pieces(
    source: Encoded,
    target: Encoded,
    weights: np.ndarray,
    heads: np.ndarray | None,
    posterior: np.ndarray | None,
) -> PieceAttention:
    """The attention between two sentences, out of padded `weights` and `posterior` (T', S') and `heads`
    (L, N, T', S').
    """
    rows, columns = len(target.ids) + 1, len(source.ids) + 1
    return PieceAttention(
        [word.text for word in source.words],
        [word.text for word in target.words],
        source.word_of_piece,
        target.word_of_piece,
        weights[:rows, :columns],
        None if heads is None else heads[:, :, :rows, :columns],
        None if posterior is None else posterior[:rows, :columns],
    )


def require_attention(attention: PieceAttention | None) -> PieceAttention:
    if attention is None:
        raise NMTError("this run's model has no attention to align words by: choose a run with attention")
    return attention
