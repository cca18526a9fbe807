"""How well a run's attention finds gold links."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from nmt.alignment.alignment import Alignment
from nmt.alignment.baselines import baselines
from nmt.alignment.error_rate import ErrorRate, alignment_error_rate
from nmt.data.links import Links, check_range, sure_links
from nmt.errors import NMTError


class Aligner(Protocol):
    """What aligns pairs of texts: a `Translator` as it is read, or two of opposite directions."""

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> Iterator[Alignment]:
        """An alignment for each pair, in order."""


class AlignmentScores(NamedTuple):
    """The error rate of an aligner and, by name, those of aligners that know nothing of the words."""

    error_rate: ErrorRate
    baselines: dict[str, ErrorRate]

    def text(self) -> str:
        """A line for the error rate and one for each baseline."""
        lines = [self.error_rate.text(), *(f"{rate.text()}  {name}" for name, rate in self.baselines.items())]
        return "".join(f"{line}\n" for line in lines)

    def to_json(self) -> dict[str, Any]:
        """The error rate's object for JSON, with the baselines' in it."""
        rates = {name: rate.to_json() for name, rate in self.baselines.items()}
        return {**self.error_rate.to_json(), "baselines": rates}


def evaluate_alignments(
    align: Aligner, pairs: Sequence[tuple[str, str]], gold: Sequence[Links], where: str
) -> AlignmentScores:
    """Align `pairs` and score the links against `gold`, whose file `where` names in messages."""
    found, lengths = [], []
    for number, (alignment, right) in enumerate(zip(align(pairs), gold, strict=True), start=1):
        lengths.append((len(alignment.source), len(alignment.target)))
        try:
            check_range(right.possible, lengths[-1], 0)
        except NMTError as error:
            raise NMTError(f"{where}, line {number}: {error}; give words=split or words=whitespace") from None
        found.append(sure_links(alignment.links))
    return AlignmentScores(alignment_error_rate(found, gold), baselines(lengths, gold))
