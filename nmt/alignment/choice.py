"""The reading that aligns best on a development set: by its gold links, or by how well two directions agree.

Step, layer and head are chosen first, together, then the fold of target pieces, then the threshold; the first
of equals wins. Without gold, a layer and head whose links are the same in both directions has aligned
(Chen et al. 2020, section 3.2, choose layers so).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, get_args

from nmt.alignment.error_rate import alignment_error_rate
from nmt.alignment.fold import TargetFold
from nmt.alignment.reading import PieceAttention, Reading, places
from nmt.data.links import Links, sure_links, turned
from nmt.errors import NMTError

THRESHOLDS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6)


class Choice(NamedTuple):
    """A reading and the error rate it was chosen by, in percent (against gold, or of one direction's links
    against the other's).
    """

    reading: Reading
    aer: float


def choose_by_gold(attentions: Sequence[PieceAttention], gold: Sequence[Links]) -> Choice:
    """The reading of `attentions` with the lowest alignment error rate against `gold`."""

    def measure(reading: Reading) -> float:
        return alignment_error_rate(_links(attentions, reading), gold).aer

    return _choose(attentions, measure)


def choose_by_agreement(forward: Sequence[PieceAttention], backward: Sequence[PieceAttention]) -> Choice:
    """The reading of both directions' attention to the same pairs under which their links agree best."""

    def measure(reading: Reading) -> float:
        other = [turned(links) for links in _links(backward, reading)]
        return alignment_error_rate(_links(forward, reading), other).aer

    return _choose(forward, measure)


def _choose(attentions: Sequence[PieceAttention], measure: Callable[[Reading], float]) -> Choice:
    if not attentions:
        raise NMTError("there is no sentence pair to choose a reading of the attention on")
    best = _lowest(places(attentions[0]), measure)
    best = _lowest((replace(best.reading, fold=fold) for fold in get_args(TargetFold)), measure)
    return _lowest((replace(best.reading, threshold=threshold) for threshold in (None, *THRESHOLDS)), measure)


def _lowest(readings: Iterable[Reading], measure: Callable[[Reading], float]) -> Choice:
    return min((Choice(reading, measure(reading)) for reading in readings), key=lambda choice: choice.aer)


def _links(attentions: Sequence[PieceAttention], reading: Reading) -> list[Links]:
    return [sure_links(reading.align(attention).links) for attention in attentions]
