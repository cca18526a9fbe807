"""A trained run as a translator: text in, text out."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast, overload

import torch

from nmt.alignment.alignment import Alignment
from nmt.alignment.reading import PieceAttention, Reading
from nmt.config import build
from nmt.data.ahead import read_ahead
from nmt.data.batches import batches_by_length, make_source_batch
from nmt.data.marks import WordRule
from nmt.data.segments import Segment
from nmt.data.tokenizer import TokenizerPair
from nmt.decoding.sampling import SamplingSettings
from nmt.decoding.search import DecoderLike, Hypothesis, SearchSettings
from nmt.device import choose_device
from nmt.errors import NMTError
from nmt.models.seq2seq import Seq2Seq
from nmt.translator.forced import Forced, force, require_attention
from nmt.translator.lanes import side_by_side
from nmt.translator.mbr import rerank
from nmt.translator.requests import NO_WISH, Request, Wish, rules_of, wish_of
from nmt.translator.runs import load_models, open_runs
from nmt.translator.source import Source, Split, WholeSource, check_split, segments_of
from nmt.translator.translation import TextHypothesis, Translation, make_part

_LONGEST = 250  # source pieces, for runs that do not say what they were trained on

log = logging.getLogger(__name__)


class _Sentence(NamedTuple):
    """A line ready to be translated."""

    source: Source
    place: str  # what warnings call it
    segments: Sequence[Segment | WholeSource]  # none for a blank line
    wishes: list[Wish]  # one a segment


class Translator:
    """A model with its tokenizers. A line's translation does not depend on its neighbours.

    `search` says how to translate; `batch_tokens` bounds the source pieces of a batch, padding included,
    times the hypotheses a sentence. Lines are split into sentences of the language `source_language` always
    or, as `split` says, where longer than `max_source_length` pieces or never; what is still longer is cut
    into windows. `lexicon` translates words that the vocabulary cannot spell; others are copied.
    """

    def __init__(
        self,
        model: Seq2Seq,
        tokenizers: TokenizerPair,
        search: SearchSettings | SamplingSettings | None = None,
        batch_tokens: int = 8192,
        max_source_length: int = _LONGEST,
        split: Split = "always",
        source_language: str = "en",
        lexicon: Mapping[str, str] | None = None,
    ) -> None:
        check_split(split)
        self.model = model
        self.tokenizers = tokenizers
        self.search = search or SearchSettings()
        self.batch_tokens = batch_tokens
        self.max_source_length = max_source_length
        self.split = split
        self.source_language = source_language
        self.lexicon = lexicon or {}
        self.device = next(model.parameters()).device

    @classmethod
    def load(
        cls,
        run: str | Path,
        device: str = "auto",
        checkpoint: str = "best",
        search: Any = None,
        split: Split = "always",
        lexicon: Mapping[str, str] | None = None,
    ) -> "Translator":
        """The run in the folder `run` on `device` (auto, cpu, cuda, cuda:N, mps).

        Several runs, comma-separated, translate together; settings and search are the first one's.
        `checkpoint` is ``best`` or ``last``. `search` (settings or a config) replaces the run's own; `split`
        and `lexicon` as above.
        """
        directories = open_runs(run)
        directory = directories[0]
        config = directory.config()
        if not isinstance(search, SearchSettings | SamplingSettings):
            search = build(config.search if search is None else search)
        model = load_models(directories, checkpoint, choose_device(device))
        data = config.get("data", {})
        return cls(
            model,
            directory.tokenizers(),
            search,
            max_source_length=data.get("max_length") or _LONGEST,
            split=split,
            source_language=data.get("target_language" if data.get("reverse") else "source_language") or "en",
            lexicon=lexicon,
        )

    @overload
    def translate(self, text: str) -> str: ...  # type: ignore[overload-overlap]
    @overload
    def translate(self, text: Iterable[str]) -> list[str]: ...
    def translate(self, text: str | Iterable[str]) -> str | list[str]:
        """The translation of one sentence, or of each of several."""
        if isinstance(text, str):
            return next(self.translations([text])).text
        return [translation.text for translation in self.translations(text)]

    def translations(self, lines: Iterable[str | Request]) -> Iterator[Translation]:
        """A translation for each of `lines`, in order, as they come; reading ahead is bounded."""
        number = 1
        for window in read_ahead(lines):
            yield from self.translate_window(window, number)
            number += len(window)

    def translate_window(self, lines: Sequence[str | Request], first_number: int = 1) -> list[Translation]:
        """A translation for each of `lines`, all at once; they are numbered in warnings.

        Where the translation is given, it is scored and aligned instead.
        """
        requests = [Request(line) if isinstance(line, str) else line for line in lines]
        open_ones = [position for position, request in enumerate(requests) if request.target is None]
        made = self._translate(
            [requests[position] for position in open_ones],
            [first_number + position for position in open_ones],
        )
        found = dict(zip(open_ones, made, strict=True))
        given = [(position, request) for position, request in enumerate(requests) if position not in found]
        forced = self._force([(request.source, request.target or "") for _, request in given])
        for (position, request), each in zip(given, forced, strict=True):
            found[position] = Translation(request.source, [each])
        return [found[position] for position in range(len(requests))]

    @overload
    def align(  # type: ignore[overload-overlap]
        self,
        source: str,
        target: str | None = None,
        words: WordRule | None = None,
        reading: Reading | None = None,
    ) -> Alignment: ...
    @overload
    def align(
        self,
        source: Sequence[str],
        target: Sequence[str] | None = None,
        words: WordRule | None = None,
        reading: Reading | None = None,
    ) -> list[Alignment]: ...
    def align(
        self, source: Any, target: Any = None, words: WordRule | None = None, reading: Reading | None = None
    ) -> Any:
        """The alignment of `source` with `target` or, without one, with its translation; or of several each.

        `words` says how sentences are split into words, where not as in training; `reading` which layer,
        head and step of the attention counts, and how it folds into words.
        """
        if isinstance(source, str):
            return next(self.align_pairs([(source, target)], words, reading))
        targets = [None] * len(source) if target is None else target
        return list(self.align_pairs(_pairs(source, targets), words, reading))

    def align_pairs(
        self,
        pairs: Iterable[tuple[str, str | None]],
        words: WordRule | None = None,
        reading: Reading | None = None,
    ) -> Iterator[Alignment]:
        """An alignment for each of `pairs`, in order, as they come; a target None is translated first."""
        reading = reading or Reading()
        if reading.needs_forcing:  # for what search does not keep
            pairs = self.completed(pairs)
        number = 1
        for window in read_ahead(pairs):
            missing = [position for position, pair in enumerate(window) if pair[1] is None]
            sources = [window[position][0] for position in missing]
            made = self._translate(sources, [number + position for position in missing], words)
            found = {
                position: translation.hypotheses[0].align(reading)
                for position, translation in zip(missing, made, strict=True)
            }
            given = [(position, pair) for position, pair in enumerate(window) if pair[1] is not None]
            forced = self._force(
                [(source, target or "") for _, (source, target) in given], words, reading.needs_heads
            )
            for (position, _), each in zip(given, forced, strict=True):
                found[position] = each.align(reading)
            for position in range(len(window)):
                yield found[position]
            number += len(window)

    def completed(self, pairs: Iterable[tuple[str, str | None]]) -> Iterator[tuple[str, str]]:
        """`pairs` as they come, with a translation for each target None."""
        number = 1
        for window in read_ahead(pairs):
            missing = [position for position, pair in enumerate(window) if pair[1] is None]
            sources = [window[position][0] for position in missing]
            made = iter(self._translate(sources, [number + position for position in missing]))
            yield from ((source, next(made).text if target is None else target) for source, target in window)
            number += len(window)

    def attend_pairs(
        self, pairs: Iterable[tuple[str, str]], words: WordRule | None = None, heads: bool = False
    ) -> Iterator[PieceAttention]:
        """The attention between the pieces of each of `pairs`, as they come; with `heads` each head's too."""
        for window in read_ahead(pairs):
            for forced in self._force(window, words, heads):
                yield require_attention(forced.attention)

    @overload
    def score(self, source: str, target: str) -> float: ...  # type: ignore[overload-overlap]
    @overload
    def score(self, source: Sequence[str], target: Sequence[str]) -> list[float]: ...
    def score(self, source: Any, target: Any) -> Any:
        """Log-probability (nats, end of sentence included) of `target` given `source`, or of several each."""
        if isinstance(source, str):
            return next(self.score_pairs([(source, target)])).log_probability
        return [forced.log_probability for forced in self.score_pairs(_pairs(source, target))]

    def score_pairs(self, pairs: Iterable[tuple[str, str]], heads: bool = False) -> Iterator[Forced]:
        """What the model says of each of `pairs`, in order, as they come; `heads` as in `attend_pairs`."""
        for window in read_ahead(pairs):
            yield from self._force(window, heads=heads)

    def _translate(
        self, lines: Sequence[str | Request], numbers: Sequence[int], words: WordRule | None = None
    ) -> list[Translation]:
        """Translations of `lines`, whose `numbers` stand in warnings."""
        requests = [Request(line) if isinstance(line, str) else line for line in lines]
        sentences = [
            self._sentence(request, request.place or f"line {number}", words)
            for request, number in zip(requests, numbers, strict=True)
        ]
        found = iter(
            self._search(
                [segment.ids for sentence in sentences for segment in sentence.segments],
                [wish for sentence in sentences for wish in sentence.wishes],
                [sentence.place for sentence in sentences for _ in sentence.segments],
            )
        )
        return [
            Translation(request.source, self._spell(sentence, [next(found) for _ in sentence.segments]))
            for request, sentence in zip(requests, sentences, strict=True)
        ]

    def _sentence(self, request: Request, place: str, rule: WordRule | None) -> _Sentence:
        source = Source(request.source, self.tokenizers.source, rule)
        segments, longest_cut = segments_of(source, self.max_source_length, self.split, self.source_language)
        if longest_cut:
            log.warning(
                "%s: a sentence of %d pieces exceeds the model's %d: translated in %d parts",
                place, longest_cut, self.max_source_length, len(segments),
            )  # fmt: skip
        wishes = [NO_WISH] * len(segments)
        if segments and (request.prefix or request.required or request.forbidden):
            try:
                wish = wish_of(request, self.tokenizers.target)
            except NMTError as error:
                raise NMTError(f"{place}: {error}") from None
            # What must not be said holds everywhere; what must be said is said in the first part.
            later = Wish(forbidden=wish.forbidden, may_copy=wish.may_copy)
            wishes = [wish, *[later] * (len(segments) - 1)]
        return _Sentence(source, place, segments, wishes)

    def _spell(self, sentence: _Sentence, found: list[list[Hypothesis]]) -> list[TextHypothesis]:
        """The hypotheses of a sentence from those of its segments; rank by rank where there are several."""
        tokenizer = self.tokenizers.target
        hypotheses = []
        for ranked in zip(*found, strict=False):
            parts = tuple(
                make_part(tokenizer, sentence.source.text, segment, hypothesis, self.lexicon, wish.spelled)
                for segment, hypothesis, wish in zip(sentence.segments, ranked, sentence.wishes, strict=True)
            )
            text = " ".join(part.text for part in parts if part.text)
            hypotheses.append(TextHypothesis(text, sentence.source, tokenizer, parts))
        return hypotheses or [TextHypothesis("", sentence.source, tokenizer, ())]

    def _search(
        self, sources: Sequence[list[int]], wishes: Sequence[Wish], places: Sequence[str]
    ) -> list[list[Hypothesis]]:
        """The hypotheses, at least one, best first, for each of `sources`; warnings name its `places`."""
        found: list[list[Hypothesis]] = [[] for _ in sources]
        lengths = [len(ids) + 1 for ids in sources]
        batches = list(batches_by_length(lengths, self.batch_tokens // self.search.width))

        def search(batch: list[int]) -> list[list[Hypothesis]]:
            return self._search_batch(
                [sources[position] for position in batch], [wishes[position] for position in batch]
            )

        for batch, results in zip(batches, side_by_side(search, batches, self.device), strict=True):
            for position, hypotheses in zip(batch, results, strict=True):
                found[position] = [_unpadded(hypothesis, lengths[position]) for hypothesis in hypotheses]
        failed = [position for position, hypotheses in enumerate(found) if not hypotheses]
        for position in failed:
            log.warning("%s: nothing found that keeps to what was asked: translated freely", places[position])
        if failed:
            free = self._search([sources[position] for position in failed], [NO_WISH] * len(failed), places)
            for position, hypotheses in zip(failed, free, strict=True):
                found[position] = hypotheses
        return found

    @torch.inference_mode()
    def _search_batch(self, sources: list[list[int]], wishes: list[Wish]) -> list[list[Hypothesis]]:
        """The hypotheses for each of `sources`, best first, none where no wish could be fulfilled."""
        src, mask = make_source_batch(sources)
        memory = self.model.encode(src.to(self.device), mask.to(self.device))
        constraints, required = rules_of(wishes, self.tokenizers.target, self.device)
        found = self.search.search(
            cast(DecoderLike, self.model.decoder), memory, sources, constraints, required
        )
        if not self.search.mbr:
            return found
        decode = self.tokenizers.target.decode
        return [
            rerank(samples, [decode(sample.tokens) for sample in samples], self.search.n_best)
            for samples in found
        ]

    def _force(
        self, pairs: Sequence[tuple[str, str]], rule: WordRule | None = None, heads: bool = False
    ) -> list[Forced]:
        """What the model says of `pairs` of texts."""
        return force(self.model, self.tokenizers, pairs, rule, heads)


def _unpadded(hypothesis: Hypothesis, length: int) -> Hypothesis:
    """`hypothesis` with weights over its own source of `length` pieces, end of sentence included."""
    if hypothesis.weights is None:
        return hypothesis
    return hypothesis._replace(weights=hypothesis.weights[:, :length])


def _pairs(sources: Sequence[str], targets: Sequence[Any]) -> list[tuple[str, Any]]:
    if len(sources) != len(targets):
        raise NMTError(f"{len(sources)} sources and {len(targets)} targets: give one target for each source")
    return list(zip(sources, targets, strict=True))
