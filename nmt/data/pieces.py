"""SentencePiece models over the tokens of `nmt.data.marks`: training, ids, pieces.

Unigram: Kudo 2018; bpe: Sennrich et al. 2016; both as in Kudo and Richardson 2018 (SentencePiece).
"""

import io
import json
import logging
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import sentencepiece

from nmt.data.marks import ESCAPE, JOINER, SPACE, Marks, WordRule
from nmt.errors import NMTError

PAD_ID, UNK_ID, BOS_ID, EOS_ID = range(4)
SPECIAL_PIECES = ("<pad>", "<unk>", "<s>", "</s>")
UNKNOWN = "⁇"  # what text shows for an unknown piece, as SentencePiece does

PieceType = Literal["unigram", "bpe", "char", "word"]
PIECE_TYPES: tuple[str, ...] = get_args(PieceType)

_MAX_CHARACTERS = (
    4_000_000  # occurrences that training looks at: above, counts are scaled (its time is linear)
)
_MAX_TOKEN_LENGTH = 1000  # characters: longer tokens are no words
_MAX_PIECE_LENGTH = 16  # characters
_MAX_SEEDS = 200_000  # candidates that the unigram model starts from
_PATH_LENGTH = 1000  # bytes
_NUM_THREADS = 2  # a constant: the unigram model's sums depend on it

# Protocol buffers skip fields they do not know: with settings in field 1000, SentencePiece loads it still.
_SETTINGS_FIELD = b"\xc2\x3e"
_SETTINGS_START = b'{"nmt_tokenizer"'

_logger = logging.getLogger(__name__)


class PieceSettings(NamedTuple):
    """What a tokenizer must know beside the SentencePiece model; travels at the end of the model's bytes."""

    type: PieceType | None  # None: a model made elsewhere
    words: WordRule
    marks: Marks
    starts_lower: bool = False  # sentences of the training text begin in lower case

    def appended(self, proto: bytes) -> bytes:
        """`proto` with these settings; fields of it that stand there already are overridden."""
        text = json.dumps({"nmt_tokenizer": 1, **self._asdict()}).encode("ascii")
        assert len(text) < 128, "one byte of length"
        return proto + _SETTINGS_FIELD + bytes([len(text)]) + text

    @classmethod
    def found_in(cls, proto: bytes) -> "PieceSettings | None":
        start = proto.rfind(_SETTINGS_START)
        if start < 0:
            return None
        found = json.loads(proto[start:])
        return cls(found["type"], found["words"], found["marks"], found.get("starts_lower", False))


class PieceModel:
    """A SentencePiece model under our ids: <pad> 0, <unk> 1, <s> 2, </s> 3, then its pieces in order."""

    def __init__(self, proto: bytes) -> None:
        self._processor = sentencepiece.SentencePieceProcessor()
        self._processor.LoadFromSerializedProto(proto)
        self.pieces = list(SPECIAL_PIECES)
        self.bytes: list[bytes] = [b"", UNKNOWN.encode(), b"", b""]  # what each piece adds to the stream
        self._ids: list[int] = []  # of the model's ids
        for number in range(self._processor.GetPieceSize()):
            self._ids.append(self._add(number))

    def _add(self, number: int) -> int:
        model = self._processor
        if model.IsUnknown(number) or model.IsControl(number) or model.IsUnused(number):
            return UNK_ID
        piece = model.IdToPiece(number)
        self.pieces.append(piece)
        self.bytes.append(bytes([int(piece[3:-1], 16)]) if model.IsByte(number) else piece.encode())
        return len(self.pieces) - 1

    def ids(self, token: str) -> list[int]:
        """The ids of the pieces of one token."""
        try:
            token.encode()
        except UnicodeEncodeError:
            raise NMTError(
                f"{token!r} holds half a surrogate pair, which is no text: decode it as UTF-16"
            ) from None
        return [self._ids[number] for number in self._processor.EncodeAsIds(token)]

    def ranges(self, token: str) -> list[tuple[int, int]]:
        """The characters [start, end) of `token` that each of its pieces stands for.

        The pieces of a character's bytes all stand for it. If the model changes its text (normalisation),
        each piece stands for the whole token.
        """
        ranges: list[tuple[int, int]] = []
        end = 0
        numbers = self._processor.EncodeAsIds(token)
        for number, piece in zip(numbers, self._processor.EncodeAsPieces(token), strict=True):
            if not self._processor.IsByte(number):
                ranges.append((end, end + len(piece)))
            elif int(piece[3:-1], 16) & 0xC0 != 0x80:  # the first byte of a character
                ranges.append((end, end + 1))
            else:
                ranges.append(ranges[-1])
            end = ranges[-1][1]
        return ranges if end == len(token) else [(0, len(token))] * len(ranges)


def given_model(proto: bytes, words: WordRule, name: str) -> bytes:
    """The bytes of a SentencePiece model from `name`, with settings; made elsewhere, it gets them here."""
    try:
        model = PieceModel(proto)
    except RuntimeError:
        raise NMTError(
            f"{name} is no SentencePiece model: give a .model file that spm_train or nmt-train wrote"
        ) from None
    if PieceSettings.found_in(proto) is not None:
        return proto
    # Tokens carry their own ▁: the model's normalizer_spec (field 3) with add_dummy_prefix (3) and
    # remove_extra_whitespaces (4) off. Appended fields override earlier ones.
    proto += b"\x1a\x04\x18\x00\x20\x00"
    marks: Marks = "joiner" if any(JOINER in piece for piece in model.pieces) else "spacer"
    return PieceSettings(None, words, marks).appended(proto)


