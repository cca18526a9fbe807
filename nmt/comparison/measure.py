"""A run measured once: its translations of a task, how it attends, what it costs; kept in its folder."""

import hashlib
import json
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm

from nmt.alignment.alignment import Alignment
from nmt.comparison.fairness import what_matters
from nmt.comparison.systems import System, Task
from nmt.config.flat import flat
from nmt.data.corpus import Corpus
from nmt.errors import NMTError
from nmt.evaluation.alignments import evaluate_alignments
from nmt.files import write_atomically
from nmt.training.checkpoint import read_last
from nmt.training.run_directory import RunDirectory
from nmt.translator import Translator

if TYPE_CHECKING:
    from omegaconf import DictConfig

_NUM_MATRICES = 12  # sentences whose alignments are kept to look at
_LONGEST_SHOWN = 16  # words of such a sentence
_FORMAT = 2  # of the kept file; another number makes all be measured anew

log = logging.getLogger(__name__)


def measure(run: RunDirectory, task: Task, corpus: Corpus, search: "DictConfig", device: str) -> System:
    """The run as a system: measured on `task` (the sentences of `corpus`), or as it was before."""
    path = run.path / "evaluation" / f"comparison-{task.name}.json"
    key = _key(run, task, corpus, search)
    kept = _kept(path, key)
    if kept is None:
        log.info("%s: translating %d sentences", run.path, len(task.references[0]))
        kept = {"key": key, **_measured(run, corpus, search, device)}
        path.parent.mkdir(exist_ok=True)
        with write_atomically(path, "w") as file:
            json.dump(kept, file, ensure_ascii=False)
            file.write("\n")
    config = run.config()
    return System(
        str(run.path),
        kept["translations"],
        {**training_facts(run), **kept["facts"]},
        config.get("seed"),
        run.metrics(),
        kept["matrices"],
        what_matters(config),
        _conditions(run),
    )


def _kept(path: Path, key: str) -> dict[str, Any] | None:
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return kept if kept.get("key") == key else None


def _key(run: RunDirectory, task: Task, corpus: Corpus, search: "DictConfig") -> str:
    """A digest of all that the measurements depend on."""
    last = read_last(run.checkpoints)
    content = [_FORMAT, last, flat(search), task.sources, task.first_references, corpus.link_lines()]
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def _measured(run: RunDirectory, corpus: Corpus, search: "DictConfig", device: str) -> dict[str, Any]:
    translator = Translator.load(run.path, device, search=search, split="long")
    pairs = list(corpus.lines())
    start = time.perf_counter()
    translations = [
        translation.text
        for translation in _shown(translator.translations([s for s, _ in pairs]), len(pairs), "translating")
    ]
    facts = {"sentences_per_second": len(pairs) / (time.perf_counter() - start)}
    facts["parameters"] = sum(parameter.numel() for parameter in translator.model.parameters())
    matrices = []
    if next(translator.score_pairs(pairs[:1])).attention is not None:
        alignments = list(_shown(translator.align_pairs(pairs), len(pairs), "aligning"))
        facts |= attention_facts(alignments) | _alignment_error_rate(alignments, corpus, pairs)
        matrices = [
            {"sentence": number, **_rounded(alignments[number])} for number in chosen_sentences(pairs)
        ]
    return {"translations": translations, "facts": facts, "matrices": matrices}


def _shown(items: Iterator[Any], total: int, what: str) -> Iterator[Any]:
    return iter(tqdm(items, total=total, desc=what, unit=" lines", leave=False, disable=None))


def attention_facts(alignments: Sequence[Alignment]) -> dict[str, float]:
    """Means over target words: entropy of the weights on source words, and end of sentence's share.

    Entropy is in bits, -Σ_j α_j log2 α_j of a row without end-of-sentence; rows that attend to nothing else
    have none. The share is in percent.
    """
    rows = [row for alignment in alignments for row in alignment.weights if row.any()]
    shares = [share for alignment in alignments for share in alignment.eos.tolist()]
    facts = {}
    if rows:
        entropies = [-sum(weight * np.log2(weight) for weight in row[row > 0]) for row in rows]
        facts["entropy"] = float(np.mean(entropies))
    if shares:
        facts["eos_share"] = 100 * float(np.mean(shares))
    return facts


def _alignment_error_rate(
    alignments: Sequence[Alignment], corpus: Corpus, pairs: Sequence[tuple[str, str]]
) -> dict[str, float]:
    gold = corpus.links(every=True)
    if gold is None:
        return {}
    try:
        scores = evaluate_alignments(lambda _: iter(alignments), pairs, list(gold), f"{corpus.name}.links")
    except NMTError as error:
        log.warning("no alignment error rate: %s", error)
        return {}
    return {"aer": scores.error_rate.aer}


def chosen_sentences(pairs: Sequence[tuple[str, str]]) -> list[int]:
    """A few sentences of readable length, spread over the pairs; the same for every system."""
    short = [
        number
        for number, pair in enumerate(pairs)
        if all(2 <= len(side.split()) <= _LONGEST_SHOWN for side in pair)
    ]
    count = min(_NUM_MATRICES, len(short))
    return [short[number * len(short) // count] for number in range(count)]


def _rounded(alignment: Alignment) -> dict[str, Any]:
    return {
        "source": alignment.source,
        "target": alignment.target,
        "weights": alignment.weights.round(3).tolist(),
        "eos": alignment.eos.round(3).tolist(),
    }


def training_facts(run: RunDirectory) -> dict[str, float]:
    """What the run's metrics say of the checkpoint that translates, and of its training.

    `perplexity` (of the dev set), `minutes` of training until then, `tokens_per_second` (target tokens; the
    log's median), `updates` in all and, where the comparison trained it, `peak_memory` (MiB).
    """
    last, metrics = read_last(run.checkpoints), run.metrics()
    facts: dict[str, float] = {}
    if last is not None:
        facts["updates"] = last.update
        best = [line for line in metrics if line["update"] == last.best_update and line["kind"] != "train"]
        for line in best:
            facts["perplexity"] = line["perplexity"]
            if "seconds" in line:
                facts["minutes"] = line["seconds"] / 60
    speeds = [line["tokens_per_second"] for line in metrics if line["kind"] == "train"]
    if speeds:
        facts["tokens_per_second"] = median(speeds)
    with suppress(FileNotFoundError, ValueError):
        facts |= json.loads(memory_path(run.path).read_text(encoding="utf-8"))
    return facts


def memory_path(run: Path) -> Path:
    """Where the largest memory of a run's training is kept."""
    return run / "evaluation" / "training-memory.json"


def _conditions(run: RunDirectory) -> dict[str, Any]:
    try:
        return json.loads((run.path / "versions.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
