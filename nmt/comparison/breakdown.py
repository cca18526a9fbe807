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
        groups: dict[str, list[int]] = {_length_name(low): [] for low in LENGTHS}
        for number, source in enumerate(task.sources):
            length = len(words(source))
            groups[_length_name(max((low for low in LENGTHS if low <= length), default=1))].append(number)
        made.append(_by_group(comparison, "BLEU by source length", "words", groups))
    if training_words:
        made.append(_by_frequency(comparison, training_words))
    if task.constructions is not None:
        groups = {}
        for number, names in enumerate(task.constructions):
            for name in dict.fromkeys(names):
                groups.setdefault(name, []).append(number)
        made.append(_by_group(comparison, "BLEU by construction", "", dict(sorted(groups.items()))))
    return made


def _length_name(low: int) -> str:
    after = LENGTHS.index(low) + 1
    return f"{low}-{LENGTHS[after] - 1}" if after < len(LENGTHS) else f"{low}+"


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
