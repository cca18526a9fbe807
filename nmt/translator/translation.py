"""What search found, as text: hypotheses spelled out, unknown words copied, attention folded into words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from nmt.alignment.alignment import Alignment
from nmt.alignment.fold import WordWeights
from nmt.alignment.reading import PieceAttention, Reading
from nmt.data.segments import Segment, words_of_spans
from nmt.data.tokenizer import EOS_ID, UNK_ID, Tokenizer
from nmt.data.words import Word
from nmt.decoding.search import Hypothesis
from nmt.errors import NMTError
from nmt.translator.source import Source, WholeSource
from nmt.translator.unknown import Replacement, replace

_UNKNOWN = "⁇"  # what a tokenizer writes for an unknown piece


class Part(NamedTuple):
    """A segment of the source, a hypothesis for it, and the text that this is."""

    segment: Segment | WholeSource
    hypothesis: Hypothesis
    copies: dict[int, str]  # what stands for pieces that the vocabulary cannot spell, by their position
    text: str
    replacements: tuple[Replacement, ...] = ()  # where that comes from


@dataclass(frozen=True, eq=False)
class TextHypothesis:
    """A translation that search found: its text, and the words that its attention joined."""

    text: str
    source: Source = field(repr=False)
    tokenizer: Tokenizer = field(repr=False)
    parts: tuple[Part, ...] = field(repr=False)  # more than one where the source was too long for the model

    @property
    def source_words(self) -> list[str]:
        """The words of the source."""
        return self.source.words

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

    @property
    def tokens(self) -> list[tuple[str, float]]:
        """Pieces, the ends of the parts among them, and their log-probabilities in nats."""
        pieces = [
            self.tokenizer.id_to_piece(number)
            for part in self.parts
            for number in (*part.hypothesis.tokens, EOS_ID)
        ]
        return list(zip(pieces, self.token_log_probabilities, strict=True))

    @property
    def replacements(self) -> list[Replacement]:
        """What stands for words that the vocabulary cannot spell."""
        return [replacement for part in self.parts for replacement in part.replacements]

    @cached_property
    def alignment(self) -> Alignment:
        """The words of source and translation and the attention between them."""
        return self.align(Reading())

    def align(self, reading: Reading) -> Alignment:
        """The same, read as `reading` says; search keeps no single layers and heads."""
        target: list[str] = []
        weights = [np.zeros((0, len(self.source_words)))]
        eos = [np.zeros(0)]
        for part in self.parts:
            spelled = spell(self.tokenizer, part.hypothesis.tokens, part.copies, part.segment.decapitalised)
            words = [word.text for word in spelled.words]
            folded = reading.fold_words(
                PieceAttention(
                    self.source_words,
                    words,
                    part.segment.word_of_piece,
                    spelled.word_of_piece,
                    attention_of(part.hypothesis),
                )
            )
            target += words
            weights.append(folded.weights)
            eos.append(folded.eos)
        folded = WordWeights(np.concatenate(weights), np.concatenate(eos))
        return reading.alignment(self.source_words, target, folded)


class AnyHypothesis(Protocol):
    """A translation, found or given, and what the model says of it."""

    @property
    def text(self) -> str: ...
    @property
    def score(self) -> float: ...
    @property
    def log_probability(self) -> float: ...
    @property
    def tokens(self) -> list[tuple[str, float]]: ...
    @property
    def replacements(self) -> list[Replacement]: ...
    def align(self, reading: Reading) -> Alignment: ...


@dataclass(frozen=True, eq=False)
class Translation:
    """A line of text and the translations found (or given) for it, best first, at least one."""

    source: str
    hypotheses: Sequence[AnyHypothesis]

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
        return self.hypotheses[0].align(Reading())


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


def make_part(
    tokenizer: Tokenizer,
    source: str,
    segment: Segment | WholeSource,
    hypothesis: Hypothesis,
    lexicon: Mapping[str, str] | None = None,
    given: Iterable[tuple[int, str]] = (),
) -> Part:
    """`hypothesis` as text, with a replacement for what the vocabulary cannot spell.

    That is the text `given` for a position or else, out of the tidied `source`, what `unknown.replace` finds.
    """
    copies = dict(given)
    replacements = tuple(
        replace(source, segment, hypothesis, position, lexicon or {})
        for position, token in enumerate(hypothesis.tokens)
        if token == UNK_ID and position not in copies
    )
    copies |= {replacement.position: replacement.text for replacement in replacements}
    text = spell(tokenizer, hypothesis.tokens, copies).text if copies else tokenizer.decode(hypothesis.tokens)
    if segment.decapitalised:
        text = capitalised(text)
    return Part(segment, hypothesis, copies, text.replace("\n", " "), replacements)


def spell(
    tokenizer: Tokenizer, tokens: Sequence[int], copies: Mapping[int, str], capital: bool = False
) -> Spelling:
    """The text of `tokens`, where those at the positions in `copies` are spelled as given.

    With `capital` it begins with one.
    """
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
    text = capitalised(text).replace("\n", " ") if capital else text.replace("\n", " ")
    words = tokenizer.words(text)
    return Spelling(text, words, words_of_spans(text, words, spans) if words else [0] * len(tokens))


def capitalised(text: str) -> str:
    """`text` with its first letter a capital, where that is one character too."""
    for place, character in enumerate(text):
        if character.isalpha():
            capital = character.upper()
            return text if len(capital) > 1 else text[:place] + capital + text[place + 1 :]
    return text
