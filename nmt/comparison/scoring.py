"""From systems to the numbers of the table: each measured by its text, and variants over their seeds."""

from collections.abc import Sequence
from statistics import mean, stdev
from typing import NamedTuple

from nmt.comparison.lexicon import Lexicon
from nmt.comparison.significance import Verdict, verdicts
from nmt.comparison.systems import System, Task, Training, Variant
from nmt.comparison.words import Omissions, repeated, words
from nmt.evaluation.scores import score


class Spread(NamedTuple):
    """The values of a variant's systems, one a seed."""

    values: list[float]

    @property
    def mean(self) -> float:
        return mean(self.values)

    @property
    def deviation(self) -> float | None:
        """Standard deviation of a sample; None of a single value."""
        return stdev(self.values) if len(self.values) > 1 else None


class Scored(NamedTuple):
    """A row of the table."""

    variant: Variant
    facts: dict[str, Spread]  # by the keys of the columns; a key is absent where nothing is known
    verdict: Verdict


class Comparison(NamedTuple):
    """Everything that tables and reports show."""

    task: Task
    rows: list[Scored]
    baseline: int
    signatures: dict[str, str]  # of BLEU, chrF and the test, by name
    warnings: list[str]
    axes: list[str]
    command: str


def add_text_facts(system: System, task: Task, omissions: Omissions | None) -> dict[str, str]:
    """Add to the system's facts what its translations show; returns the signatures of the scores.

    `bleu`, `chrf`, `bleu_multi30k` (where asked for), `repeated` and, with `omissions`, `dropped`; percent.
    """
    scores = score(system.translations, task.references, multi30k_language=task.multi30k_language)
    system.facts |= {"bleu": scores.bleu.value, "chrf": scores.chrf.value}
    signatures = {"BLEU": scores.bleu.signature, "chrF": scores.chrf.signature}
    if scores.multi30k is not None:
        system.facts["bleu_multi30k"] = scores.multi30k.value
        signatures["BLEU, Multi30k's protocol"] = scores.multi30k.signature
    system.facts["repeated"] = repeated(system.translations, task.references)
    if omissions is not None:
        system.facts["dropped"] = omissions.rate(system.translations)
    return signatures


def make_omissions(task: Task, training: Training) -> Omissions | None:
    """What counts omissions, by a lexicon of the task's pairs and `training`'s; None without sources."""
    if task.sources is None:
        return None
    pairs = [*zip(task.sources, task.first_references, strict=True), *training.pairs]
    lexicon = Lexicon((words(source.lower()), words(target.lower())) for source, target in pairs)
    return Omissions(task.sources, task.first_references, lexicon)


def score_variants(
    variants: Sequence[Variant], task: Task, omissions: Omissions | None, baseline: int
) -> tuple[list[Scored], dict[str, str]]:
    """The rows of the table, and the signatures of their scores."""
    signatures: dict[str, str] = {}
    for variant in variants:
        for system in variant.systems:
            signatures |= add_text_facts(system, task, omissions)
    found, signatures["paired bootstrap"] = verdicts(variants, task.references, baseline)
    rows = []
    for variant, verdict in zip(variants, found, strict=True):
        keys = dict.fromkeys(key for system in variant.systems for key in system.facts)
        facts = {
            key: Spread([system.facts[key] for system in variant.systems if key in system.facts])
            for key in keys
        }
        rows.append(Scored(variant, facts, verdict))
    return rows, signatures
