"""Minimum Bayes risk: of many samples, the one that is most like all of them (Eikema and Aziz 2020).

Expected utility of a candidate h: the mean over the samples r of chrF(h, r), sacreBLEU's sentence-level chrF.
"""

from collections import Counter
from collections.abc import Sequence

from nmt.decoding.search import Hypothesis


def rerank(samples: Sequence[Hypothesis], texts: Sequence[str], n_best: int) -> list[Hypothesis]:
    """The `n_best` different of the `samples`, whose `texts` are given; expected chrF (percent) as score."""
    from sacrebleu.metrics import CHRF  # half a second, which only this needs

    metric = CHRF()
    first = {text: number for number, text in reversed(list(enumerate(texts)))}
    counts = Counter(texts)
    scores = {
        text: sum(count * metric.sentence_score(text, [other]).score for other, count in counts.items())
        / len(texts)
        for text in first
    }
    best = sorted(first, key=lambda text: (-scores[text], first[text]))[:n_best]
    return [samples[first[text]]._replace(score=scores[text]) for text in best]
