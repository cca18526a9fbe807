"""A line as a model reads it: whole where it can, sentence by sentence or in windows where it is too long."""

from collections.abc import Sequence
from functools import cached_property
from typing import Literal, NamedTuple, get_args

from nmt.data.marks import WordRule, words_of
from nmt.data.segments import Segment, cut, tidy, words_of_spans
from nmt.data.tokenizer import Encoded, Tokenizer
from nmt.errors import NMTError
from nmt.translator.sentences import sentence_ends

Split = Literal["always", "long", "never"]  # which lines are split into sentences


class Source:
    """A tidied line; its pieces, words and where they stand are worked out when somebody asks for them."""

    def __init__(self, line: str, tokenizer: Tokenizer, rule: WordRule | None = None) -> None:
        self.text = tidy(line)
        self.ids = tokenizer.encode_ids(tokenizer.decapitalised(self.text)) if self.text else []
        self._tokenizer = tokenizer
        self._rule = rule

    @cached_property
    def encoded(self) -> Encoded:
        return self.encoded_from()

    def encoded_from(self, starts: Sequence[int] = (0,)) -> Encoded:
        """The text in pieces, with sentences that begin at the characters `starts`."""
        return encode(self._tokenizer, self.text, self._rule, starts)

    def decapitalised_at(self, start: int) -> bool:
        """Whether a sentence that begins at the character `start` is read without the capital it has."""
        return self._tokenizer.decapitalised(self.text, [start]) != self.text

    @cached_property
    def words(self) -> list[str]:
        return [word.text for word in self.encoded.words] if self.text else []


class WholeSource:
    """A source that is one segment, with all that `Segment` has."""

    def __init__(self, source: Source) -> None:
        self.ids = source.ids
        self._source = source

    @property
    def word_of_piece(self) -> list[int]:
        return self._source.encoded.word_of_piece

    @property
    def spans(self) -> list[tuple[int, int]]:
        return self._source.encoded.spans

    @property
    def decapitalised(self) -> bool:
        return self._source.decapitalised_at(0)


class Segments(NamedTuple):
    """The segments of a source, and the longest of its sentences that had to be cut into windows."""

    segments: list[Segment | WholeSource]  # none for a blank line
    longest_cut: int  # pieces; 0 where every sentence was short enough


def check_split(split: str) -> None:
    """Raise unless `split` is one of `Split`."""
    if split not in get_args(Split):
        raise NMTError(f"split={split}: choose {', '.join(get_args(Split)[:-1])} or {get_args(Split)[-1]}")


def segments_of(source: Source, limit: int, split: Split, language: str) -> Segments:
    """`source` in segments of at most `limit` pieces: itself, its sentences, or windows of these."""
    if not source.ids:
        return Segments([], 0)
    is_long = len(source.ids) > limit
    splits = split == "always" or (split == "long" and is_long)
    ends = sentence_ends(source.text, language) if splits else [len(source.text)]
    if len(ends) == 1 and not is_long:
        return Segments([WholeSource(source)], 0)
    segments: list[Segment | WholeSource] = []
    longest_cut = 0
    for sentence in _sentences(source.encoded_from([0, *ends[:-1]]), ends):
        windows = cut(sentence, limit)
        start = _begins(sentence, 0)
        windows[0] = windows[0]._replace(decapitalised=source.decapitalised_at(start))
        if len(windows) > 1:
            longest_cut = max(longest_cut, len(sentence.ids))
        segments += windows
    return Segments(segments, longest_cut)


def _sentences(encoded: Encoded, ends: list[int]) -> list[Encoded]:
    """The sentences that end at the characters `ends`, each with the pieces whose words begin in it."""
    sentences, start = [], 0
    for sentence_end in ends:
        end = start
        while end < len(encoded.ids) and _begins(encoded, end) < sentence_end:
            end += 1
        if end > start:
            sentences.append(
                Encoded(
                    encoded.ids[start:end],
                    encoded.pieces[start:end],
                    encoded.words,
                    encoded.word_of_piece[start:end],
                    encoded.spans[start:end],
                )
            )
        start = end
    return sentences


def _begins(encoded: Encoded, piece: int) -> int:
    """Where the word of a piece begins."""
    return encoded.words[encoded.word_of_piece[piece]].start


def encode(tokenizer: Tokenizer, text: str, rule: WordRule | None, starts: Sequence[int] = (0,)) -> Encoded:
    """`text` in pieces, which belong to words as the tokenizer splits them or else as `rule` does.

    Its sentences begin at the characters `starts`: pieces are those of the decapitalised text, words are not.
    """
    read = tokenizer.decapitalised(text, starts)
    encoded = tokenizer.encode(read)
    if read != text:
        words = [word._replace(text=text[word.start : word.end]) for word in encoded.words]
        encoded = encoded._replace(words=words)
    if rule is None or not text:
        return encoded
    words = words_of(text, rule)
    return encoded._replace(words=words, word_of_piece=words_of_spans(text, words, encoded.spans))
