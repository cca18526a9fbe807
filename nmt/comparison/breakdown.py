"""Where variants differ: by source length, by how often training saw a word, by construction, by sentence."""

from collections import Counter
from collections.abc import Sequence
from itertools import compress
from statistics import mean, stdev
from typing import Any, NamedTuple, cast

from nmt.comparison.scoring import Comparison
from nmt.comparison.systems import System, Task
from nmt.comparison.words import FREQUENCIES, f1_by_frequency, words
from nmt.evaluation.scores import bleu_of, references_of

LENGTHS = (1, 11, 21, 31, 41, 51)  # lower ends of the buckets: source words, punctuation included
_FEWEST = 10  # sentences in the bucket of the longest: BLEU of fewer is chance


class Breakdown(NamedTuple):
    """One measure by bucket: of each variant, mean and deviation over its seeds; None where nothing is."""

    title: str
    unit: str
    buckets: list[str]
    sizes: list[int]  # sentences, or words
    means: list[list[float | None]]  # a row a variant
    deviations: list[list[float | None]]


def breakdowns(comparison: Comparison, training_words: Counter[str]) -> list[Breakdown]:
    """All that the task allows: by length with sources, by frequency with training words, by construction."""
    task, made = comparison.task, []
    if task.sources is not None:
        made.append(_by_group(comparison, "BLEU by source length", "words", by_length(task.sources)))
    if training_words:
        made.append(_by_frequency(comparison, training_words))
    if task.constructions is not None:
        groups: dict[str, list[int]] = {}
        for number, names in enumerate(task.constructions):
            for name in dict.fromkeys(names):
                groups.setdefault(name, []).append(number)
        made.append(_by_group(comparison, "BLEU by construction", "", dict(sorted(groups.items()))))
    return made


def by_length(sources: Sequence[str]) -> dict[str, list[int]]:
    """The numbers of the `sources` by their lengths; a few that are longer join the bucket below theirs."""
    lengths = [len(words(source)) for source in sources]
    groups: dict[int, list[int]] = {low: [] for low in LENGTHS}
    for number, length in enumerate(lengths):
        groups[max((low for low in LENGTHS if low <= length), default=LENGTHS[0])].append(number)
    while len(groups) > 1 and len(groups[max(groups)]) < _FEWEST:
        _, few = groups.popitem()
        groups[max(groups)] += few
    following = dict(zip(LENGTHS, LENGTHS[1:], strict=False))
    highest, longest = max(groups), max(lengths, default=0)

    def name(low: int) -> str:
        end = following.get(low)
        return f"{low}+" if end is None or (low == highest and longest >= end) else f"{low}-{end - 1}"

    return {name(low): sorted(members) for low, members in groups.items()}


def _by_group(comparison: Comparison, title: str, unit: str, groups: dict[str, list[int]]) -> Breakdown:
    """BLEU of the sentences of each group that has any."""
    groups = {name: members for name, members in groups.items() if members}
    references = {
        name: references_of(comparison.task.references, members) for name, members in groups.items()
    }

    def bleu(translations: Sequence[str], name: str) -> float:
        return bleu_of([translations[number] for number in groups[name]], references[name]).value

    values = [
        [[bleu(system.translations, name) for name in groups] for system in row.variant.systems]
        for row in comparison.rows
    ]
    return _summed_up(title, unit, list(groups), [len(members) for members in groups.values()], values)


def _by_frequency(comparison: Comparison, training_words: Counter[str]) -> Breakdown:
    references = comparison.task.first_references
    names = [
        "never" if low == 0 else f"{low}-{high - 1}"
        for low, high in zip(FREQUENCIES, FREQUENCIES[1:], strict=False)
    ]
    names.append(f"{FREQUENCIES[-1]}+")
    sizes = [0] * len(names)
    for reference in references:
        for word in words(reference):
            sizes[sum(training_words[word] >= low for low in FREQUENCIES) - 1] += 1
    values = [
        [f1_by_frequency(system.translations, references, training_words) for system in row.variant.systems]
        for row in comparison.rows
    ]
    title = "F1 of target words by their occurrences in training"
    known = [bool(size) for size in sizes]
    values = [[list(compress(row, known)) for row in systems] for systems in values]
    names, sizes = list(compress(names, known)), list(compress(sizes, known))
    return _summed_up(title, "occurrences", names, sizes, values)


def _summed_up(
    title: str,
    unit: str,
    buckets: list[str],
    sizes: list[int],
    values: Sequence[Sequence[Sequence[float | None]]],
) -> Breakdown:
    """`values` hold, of each variant and system, one number a bucket."""
    columns = [[_known(column) for column in zip(*systems, strict=True)] for systems in values]
    means = [[mean(numbers) if numbers else None for numbers in row] for row in columns]
    deviations = [[stdev(numbers) if len(numbers) > 1 else None for numbers in row] for row in columns]
    return Breakdown(title, unit, buckets, sizes, means, deviations)


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def sentence_scores(system: System, task: Task) -> list[float]:
    """chrF (percent) of each of the system's sentences."""
    from sacrebleu.metrics import CHRF

    metric = cast(Any, CHRF())
    stats = metric._extract_corpus_statistics(system.translations, task.references)
    return [metric._compute_score_from_stats(sentence).score for sentence in stats]