def train_pieces(
    counts: Mapping[str, int],
    type: PieceType,
    vocabulary_size: int,
    byte_fallback: bool,
    character_coverage: float,
    words: WordRule,
    starts_lower: bool,
    name: str,
) -> bytes:
    """A SentencePiece model (its bytes, with settings) trained on tokens and how often each occurs.

    A `vocabulary_size` that the tokens cannot fill, or that does not hold their characters, is changed to the
    nearest possible one with a line in the log; `name` says there whose it is.
    """
    counts = {token: count for token, count in counts.items() if len(token) <= _MAX_TOKEN_LENGTH}
    if not counts:
        raise NMTError(f"no text to train the {name} tokenizer on: the corpus holds no words")
    least = _least_size(counts, type, byte_fallback, character_coverage)
    if vocabulary_size < least:
        kind = "characters of the corpus" if type in ("unigram", "bpe") else "special pieces"
        _logger.warning(
            "%s tokenizer: vocabulary_size=%d cannot hold the %s: raised to %d",
            name,
            vocabulary_size,
            kind,
            least,
        )
    proto = _trained(
        _lines(counts),
        _seeds(counts) if type == "unigram" else [],
        model_type=type,
        vocab_size=max(vocabulary_size, least),
        byte_fallback=byte_fallback,
        character_coverage=character_coverage,
    )
    size = len(PieceModel(proto).pieces)
    if size < vocabulary_size:
        _logger.warning(
            "%s tokenizer: vocabulary_size=%d is more than this corpus has %s pieces for: lowered to %d",
            name, vocabulary_size, type, size,
        )  # fmt: skip
    return PieceSettings(type, words, "joiner", starts_lower).appended(proto)


def _least_size(counts: Mapping[str, int], type: PieceType, byte_fallback: bool, coverage: float) -> int:
    specials = len(SPECIAL_PIECES) + 256 * byte_fallback
    if type in ("char", "word"):
        return specials + 1
    total = sum(len(token) * count for token, count in counts.items())
    characters: dict[str, int] = {}
    for token, count in counts.items():
        for character in token:
            characters[character] = characters.get(character, 0) + count
    covered, kept = 0, {JOINER, ESCAPE, SPACE}
    for character, count in sorted(characters.items(), key=lambda item: (-item[1], item[0])):
        if covered >= coverage * total:
            break
        covered += count
        kept.add(character)
    return specials + len(kept)


def _lines(counts: Mapping[str, int]) -> Iterable[str]:
    """Lines TOKEN TAB COUNT, most frequent first."""
    total = sum(len(token) * count for token, count in counts.items())
    scale = max(1, -(-total // _MAX_CHARACTERS))
    for token, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        yield f"{token}\t{max(1, count // scale)}"


def _seeds(counts: Mapping[str, int]) -> Iterator[str]:
    """Lines PIECE TAB COUNT: the substrings that occur twice or more, those that cover most text first.

    SentencePiece's own seeds leave out whole words, which its suffix array does not see where nothing but an
    end follows them.
    """
    found: dict[str, int] = {}
    for token, count in counts.items():
        for start in range(len(token)):
            for end in range(start + 2, min(len(token), start + _MAX_PIECE_LENGTH) + 1):
                piece = token[start:end]
                found[piece] = found.get(piece, 0) + count
    seeds = sorted((-count * len(piece), piece) for piece, count in found.items() if count > 1)
    for weight, piece in seeds[:_MAX_SEEDS]:
        yield f"{piece}\t{-weight // len(piece)}\n"


def _trained(lines: Iterable[str], seeds: Iterable[str], **settings: Any) -> bytes:
    proto = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "seeds"
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(seeds)
        # The model records this path: padded to a fixed length, it can be blotted out afterwards.
        padded = f"{folder}{'/' * (_PATH_LENGTH - len(str(path).encode()) + 1)}seeds"
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(lines),
                seed_sentencepieces_file=padded if path.stat().st_size else "",
                input_format="tsv",
                model_writer=proto,
                normalization_rule_name="identity",
                remove_extra_whitespaces=False,
                add_dummy_prefix=False,
                split_by_unicode_script=False,  # words are split already
                required_chars=JOINER + ESCAPE,
                hard_vocab_limit=False,
                shuffle_input_sentence=False,
                max_sentencepiece_length=_MAX_PIECE_LENGTH,
                max_sentence_length=8 * _MAX_TOKEN_LENGTH,  # bytes
                num_threads=_NUM_THREADS,
                pad_id=PAD_ID, unk_id=UNK_ID, bos_id=BOS_ID, eos_id=EOS_ID,
                minloglevel=2,  # errors only
                **settings,
            )  # fmt: skip
        except RuntimeError as error:
            reason = " ".join(str(error).split())
            raise NMTError(f"SentencePiece cannot train on this corpus: {reason}") from None
    return proto.getvalue().replace(padded.encode(), b"-" * len(padded.encode()))
