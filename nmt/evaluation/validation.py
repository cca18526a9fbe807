"""How well a model does on held-out pairs while it is trained."""

import logging
import math
from collections.abc import Iterable, Sequence

import torch

from nmt.data.links import Links
from nmt.data.tokenizer import TokenizerPair
from nmt.decoding.search import SearchSettings
from nmt.errors import NMTError
from nmt.evaluation.alignments import evaluate_alignments
from nmt.evaluation.scores import score
from nmt.models.seq2seq import Seq2Seq
from nmt.training.loss import TrainingBatch, mean_nll
from nmt.training.trainer import Sample, Validation
from nmt.translator import Translator

_NUM_SAMPLES = 3

log = logging.getLogger(__name__)


class Validator:
    """What a trainer calls to validate `model`, which it has put into evaluation mode.

    The loss is that of `batches`; `pairs` of raw (source, reference) are translated as `search` says and
    scored, and aligned where there are `gold` links. The same weights always give the same numbers.
    """

    def __init__(
        self,
        model: Seq2Seq,
        tokenizers: TokenizerPair,
        batches: Sequence[TrainingBatch],
        pairs: Sequence[tuple[str, str]],
        search: SearchSettings,
        gold: Iterable[Links] | None = None,
    ) -> None:
        self.model = model
        self.batches = batches
        self.sources = [source for source, _ in pairs]
        self.references = [reference for _, reference in pairs]
        self.gold = None if gold is None else list(gold)
        self.translator = Translator(model, tokenizers, search, split="long")

    @torch.no_grad()
    def __call__(self) -> Validation:
        """`loss` (nats a target token, not smoothed), `perplexity`, `bleu` and `chrf` (percent); samples.

        With gold links `aer` too (percent), of each target word's strongest link.
        """
        loss = mean_nll(self.model, self.batches, self.translator.device)
        hypotheses = self.translator.translate(self.sources)
        scores = score(hypotheses, [self.references])
        metrics = {
            "loss": loss,
            "perplexity": math.exp(min(loss, 700.0)),  # beyond, a float overflows
            "bleu": scores.bleu.value,
            "chrf": scores.chrf.value,
            **self._alignment_error_rate(),
        }
        return Validation(
            metrics, [self._sample(hypotheses, position) for position in self._sample_positions()]
        )

    def _alignment_error_rate(self) -> dict[str, float]:
        if self.gold is None:
            return {}
        pairs = list(zip(self.sources, self.references, strict=True))
        try:
            scores = evaluate_alignments(self.translator.align_pairs, pairs, self.gold, "data.dev.links")
        except NMTError as error:
            log.warning("no alignment error rate: %s", error)
            self.gold = None
            return {}
        return {"aer": scores.error_rate.aer}

    def _sample_positions(self) -> list[int]:
        """The same few places, spread over the pairs."""
        count = min(_NUM_SAMPLES, len(self.sources))
        return [number * len(self.sources) // count for number in range(count)]

    def _sample(self, hypotheses: Sequence[str], position: int) -> Sample:
        return Sample(self.sources[position], self.references[position], hypotheses[position])
