"""From text to the ids that a model sees, and back: pieces that never cross a word."""

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import compress
from pathlib import Path
from typing import NamedTuple, Protocol, get_args

from nmt.data.lines import existing_file
from nmt.data.marks import SPACE, WordRule, detokenize, source_offsets, tokenize, words_of
from nmt.data.pieces import (
    BOS_ID,
    EOS_ID,
    PAD_ID,
    PIECE_TYPES,
    UNK_ID,
    UNKNOWN,
    PieceModel,
    PieceSettings,
    PieceType,
    given_model,
    train_pieces,
)
from nmt.data.words import Word
from nmt.errors import NMTError
from nmt.files import write_atomically

__all__ = [
    "BOS_ID",
    "EOS_ID",
    "PAD_ID",
    "UNK_ID",
    "Encoded",
    "Tokenizer",
    "TokenizerPair",
    "TokenizerTrainer",
]

_MAX_CACHED = 500_000  # entries of a cache; a full one starts again
_MAX_CACHED_LENGTH = 100  # characters: longer chunks hardly come back


class Encoded(NamedTuple):
    """A sentence as the model sees it, without <s> and </s>."""

    ids: list[int]
    pieces: list[str]
    words: list[Word]
    word_of_piece: list[int]  # index into words, for each piece; never falls
    spans: list[tuple[int, int]]  # the characters [start, end) of the text, for each piece


class Pairs(Protocol):
    """Pairs (source, target) of text: a Corpus, a list."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[tuple[str, str]]: ...


class Tokenizer:
    """One language's way from text to ids and back; `proto` is a SentencePiece model with our settings.

    Two tokenizers of equal `to_bytes()` are the same.
    """

    def __init__(self, proto: bytes) -> None:
        settings = PieceSettings.found_in(proto)
        if settings is None:
            raise NMTError(
                "a SentencePiece model without tokenizer settings: give it as tokenizer.model=FILE"
            )
        self._proto = proto
        self._settings = settings
        self._model = PieceModel(proto)
        self._id_of_piece = {piece: number for number, piece in enumerate(self._model.pieces)}
        self._bytes = list(self._model.bytes)
        if settings.type == "word":  # an unknown piece is a whole word
            self._bytes[UNK_ID] = (SPACE + UNKNOWN).encode()
        self._chunks: dict[str, list[int]] = {}  # ids of what lies between two single spaces
        self._tokens: dict[str, list[int]] = {}

    @property
    def vocabulary_size(self) -> int:
        """How many pieces there are, special ones included."""
        return len(self._model.pieces)

    def piece_to_id(self, piece: str) -> int:
        """The id of `piece`, or that of <unk>."""
        return self._id_of_piece.get(piece, UNK_ID)

    def id_to_piece(self, number: int) -> str:
        return self._model.pieces[number]

    def decapitalised(self, text: str, starts: Iterable[int] = (0,)) -> str:
        """`text` as the training text would write it: where its sentences begin in lower case, without the
        capitals at `starts` (characters), but for words that the vocabulary rather spells with one (names).

        No character moves. Truecasing of Lita et al. 2003, with the vocabulary in place of counts.
        """
        if not self._settings.starts_lower:
            return text
        for start in starts:
            chunk = text[start:].partition(" ")[0]
            first = next((place for place, character in enumerate(chunk) if character.isalpha()), None)
            if first is None or not chunk[first].isupper() or len(chunk[first].lower()) > 1:
                continue
            lowered = chunk[:first] + chunk[first].lower() + chunk[first + 1 :]
            if self._spelling_cost(lowered) < self._spelling_cost(chunk):
                text = text[:start] + lowered + text[start + len(chunk) :]
        return text

    def words(self, text: str) -> list[Word]:
        """The words of `text`: what its pieces fold into."""
        return words_of(text, self._settings.words)

    def encode(self, text: str) -> Encoded:
        """Ids and pieces of `text`, and the words and characters they stand for.

        A text of white space alone counts as one word here.
        """
        tokens, words = tokenize(text, self._settings.words, self._settings.marks)
        encoded = Encoded([], [], words, [], [])
        for token in tokens:
            ids, ranges = self._token_ids(token.text), self._model.ranges(token.text)
            offsets = source_offsets(token)
            encoded.ids.extend(ids)
            encoded.word_of_piece.extend([token.word] * len(ids))
            encoded.spans.extend((offsets[start], offsets[end]) for start, end in ranges)
        encoded.pieces.extend(self._model.pieces[number] for number in encoded.ids)
        return encoded

    def encode_ids(self, text: str) -> list[int]:
        """The ids of `encode(text)`, faster."""
        ids: list[int] = []
        try:
            for chunk in text.split(" "):
                ids += self._chunks[chunk]
        except KeyError:
            return self._encode_new(text)
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`: exactly the encoded text, but ``⁇`` for what the vocabulary cannot spell.

        Special pieces are skipped. Bytes that are not UTF-8 (a model may write them) become U+FFFD.
        """
        stream = b"".join([self._bytes[number] for number in ids])
        return detokenize(stream.decode("utf-8", "replace"), self._settings.marks)

    def to_bytes(self) -> bytes:
        """A SentencePiece model that other programs load too, with our settings at its end."""
        return self._proto

    def save(self, path: str | Path) -> None:
        with write_atomically(path) as file:
            file.write(self._proto)

    @classmethod
    def load(cls, path: str | Path) -> "Tokenizer":
        try:
            return cls(existing_file(path).read_bytes())
        except RuntimeError:
            raise NMTError(f"{path} is no tokenizer: it holds no SentencePiece model") from None

    def _encode_new(self, text: str) -> list[int]:
        """`encode_ids` of a text with a chunk that is not in the cache."""
        ids: list[int] = []
        plain = True
        for chunk in text.split(" "):
            found = self._chunks.get(chunk)
            if found is None:
                found, is_plain = self._encode_chunk(chunk)
                plain &= is_plain
            ids += found
        if plain:
            return ids
        tokens, _ = tokenize(text, self._settings.words, self._settings.marks)
        return [number for token in tokens for number in self._token_ids(token.text)]

    def _spelling_cost(self, chunk: str) -> tuple[int, int]:
        """How badly the vocabulary spells `chunk`: unknown pieces, then all of them."""
        ids = self.encode_ids(chunk)
        return ids.count(UNK_ID), len(ids)

    def _encode_chunk(self, chunk: str) -> tuple[list[int], bool]:
        """Ids of `chunk`, and whether it begins and ends with a word: then they are the same in any text."""
        tokens, words = tokenize(chunk, self._settings.words, self._settings.marks)
        ids = [number for token in tokens for number in self._token_ids(token.text)]
        plain = bool(chunk) and tokens[0].text[:1] == SPACE and words[-1].end == tokens[-1].end == len(chunk)
        plain = plain and tokens[-1].end - tokens[-1].start == len(words[-1].text)
        if plain and len(chunk) <= _MAX_CACHED_LENGTH:
            if len(self._chunks) >= _MAX_CACHED:
                self._chunks.clear()
            self._chunks[chunk] = ids
        return ids, plain

    def _token_ids(self, token: str) -> list[int]:
        found = self._tokens.get(token)
        if found is None:
            found = self._model.ids(token)
            if len(self._tokens) >= _MAX_CACHED:
                self._tokens.clear()
            if len(token) <= _MAX_CACHED_LENGTH:
                self._tokens[token] = found
        return found


