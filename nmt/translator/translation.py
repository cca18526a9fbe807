"""What search found, as text: hypotheses spelled out, unknown words copied, attention folded into words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nmt.alignment.alignment import Alignment
from nmt.alignment.fold import fold_pieces
from nmt.data.segments import Segment, words_of_spans
from nmt.data.tokenizer import UNK_ID, Tokenizer
from nmt.data.words import Word
from nmt.decoding.search import Hypothesis
from nmt.errors import NMTError

_UNKNOWN = "⁇"  # what a tokenizer writes for an unknown piece


class Part(NamedTuple):
    """A segment of the source, a hypothesis for it, and the text that this is."""

    segment: Segment
    hypothesis: Hypothesis
    copies: dict[int, str]  # text copied from the source for unknown pieces, by their position
    text: str


@dataclass(frozen=True, eq=False)
class TextHypothesis:
    """A translation that search found: its text, and the words that its attention joined."""

    text: str
    source_words: list[str]
    tokenizer: Tokenizer = field(repr=False)
    parts: tuple[Part, ...] = field(repr=False)  # more than one where the source was too long for the model

    @property
    def score(self) -> float:
        """Log-probability over length penalty, summed over the parts."""
        return sum(part.hypothesis.score for part in self.parts)

    @property
    def log_probability(self) -> float:
        """In nats, ends of sentences included."""
        return sum(part.hypothesis.log_probability for part in self.parts)

    @property
    def token_log_probabilities(self) -> list[float]:
        """In nats, one a piece and one for the end of each part."""
        return [value for part in self.parts for value in part.hypothesis.token_log_probabilities]

    @cached_property
    def alignment(self) -> Alignment:
        """The words of source and translation and the attention between them."""
        target: list[str] = []
        weights = [np.zeros((0, len(self.source_words)))]
        eos = [np.zeros(0)]
        for part in self.parts:
            spelled = spell(self.tokenizer, part.hypothesis.tokens, part.copies)
            folded = fold_pieces(
                attention_of(part.hypothesis),
                part.segment.word_of_piece,
                len(self.source_words),
                spelled.word_of_piece,
                len(spelled.words),
            )
            target += [word.text for word in spelled.words]
            weights.append(folded.weights)
            eos.append(folded.eos)
        return Alignment.of(self.source_words, target, np.concatenate(weights), np.concatenate(eos))


@dataclass(frozen=True, eq=False)
class Translation:
    """A line of text and the translations found for it, best first, at least one."""

    source: str
    hypotheses: list[TextHypothesis]

    @property
    def text(self) -> str:
        """The best translation; it never holds a ``\\n``."""
        return self.hypotheses[0].text

    @property
    def score(self) -> float:
        """The best translation's log-probability over its length penalty."""
        return self.hypotheses[0].score

    @property
    def alignment(self) -> Alignment:
        """The best translation's word alignment."""
        return self.hypotheses[0].alignment


class Spelling(NamedTuple):
    """The text of tokens, its words, and for each token the index of its word."""

    text: str
    words: list[Word]
    word_of_piece: list[int]


def attention_of(hypothesis: Hypothesis) -> np.ndarray:
    """The weights (T + 1, S + 1) of a hypothesis, or an error for models without."""
    if hypothesis.weights is None:
        raise NMTError("this run's model has no attention to align words by: choose a run with attention")
    return (
        hypothesis.weights.float().numpy()
        if hypothesis.weights.is_cpu
        else hypothesis.weights.float().cpu().numpy()
    )


def make_part(tokenizer: Tokenizer, source: str, segment: Segment, hypothesis: Hypothesis) -> Part:
    """`hypothesis` as text, with what the vocabulary cannot spell copied from the tidied `source`."""
    copies = {
        position: _copy(source, segment, hypothesis, position)
        for position, token in enumerate(hypothesis.tokens)
        if token == UNK_ID
    }
    text = spell(tokenizer, hypothesis.tokens, copies).text if copies else tokenizer.decode(hypothesis.tokens)
    return Part(segment, hypothesis, copies, text.replace("\n", " "))


def _copy(source: str, segment: Segment, hypothesis: Hypothesis, position: int) -> str:
    """The source text of the piece that the target piece at `position` looked at most (Luong et al. 2015b).

    Without attention, of the piece at the same place.
    """
    if hypothesis.weights is None:
        piece = min(position, len(segment.ids) - 1)
    else:
        piece = int(hypothesis.weights[position, : len(segment.ids)].argmax())
    start, end = segment.spans[piece]
    return source[start:end].strip()


def spell(tokenizer: Tokenizer, tokens: Sequence[int], copies: Mapping[int, str]) -> Spelling:
    """The text of `tokens`, where those at the positions in `copies` are spelled as given."""
    # What each token adds to the text is the difference between two beginnings of it: only so do a joiner at
    # its end, an escape or half a character count for what they become.
    ends = [0, *(len(tokenizer.decode(tokens[: number + 1])) for number in range(len(tokens)))]
    raw = tokenizer.decode(tokens)
    text = ""
    spans = []
    for position in range(len(tokens)):
        added = raw[ends[position] : ends[position + 1]]
        if position in copies:
            added = added.replace(_UNKNOWN, copies[position])
        spans.append((len(text), len(text) + len(added)))
        text += added
    text = text.replace("\n", " ")
    words = tokenizer.words(text)
    return Spelling(text, words, words_of_spans(text, words, spans) if words else [0] * len(tokens))
