"""What is compared: systems that translated the same sentences, and variants, several systems each.

A system is a run or a file of translations. The systems of a variant differ in nothing but the seed.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from nmt.comparison.words import words
from nmt.data.corpus import Corpus, open_corpus
from nmt.data.lines import read_lines
from nmt.errors import NMTError
from nmt.evaluation.run import multi30k_language, reference_sets
from nmt.evaluation.scores import References

_SAMPLE = 5000  # pairs of the training data


class Task(NamedTuple):
    """What every system translates."""

    name: str  # of the split or the file
    sources: list[str] | None  # None where only references are known
    references: References
    constructions: list[list[str]] | None = None  # the names of each sentence's
    multi30k_language: str | None = None  # with which BLEU under Multi30k's protocol stands beside

    @property
    def first_references(self) -> list[str]:
        """Of each sentence."""
        return [line or "" for line in self.references[0]]


@dataclass
class System:
    """One system's translations of a task and, of a run, what is known of it."""

    name: str  # for messages and lists: its folder or file
    translations: list[str]
    facts: dict[str, float] = field(default_factory=dict)  # by the keys of the table's columns
    seed: int | None = None
    metrics: list[dict[str, Any]] = field(default_factory=list)  # the lines of metrics.jsonl
    matrices: list[dict[str, Any]] = field(default_factory=list)  # alignments of a few sentences
    config: dict[str, Any] = field(default_factory=dict)  # what its result depends on, flat
    conditions: dict[str, Any] = field(default_factory=dict)  # versions, machine and threads


class Training(NamedTuple):
    """What is known of the data that a run was trained on."""

    pairs: list[tuple[str, str]]  # some, spread over it
    words: Counter[str]  # how often each target word stands in it


class Variant(NamedTuple):
    """A row of the table: a name, and one system a seed."""

    name: str
    systems: list[System]


def task_of_split(data: Any, split: str) -> tuple[Task, Corpus]:
    """The task that the `split` of a configuration's `data` part sets."""
    corpus = open_corpus(data, split)
    pairs = list(corpus.lines())
    sources = [source for source, _ in pairs]
    task = Task(split, sources, reference_sets(corpus, pairs), corpus.tags(), multi30k_language(data))
    return task, corpus


def task_of_files(references: Sequence[str], source: str | None) -> Task:
    """The task of files: one or more of references, and where there is one its source."""
    sets = [list(read_lines(path)) for path in references]
    sources = None if source is None else list(read_lines(source))
    for path, lines in zip([*references, source], [*sets, sources], strict=True):
        if lines is not None and len(lines) != len(sets[0]):
            raise NMTError(
                f"{references[0]} has {len(sets[0])} lines and {path} has {len(lines)}: "
                "give one line a sentence, in the same order"
            )
    return Task(Path(references[0]).name, sources, sets)


def system_of_file(path: str, task: Task) -> System:
    """The translations in the file at `path`."""
    lines = list(read_lines(path))
    expected = len(task.references[0])
    if len(lines) != expected:
        raise NMTError(
            f"{path} has {len(lines)} lines, but there are {expected} references: give one for each"
        )
    return System(path, lines)


def require_same_task(first: Task, task: Task, where: str, other: str) -> None:
    """Raise unless `task` (of the run `other`) has the sentences of `first` (of the run `where`)."""
    if (first.sources, first.first_references) == (task.sources, task.first_references):
        return
    assert first.sources is not None and task.sources is not None
    sizes = f"{len(first.sources)} and {len(task.sources)} sentences"
    raise NMTError(
        f"{where} and {other} have different sets called {task.name} ({sizes}): give one for all, such as "
        f"data=files data.{task.name}.source=FILE data.{task.name}.target=FILE"
    )


def training_of(data: Any) -> Training:
    """The training data that a configuration's `data` part names, as far as it is still there."""
    try:
        corpus = open_corpus(data, "train")
    except NMTError:
        return Training([], Counter())
    step = max(1, len(corpus) // _SAMPLE)
    pairs: list[tuple[str, str]] = []
    counts: Counter[str] = Counter()
    for number, (source, target) in enumerate(corpus):
        counts.update(words(target))
        if number % step == 0 and len(pairs) < _SAMPLE:
            pairs.append((source, target))
    return Training(pairs, counts)
