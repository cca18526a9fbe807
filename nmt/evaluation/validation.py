"""How well a model does on held-out pairs while it is trained."""

import math
from collections.abc import Sequence

import torch

from nmt.data.tokenizer import TokenizerPair
from nmt.decoding.search import SearchSettings
from nmt.evaluation.scores import score
from nmt.models.seq2seq import Seq2Seq
from nmt.training.loss import TrainingBatch, mean_nll
from nmt.training.trainer import Sample, Validation
from nmt.translator import Translator

_NUM_SAMPLES = 3


class Validator:
    """What a trainer calls to validate `model`, which it has put into evaluation mode.

    The loss is that of `batches`; `pairs` of raw (source, reference) are translated as `search` says and
    scored. The same weights always give the same numbers.
    """

    def __init__(
        self,
        model: Seq2Seq,
        tokenizers: TokenizerPair,
        batches: Sequence[TrainingBatch],
        pairs: Sequence[tuple[str, str]],
        search: SearchSettings,
    ) -> None:
        self.model = model
        self.batches = batches
        self.sources = [source for source, _ in pairs]
        self.references = [reference for _, reference in pairs]
        self.translator = Translator(model, tokenizers, search)

    @torch.no_grad()
    def __call__(self) -> Validation:
        """`loss` (nats a target token, not smoothed), `perplexity`, `bleu` and `chrf` (percent); samples."""
        loss = mean_nll(self.model, self.batches, self.translator.device)
        hypotheses = self.translator.translate(self.sources)
        scores = score(hypotheses, [self.references])
        metrics = {
            "loss": loss,
            "perplexity": math.exp(min(loss, 700.0)),  # beyond, a float overflows
            "bleu": scores.bleu.value,
            "chrf": scores.chrf.value,
        }
        return Validation(
            metrics, [self._sample(hypotheses, position) for position in self._sample_positions()]
        )

    def _sample_positions(self) -> list[int]:
        """The same few places, spread over the pairs."""
        count = min(_NUM_SAMPLES, len(self.sources))
        return [number * len(self.sources) // count for number in range(count)]

    def _sample(self, hypotheses: Sequence[str], position: int) -> Sample:
        return Sample(self.sources[position], self.references[position], hypotheses[position])
