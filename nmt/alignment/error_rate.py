"""How good word links are, measured against gold links (Och and Ney 2003, section 4.1).

With the links A of an aligner, the sure gold links S and the possible ones P ⊇ S:

    precision = |A ∩ P| / |A|      recall = |A ∩ S| / |S|      AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

counted over all sentences at once. F1 is the harmonic mean of precision and recall.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nmt.alignment.symmetrise import DEFAULT_METHOD, symmetrise
from nmt.data.links import LinkFile, Links, read_links, sure_links
from nmt.errors import NMTError


class ErrorRate(NamedTuple):
    """Alignment error rate, precision, recall and F1, each in percent, over `num_sentences` sentences."""

    aer: float
    precision: float
    recall: float
    f1: float
    num_links: int
    num_sentences: int

    def text(self) -> str:
        """The four numbers on one line, in percent with two decimals."""
        return (
            f"AER {self.aer:.2f}  precision {self.precision:.2f}  recall {self.recall:.2f}  F1 {self.f1:.2f}"
            f"  ({self.num_links} links, {self.num_sentences} sentences; percent)"
        )

    def to_json(self) -> dict[str, Any]:
        """The same as an object for JSON."""
        return self._asdict()


def alignment_error_rate(alignments: Sequence[Links], gold: Sequence[Links]) -> ErrorRate:
    """Score the links of `alignments` (its possible links count like its sure ones) against `gold`.

    A fraction of nothing counts as fully right: no links at all have a precision of 100 and, where gold has
    sure links, a recall of 0 and an AER of 100.
    """
    if len(alignments) != len(gold):
        raise NMTError(f"{len(alignments)} aligned sentences cannot be scored against {len(gold)} gold ones")
    links = sure = links_sure = links_possible = 0
    for found, right in zip(alignments, gold, strict=True):
        links += len(found.possible)
        sure += len(right.sure)
        links_sure += len(found.possible & right.sure)
        links_possible += len(found.possible & right.possible)
    precision = links_possible / links if links else 1.0
    recall = links_sure / sure if sure else 1.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    aer = 1 - (links_sure + links_possible) / (links + sure) if links + sure else 0.0
    return ErrorRate(100 * aer, 100 * precision, 100 * recall, 100 * f1, links, len(gold))


def score_link_files(
    alignments: str | Path,
    gold: str | Path,
    base: int | None = None,
    gold_base: int | None = None,
    lengths: Sequence[tuple[int, int]] | None = None,
    reverse: str | Path | None = None,
    method: str = DEFAULT_METHOD,
) -> ErrorRate:
    """Score the link file `alignments` against the link file `gold`, each in any format.

    `base` and `gold_base` override the first position that each file's format defines. `lengths`, where
    given, holds each sentence pair's number of source and target words, which every position must stay below.
    With `reverse`, links of the other direction (which name the source's position first, too), what is scored
    are the links that `method` makes of both.
    """
    paths = [alignments, gold] if reverse is None else [alignments, gold, reverse]
    bases = [base, gold_base, base]
    files = [read_links(path, lengths, first) for path, first in zip(paths, bases, strict=False)]
    count = max(len(file.sentences) for file in files)
    for path, file in zip(paths, files, strict=True):
        if len(file.sentences) < count and not file.numbered:
            longest = next(
                path for path, other in zip(paths, files, strict=True) if len(other.sentences) == count
            )
            raise NMTError(
                f"{path} has links for {len(file.sentences)} sentences and {longest} for {count}: "
                "give files about the same sentences"
            )
    found, right, *others = (_filled(file, count) for file in files)
    for other in others:
        found = [
            sure_links(symmetrise(there.possible, back.possible, method))
            for there, back in zip(found, other, strict=True)
        ]
    return alignment_error_rate(found, right)


def _filled(file: LinkFile, count: int) -> list[Links]:
    """The sentences of `file`, with sentences without links at the end up to `count`."""
    return file.sentences + [Links(frozenset(), frozenset())] * (count - len(file.sentences))
