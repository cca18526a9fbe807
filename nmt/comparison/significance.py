"""Is a difference in BLEU more than luck? Paired bootstrap resampling (Koehn 2004) as sacreBLEU does it.

The test sentences are drawn anew a thousand times, the same for all systems. A variant's score of a draw is
the mean of its systems' (seeds') scores, so each seed counts alike, and no sentence counts more often for
having been translated by several seeds. Of one seed each, all numbers are those of ``sacrebleu --paired-bs``.
The p-value thus speaks of other test sentences, for the seeds at hand; how much seeds differ is what the
deviation says.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from sacrebleu.metrics import BLEU
from sacrebleu.metrics.base import Metric, Score, Signature
from sacrebleu.significance import PairedTest

from nmt.comparison.systems import Variant
from nmt.evaluation.scores import References

LEVEL = 0.05  # below which a corrected p-value counts as significant


class Verdict(NamedTuple):
    """BLEU of a variant (percent), the 95 % interval of its bootstrap, and p-values against the baseline."""

    bleu: float
    low: float
    high: float
    p: float | None  # None for the baseline itself
    p_holm: float | None  # corrected for the number of comparisons

    @property
    def significant(self) -> bool:
        return self.p_holm is not None and self.p_holm < LEVEL


def verdicts(variants: Sequence[Variant], references: References, baseline: int) -> tuple[list[Verdict], str]:
    """A verdict for each of `variants` against the one numbered `baseline`; and the signature of the test.

    The number of resamples and their seed are sacreBLEU's (1000; 12345, or the environment's SACREBLEU_SEED).
    """
    order = [baseline, *(number for number in range(len(variants)) if number != baseline)]
    named = [
        (
            variants[number].name,
            list(zip(*(system.translations for system in variants[number].systems), strict=True)),
        )
        for number in order
    ]
    metric = cast(Metric, _MeanOverSeeds(BLEU(force=True)))
    test = PairedTest(cast(Any, named), {"BLEU": metric}, cast(Any, references), test_type="bs")
    signatures, scores = test()
    results = cast(list[Any], scores["BLEU"])
    corrected = holm([result.p_value for result in results[1:]])
    found = {
        number: Verdict(
            result.score, result.mean - result.ci, result.mean + result.ci, result.p_value, p_holm
        )
        for number, result, p_holm in zip(order, results, [None, *corrected], strict=True)
    }
    return [found[number] for number in range(len(variants))], str(signatures["BLEU"])


def holm(p_values: Sequence[float]) -> list[float]:
    """`p_values` corrected for their number (Holm 1979): the smallest times m, the next times m - 1, ...

    Each is at least the one before it, and at most 1.
    """
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, number in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[number]))
        corrected[number] = largest
    return corrected


class _MeanOverSeeds:
    """A metric whose hypothesis is a tuple, a translation a seed, and whose score is the mean of the seeds'.

    Sentences' statistics stand side by side: with k numbers a translation, seed i has columns ik to (i+1)k.
    """

    def __init__(self, metric: Metric) -> None:
        self.metric = metric

    def _extract_corpus_statistics(
        self, hypotheses: Sequence[tuple[str, ...]], references: Sequence[Sequence[str]]
    ) -> list[list[float]]:
        seeds = [
            self.metric._extract_corpus_statistics(list(lines), references)
            for lines in zip(*hypotheses, strict=True)
        ]
        self._width = len(seeds[0][0])
        return [[number for one in sentence for number in one] for sentence in zip(*seeds, strict=True)]

    def _aggregate_and_compute(self, stats: list[list[float]]) -> Score:
        return self._compute_score_from_stats([sum(column) for column in zip(*stats, strict=True)])

    def _compute_score_from_stats(self, stats: Any) -> Score:
        parts = [stats[start : start + self._width] for start in range(0, len(stats), self._width)]
        scores = [self.metric._compute_score_from_stats(part) for part in parts]
        return Score(scores[0].name, sum(score.score for score in scores) / len(scores))

    def get_signature(self) -> Signature:
        return self.metric.get_signature()