class TokenizerPair(NamedTuple):
    """The tokenizers of both sides: one object twice if joint."""

    source: Tokenizer
    target: Tokenizer
    joint: bool

    def save(self, folder: str | Path) -> None:
        """Make `folder`, which must not exist or be empty, with joint.model or source.model and target.model.

        The folder appears when it is complete.
        """
        folder = Path(folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        models = {"joint": self.source} if self.joint else {"source": self.source, "target": self.target}
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as temporary:
            complete = Path(temporary) / "tokenizers"  # with the permissions of any new folder
            complete.mkdir()
            for name, tokenizer in models.items():
                tokenizer.save(complete / f"{name}.model")
            complete.replace(folder)

    @classmethod
    def load(cls, folder: str | Path) -> "TokenizerPair":
        folder = Path(folder)
        if (folder / "joint.model").exists():
            tokenizer = Tokenizer.load(folder / "joint.model")
            return cls(tokenizer, tokenizer, True)
        return cls(Tokenizer.load(folder / "source.model"), Tokenizer.load(folder / "target.model"), False)


class TokenizerTrainer:
    """Trains the tokenizers of a corpus, or takes given ones; the same corpus gives the same ones."""

    def __init__(
        self,
        type: PieceType = "unigram",
        vocabulary_size: int = 8000,
        target_vocabulary_size: int | None = None,
        joint: bool = True,
        byte_fallback: bool = False,
        character_coverage: float = 1.0,
        sample_size: int = 200_000,
        words: WordRule = "split",
        model: str | Mapping[str, str] | None = None,
    ) -> None:
        """Sizes in pieces: `vocabulary_size` of both sides or, with ``joint=False``, of the source (and, by
        default, the target).

        `sample_size` in pairs; `character_coverage`: the share of all characters that get a piece of their
        own; `model`: a SentencePiece model for both sides, or one for ``source`` and one for ``target``.
        """
        if type not in PIECE_TYPES:
            raise NMTError(f"tokenizer.type={type}: choose one of {', '.join(PIECE_TYPES)}")
        if words not in get_args(WordRule):
            raise NMTError(f"tokenizer.words={words}: choose one of {', '.join(get_args(WordRule))}")
        for name, value in (
            ("vocabulary_size", vocabulary_size),
            ("target_vocabulary_size", target_vocabulary_size),
        ):
            if value is not None and value <= 0:
                raise NMTError(f"tokenizer.{name}={value}: give a number of pieces, 1 or more")
        if joint and target_vocabulary_size is not None:
            raise NMTError(
                f"tokenizer.target_vocabulary_size={target_vocabulary_size} with joint=true, where both "
                f"sides share one vocabulary: set tokenizer.joint=false too, or leave it out"
            )
        if not 0.5 <= character_coverage <= 1:
            raise NMTError(
                f"tokenizer.character_coverage={character_coverage}: give a share between 0.5 and 1"
            )
        if sample_size <= 0:
            raise NMTError(f"tokenizer.sample_size={sample_size}: give a number of pairs, 1 or more")
        self._type = type
        self._sizes = vocabulary_size, target_vocabulary_size or vocabulary_size
        self._joint = joint
        self._byte_fallback = byte_fallback
        self._character_coverage = character_coverage
        self._sample_size = sample_size
        self._words: WordRule = words
        self._model = model

    def train(self, pairs: Pairs) -> TokenizerPair:
        """Tokenizers for `pairs` of (source, target): a corpus, or a list."""
        if self._model is not None:
            return self._given(self._model)
        sides = [Counter[str](), Counter[str]()]
        starts = [Counter[bool](), Counter[bool]()]  # whether texts begin in lower case
        for pair in sampled(pairs, self._sample_size):
            for chunks, lower, text in zip(sides, starts, pair, strict=True):
                chunks.update(text.split(" "))
                lower[text[:1].islower()] += text[:1].isalpha()
        source, target = (_count_tokens(chunks, self._words) for chunks in sides)
        if self._joint:
            tokenizer = self._train(source + target, self._sizes[0], starts[0] + starts[1], "joint")
            return TokenizerPair(tokenizer, tokenizer, True)
        return TokenizerPair(
            self._train(source, self._sizes[0], starts[0], "source"),
            self._train(target, self._sizes[1], starts[1], "target"),
            False,
        )

    def _train(self, counts: Counter[str], size: int, starts: Counter[bool], name: str) -> Tokenizer:
        proto = train_pieces(
            counts,
            self._type,
            size,
            self._byte_fallback,
            self._character_coverage,
            self._words,
            starts_lower=starts[True] > starts[False],
            name=name,
        )
        return Tokenizer(proto)

    def _given(self, model: str | Mapping[str, str]) -> TokenizerPair:
        if isinstance(model, Mapping):
            if set(model) != {"source", "target"}:
                raise NMTError(
                    f"tokenizer.model={dict(model)}: give one file, or one as source and one as target"
                )
            paths = model["source"], model["target"]
        else:
            paths = model, model
        protos = [given_model(existing_file(path).read_bytes(), self._words, str(path)) for path in paths]
        source = Tokenizer(protos[0])
        if protos[0] == protos[1]:
            return TokenizerPair(source, source, True)
        return TokenizerPair(source, Tokenizer(protos[1]), False)


def sampled(pairs: Pairs, size: int) -> Iterator[tuple[str, str]]:
    """About evenly spaced pairs of `pairs`, `size` of them, or all if they are no more."""
    total = len(pairs)
    if total <= size:
        return iter(pairs)
    return compress(pairs, ((number + 1) * size // total > number * size // total for number in range(total)))


def _count_tokens(chunks: Counter[str], words: WordRule) -> Counter[str]:
    """How often each token occurs in texts whose chunks (between spaces) are `chunks`.

    The spaces beside a chunk that does not begin or end with a word are counted once a chunk.
    """
    counts: Counter[str] = Counter()
    for chunk, count in chunks.items():
        tokens, _ = tokenize(chunk, words)
        if not tokens or tokens[0].text[0] != SPACE or chunk[-1].isspace():
            tokens = tokens + tokenize(" ", words)[0]
        for token in tokens:
            counts[token.text] += count
    return counts
