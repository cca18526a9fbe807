"""A run measured on a test set: translations, their scores and, where there are gold links, alignments."""

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from nmt.alignment.error_rate import ErrorRate, alignment_error_rate
from nmt.data.corpus import Corpus, open_corpus
from nmt.data.links import Links, parse_links, sure_links
from nmt.errors import NMTError
from nmt.evaluation.scores import References, Scores, score
from nmt.evaluation.warnings import hypothesis_warnings
from nmt.files import write_atomically
from nmt.translator import Translator

log = logging.getLogger(__name__)


class RunEvaluation(NamedTuple):
    """What a run scores on a split."""

    split: str
    scores: Scores
    alignment: ErrorRate | None  # None without gold links

    def text(self) -> str:
        """The scores for people."""
        return self.scores.text() + ("" if self.alignment is None else f"\n{self.alignment.text()}\n")

    def to_json(self) -> dict[str, Any]:
        """The scores as an object for JSON: those of `Scores`, the split's name, and alignment if there."""
        result = {"split": self.split, **self.scores.to_json()}
        if self.alignment is not None:
            result["alignment"] = self.alignment.to_json()
        return result


def evaluate_run(
    translator: Translator, data: Mapping[str, Any], split: str, folder: str | Path | None = None
) -> RunEvaluation:
    """Translate the `split` of the configuration's `data` part, and score it against its raw references.

    The translations and the scores are written to `folder`/SPLIT.hyp and .json. Where the split names gold
    `links`, the given pairs are aligned by force and each row's argmax scored against them. With
    ``data.protocol=multi30k`` BLEU under that protocol stands beside.
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
    scores = score(hypotheses, _references(corpus, pairs), corpus.tags(), _multi30k_language(data))
    result = RunEvaluation(split, scores, _alignment(translator, corpus, pairs, bool(data.get("reverse"))))
    if folder is not None:
        _write(Path(folder), result, hypotheses)
    return result


def _references(corpus: Corpus, pairs: Sequence[tuple[str, str]]) -> References:
    """One or more sets of references: all that the corpus knows."""
    known = corpus.references()
    if known is None:
        return [[target for _, target in pairs]]
    most = max(map(len, known))
    return [[targets[rank] if rank < len(targets) else None for targets in known] for rank in range(most)]


def _multi30k_language(data: Mapping[str, Any]) -> str | None:
    protocol = data.get("protocol")
    if protocol not in (None, "multi30k"):
        raise NMTError(f"data.protocol={protocol}: choose multi30k, or null for none beside the standard")
    if protocol is None:
        return None
    return str(data.get("source_language" if data.get("reverse") else "target_language", "fr"))


def _alignment(
    translator: Translator, corpus: Corpus, pairs: Sequence[tuple[str, str]], reverse: bool
) -> ErrorRate | None:
    lines = corpus.link_lines()
    if lines is None:
        return None
    progress = tqdm(
        translator.align_pairs(list(pairs)),
        total=len(pairs), desc="aligning", unit=" pairs", leave=False, disable=None,
    )  # fmt: skip
    try:
        found = [sure_links(alignment.links) for alignment in progress]
    except NMTError as error:
        log.warning("no alignment error rate: %s", error)
        return None
    return alignment_error_rate(found, _gold(corpus, lines, reverse))


def _gold(corpus: Corpus, lines: Sequence[str], reverse: bool) -> list[Links]:
    """The gold links, turned round where the corpus is."""
    gold = []
    for number, line in enumerate(lines, start=1):
        try:
            links = parse_links(line)
        except NMTError as error:
            raise NMTError(f"{corpus.name}.links, line {number}: {error}") from None
        gold.append(_turned(links) if reverse else links)
    return gold


def _turned(links: Links) -> Links:
    return Links(*(frozenset((target, source) for source, target in part) for part in links))


def _write(folder: Path, result: RunEvaluation, hypotheses: Sequence[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with write_atomically(folder / f"{result.split}.hyp", "w") as file:
        file.writelines(f"{line}\n" for line in hypotheses)
    with write_atomically(folder / f"{result.split}.json", "w") as file:
        json.dump(result.to_json(), file, ensure_ascii=False, indent=1)
        file.write("\n")
