"""A run measured on a test set: translations, their scores and, where there are gold links, alignments."""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from nmt.alignment.alignment import Alignment
from nmt.alignment.error_rate import ErrorRate
from nmt.data.corpus import Corpus, open_corpus
from nmt.errors import NMTError
from nmt.evaluation.alignments import Aligner, AlignmentScores, evaluate_alignments
from nmt.evaluation.scores import References, Scores, score
from nmt.evaluation.warnings import hypothesis_warnings
from nmt.files import write_atomically
from nmt.translator import Translator

log = logging.getLogger(__name__)


class RunEvaluation(NamedTuple):
    """What a run scores on a split."""

    split: str
    scores: Scores
    alignments: AlignmentScores | None  # None without gold links

    @property
    def alignment(self) -> ErrorRate | None:
        """The error rate of the run's links."""
        return None if self.alignments is None else self.alignments.error_rate

    def text(self) -> str:
        """The scores for people."""
        return self.scores.text() + ("" if self.alignments is None else f"\n{self.alignments.text()}")

    def to_json(self) -> dict[str, Any]:
        """The scores as an object for JSON: those of `Scores`, the split's name, and alignment if there."""
        result = {"split": self.split, **self.scores.to_json()}
        if self.alignments is not None:
            result["alignment"] = self.alignments.to_json()
        return result


def evaluate_run(
    translator: Translator,
    data: Mapping[str, Any],
    split: str,
    folder: str | Path | None = None,
    align: Aligner | None = None,
) -> RunEvaluation:
    """Translate the `split` of the configuration's `data` part, and score it against its raw references.

    The translations and the scores are written to `folder`/SPLIT.hyp and .json. Where the split names gold
    `links`, the given pairs are aligned, by force or as `align` does, and the links scored against them. With
    ``data.protocol=multi30k`` BLEU under that protocol stands beside. A test set's line is to be read whole,
    as training reads lines, whatever sentences are in it: `translator` should split ``long`` ones only.
    """
    corpus = open_corpus(data, split)
    pairs = list(corpus.lines())
    progress = tqdm(
        translator.translations([source for source, _ in pairs]),
        total=len(pairs), desc="translating", unit=" lines", leave=False, disable=None,
    )  # fmt: skip
    hypotheses = [translation.text for translation in progress]
    for warning in hypothesis_warnings(hypotheses):
        log.warning(warning)
    scores = score(hypotheses, reference_sets(corpus, pairs), corpus.tags(), multi30k_language(data))
    result = RunEvaluation(split, scores, _alignments(align or translator.align_pairs, corpus, pairs))
    if folder is not None:
        _write(Path(folder), result, hypotheses)
    return result


def reference_sets(corpus: Corpus, pairs: Sequence[tuple[str, str]]) -> References:
    """One or more sets of references: all that the corpus knows."""
    known = corpus.references()
    if known is None:
        return [[target for _, target in pairs]]
    most = max(map(len, known))
    return [[targets[rank] if rank < len(targets) else None for targets in known] for rank in range(most)]


def multi30k_language(data: Mapping[str, Any]) -> str | None:
    """The target language where BLEU under Multi30k's protocol is wanted beside the standard one."""
    protocol = data.get("protocol")
    if protocol not in (None, "multi30k"):
        raise NMTError(f"data.protocol={protocol}: choose multi30k, or null for none beside the standard")
    if protocol is None:
        return None
    return str(data.get("source_language" if data.get("reverse") else "target_language", "fr"))


def _alignments(align: Aligner, corpus: Corpus, pairs: Sequence[tuple[str, str]]) -> AlignmentScores | None:
    gold = corpus.links(every=True)
    if gold is None:
        return None

    def shown(pairs: Sequence[tuple[str, str]]) -> Iterator[Alignment]:
        return iter(
            tqdm(
                align(pairs),
                total=len(pairs),
                desc="aligning",
                unit=" pairs",
                leave=False,
                disable=None,
            )  # fmt: skip
        )

    try:
        return evaluate_alignments(shown, pairs, list(gold), f"{corpus.name}.links")
    except NMTError as error:
        log.warning("no alignment error rate: %s", error)
        return None


def _write(folder: Path, result: RunEvaluation, hypotheses: Sequence[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with write_atomically(folder / f"{result.split}.hyp", "w") as file:
        file.writelines(f"{line}\n" for line in hypotheses)
    with write_atomically(folder / f"{result.split}.json", "w") as file:
        json.dump(result.to_json(), file, ensure_ascii=False, indent=1)
        file.write("\n")
