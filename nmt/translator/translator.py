"""A trained run as a translator: text in, text out."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast, overload

import numpy as np
import torch

from nmt.alignment.alignment import Alignment
from nmt.alignment.fold import fold_pieces
from nmt.config import build
from nmt.data.ahead import read_ahead
from nmt.data.batches import make_batch, make_source_batch
from nmt.data.marks import WordRule, words_of
from nmt.data.segments import Segment, cut, tidy, words_of_spans
from nmt.data.tokenizer import Encoded, Tokenizer, TokenizerPair
from nmt.decoding.forced import force_decode
from nmt.decoding.search import DecoderLike, Hypothesis, SearchSettings, beam_search
from nmt.device import choose_device
from nmt.errors import NMTError
from nmt.models.seq2seq import Seq2Seq
from nmt.training.run_directory import RunDirectory
from nmt.translator.translation import TextHypothesis, Translation, make_part

_FORCED_TOKENS = 2048  # of a batch of pairs: their logits (tokens, V) are all there at once
_LONGEST = 250  # source pieces, for runs that do not say what they were trained on

log = logging.getLogger(__name__)


class Forced(NamedTuple):
    """What a model says of a given translation."""

    log_probability: float  # nats, end of sentence included
    pieces: list[str]
    token_log_probabilities: list[float]  # nats, one a piece and one for the end of sentence
    alignment: Alignment | None  # None for models without attention


class _Sentence(NamedTuple):
    """A line ready to be translated."""

    text: str  # tidied
    words: list[str]
    segments: list[Segment]  # none for a blank line


class Translator:
    """A model with its tokenizers. A line's translation does not depend on its neighbours.

    `search` says how to translate; `batch_tokens` bounds the source pieces of a batch, padding included,
    times the beam size; lines of more than `max_source_length` pieces are translated in parts.
    """

    def __init__(
        self,
        model: Seq2Seq,
        tokenizers: TokenizerPair,
        search: SearchSettings | None = None,
        batch_tokens: int = 8192,
        max_source_length: int = _LONGEST,
    ) -> None:
        self.model = model
        self.tokenizers = tokenizers
        self.search = search or SearchSettings()
        self.batch_tokens = batch_tokens
        self.max_source_length = max_source_length
        self.device = next(model.parameters()).device

    @classmethod
    def load(
        cls,
        run: str | Path,
        device: str = "auto",
        checkpoint: str = "best",
        search: Any = None,
    ) -> "Translator":
        """The run in the folder `run` on `device` (auto, cpu, cuda, cuda:N, mps).

        `checkpoint` is ``best`` or ``last``. `search` (SearchSettings or a config) replaces the run's own.
        """
        directory = RunDirectory.open(run)
        config = directory.config()
        if not isinstance(search, SearchSettings):
            search = build(config.search if search is None else search)
        model = directory.load_model(checkpoint, choose_device(device))
        longest = config.get("data", {}).get("max_length")
        return cls(model, directory.tokenizers(), search, max_source_length=longest or _LONGEST)

    @overload
    def translate(self, text: str) -> str: ...  # type: ignore[overload-overlap]
    @overload
    def translate(self, text: Iterable[str]) -> list[str]: ...
    def translate(self, text: str | Iterable[str]) -> str | list[str]:
        """The translation of one sentence, or of each of several."""
        if isinstance(text, str):
            return next(self.translations([text])).text
        return [translation.text for translation in self.translations(text)]

    def translations(self, lines: Iterable[str]) -> Iterator[Translation]:
        """A translation for each of `lines`, in order, as they come; reading ahead is bounded."""
        number = 1
        for window in read_ahead(lines):
            yield from self._translate(window, range(number, number + len(window)))
            number += len(window)

    @overload
    def align(  # type: ignore[overload-overlap]
        self, source: str, target: str | None = None, words: WordRule | None = None
    ) -> Alignment: ...
    @overload
    def align(
        self, source: Sequence[str], target: Sequence[str] | None = None, words: WordRule | None = None
    ) -> list[Alignment]: ...
    def align(self, source: Any, target: Any = None, words: WordRule | None = None) -> Any:
        """The alignment of `source` with `target` or, without one, with its translation; or of several each.

        `words` says how sentences are split into words, where not as in training.
        """
        if isinstance(source, str):
            return next(self.align_pairs([(source, target)], words))
        targets = [None] * len(source) if target is None else target
        return list(self.align_pairs(_pairs(source, targets), words))

    def align_pairs(
        self, pairs: Iterable[tuple[str, str | None]], words: WordRule | None = None
    ) -> Iterator[Alignment]:
        """An alignment for each of `pairs`, in order, as they come; a target None is translated first."""
        number = 1
        for window in read_ahead(pairs):
            missing = [position for position, pair in enumerate(window) if pair[1] is None]
            sources = [window[position][0] for position in missing]
            made = self._translate(sources, [number + position for position in missing], words)
            found = {
                position: translation.alignment for position, translation in zip(missing, made, strict=True)
            }
            given = [(position, pair) for position, pair in enumerate(window) if pair[1] is not None]
            forced = self._force([(source, target or "") for _, (source, target) in given], words)
            for (position, _), each in zip(given, forced, strict=True):
                if each.alignment is None:
                    raise NMTError(
                        "this run's model has no attention to align words by: choose a run with attention"
                    )
                found[position] = each.alignment
            for position in range(len(window)):
                yield found[position]
            number += len(window)

    @overload
    def score(self, source: str, target: str) -> float: ...  # type: ignore[overload-overlap]
    @overload
    def score(self, source: Sequence[str], target: Sequence[str]) -> list[float]: ...
    def score(self, source: Any, target: Any) -> Any:
        """Log-probability (nats, end of sentence included) of `target` given `source`, or of several each."""
        if isinstance(source, str):
            return next(self.score_pairs([(source, target)])).log_probability
        return [forced.log_probability for forced in self.score_pairs(_pairs(source, target))]

    def score_pairs(self, pairs: Iterable[tuple[str, str]]) -> Iterator[Forced]:
        """What the model says of each of `pairs`, in order, as they come."""
        for window in read_ahead(pairs):
            yield from self._force(window)

    def _translate(
        self, lines: Sequence[str], numbers: Sequence[int], words: WordRule | None = None
    ) -> list[Translation]:
        """Translations of `lines`, whose `numbers` stand in warnings."""
        sentences = [self._sentence(line, number, words) for line, number in zip(lines, numbers, strict=True)]
        found = iter(self._search([segment.ids for sentence in sentences for segment in sentence.segments]))
        translations = []
        for line, sentence in zip(lines, sentences, strict=True):
            parts = [next(found) for _ in sentence.segments]
            translations.append(Translation(line, self._spell(sentence, parts)))
        return translations

    def _sentence(self, line: str, number: int, rule: WordRule | None) -> _Sentence:
        text = tidy(line)
        if not text:
            return _Sentence(text, [], [])
        encoded = _encode(self.tokenizers.source, text, rule)
        segments = cut(encoded, self.max_source_length)
        if len(segments) > 1:
            log.warning(
                "line %d is longer than the model takes (%d pieces, at most %d): translated in %d parts",
                number, len(encoded.ids), self.max_source_length, len(segments),
            )  # fmt: skip
        return _Sentence(text, [word.text for word in encoded.words], segments)

    def _spell(self, sentence: _Sentence, found: list[list[Hypothesis]]) -> list[TextHypothesis]:
        """The hypotheses of a sentence from those of its segments; rank by rank where there are several."""
        tokenizer = self.tokenizers.target
        hypotheses = []
        for ranked in zip(*found, strict=False):
            parts = tuple(
                make_part(tokenizer, sentence.text, segment, hypothesis)
                for segment, hypothesis in zip(sentence.segments, ranked, strict=True)
            )
            text = " ".join(part.text for part in parts if part.text)
            hypotheses.append(TextHypothesis(text, sentence.words, tokenizer, parts))
        return hypotheses or [TextHypothesis("", sentence.words, tokenizer, ())]

    @torch.inference_mode()
    def _search(self, sources: Sequence[list[int]]) -> list[list[Hypothesis]]:
        """The hypotheses for each of `sources`, best first."""
        found: list[list[Hypothesis]] = [[] for _ in sources]
        lengths = [len(ids) + 1 for ids in sources]
        for batch in _batches(lengths, self.batch_tokens // self.search.beam_size):
            src, mask = make_source_batch([sources[position] for position in batch])
            memory = self.model.encode(src.to(self.device), mask.to(self.device))
            results = beam_search(cast(DecoderLike, self.model.decoder), memory, self.search)
            for position, hypotheses in zip(batch, results, strict=True):
                found[position] = [_unpadded(hypothesis, lengths[position]) for hypothesis in hypotheses]
        return found

    def _force(self, pairs: Sequence[tuple[str, str]], rule: WordRule | None = None) -> list[Forced]:
        """What the model says of `pairs` of texts."""
        sides = [
            (
                _encode(self.tokenizers.source, tidy(source), rule),
                _encode(self.tokenizers.target, tidy(target), rule),
            )
            for source, target in pairs
        ]
        found: list[Forced] = [None] * len(sides)  # type: ignore[list-item]
        lengths = [max(len(source.ids), len(target.ids)) + 1 for source, target in sides]
        for positions in _batches(lengths, _FORCED_TOKENS):
            batch = make_batch([(sides[position][0].ids, sides[position][1].ids) for position in positions])
            batch = batch.to(self.device)
            costs, weights = force_decode(
                self.model, batch.src, batch.src_mask, batch.tgt_in, batch.tgt_out, batch.tgt_mask
            )
            rows, matrices = costs.cpu(), None if weights is None else weights.float().cpu().numpy()
            for row, position in enumerate(positions):
                source, target = sides[position]
                values = rows[row, : len(target.ids) + 1].tolist()
                matrix = (
                    None if matrices is None else matrices[row, : len(target.ids) + 1, : len(source.ids) + 1]
                )
                found[position] = Forced(sum(values), target.pieces, values, _aligned(source, target, matrix))
        return found


def _aligned(source: Encoded, target: Encoded, weights: np.ndarray | None) -> Alignment | None:
    """The alignment of two sentences with `weights` between their pieces."""
    if weights is None:
        return None
    folded = fold_pieces(
        weights, source.word_of_piece, len(source.words), target.word_of_piece, len(target.words)
    )
    return Alignment.of(
        [word.text for word in source.words], [word.text for word in target.words], folded.weights, folded.eos
    )


def _encode(tokenizer: Tokenizer, text: str, rule: WordRule | None) -> Encoded:
    """`text` in pieces, which belong to words as the tokenizer splits them or else as `rule` does."""
    encoded = tokenizer.encode(text)
    if rule is None or not text:
        return encoded
    words = words_of(text, rule)
    return encoded._replace(words=words, word_of_piece=words_of_spans(text, words, encoded.spans))


def _batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Positions in batches of similar lengths, longest first, of at most `budget` padded tokens each."""
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lambda position: -lengths[position]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > budget:
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


def _unpadded(hypothesis: Hypothesis, length: int) -> Hypothesis:
    """`hypothesis` with weights over its own source of `length` pieces, end of sentence included."""
    if hypothesis.weights is None:
        return hypothesis
    return hypothesis._replace(weights=hypothesis.weights[:, :length])


def _pairs(sources: Sequence[str], targets: Sequence[Any]) -> list[tuple[str, Any]]:
    if len(sources) != len(targets):
        raise NMTError(f"{len(sources)} sources and {len(targets)} targets: give one target for each source")
    return list(zip(sources, targets, strict=True))
