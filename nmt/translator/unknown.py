"""What stands for a word that the vocabulary cannot spell: a lexicon's entry or the source's own text.

The source word is the one that the unknown word looked at most (Luong et al. 2015b; Jean et al. 2015).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from nmt.data.lines import read_lines
from nmt.data.segments import Segment, tidy
from nmt.decoding.search import Hypothesis
from nmt.errors import NMTError
from nmt.translator.source import WholeSource


class Replacement(NamedTuple):
    """A piece that was spelled by other means."""

    position: int  # of the piece in its hypothesis
    source: str  # what it looked at
    text: str  # what stands in the translation
    by: Literal["lexicon", "copy"]
    weight: float | None  # how much it looked there; None without attention


def read_lexicon(path: str | Path) -> dict[str, str]:
    """The entries of a file with lines WORD TAB TRANSLATION; of several for a word the first counts."""
    lexicon: dict[str, str] = {}
    for number, line in enumerate(read_lines(path), start=1):
        word, _, translation = map(tidy, line.partition("\t"))
        if line.strip() and not (word and translation):
            raise NMTError(f"{path}, line {number}: {line!r} is no entry: give WORD TAB TRANSLATION")
        if word:
            lexicon.setdefault(word, translation)
    return lexicon


def replace(
    source: str,
    segment: Segment | WholeSource,
    hypothesis: Hypothesis,
    position: int,
    lexicon: Mapping[str, str],
) -> Replacement:
    """What stands for the unknown piece at `position` of the translation of `segment` of the tidied `source`.

    Without attention the source's piece at the same place counts. A word that the lexicon holds in lower case
    alone is found, too.
    """
    pieces = len(segment.ids)
    if hypothesis.weights is None:
        piece, weight = min(position, pieces - 1), None
    else:
        row = hypothesis.weights[position, :pieces]
        piece = int(row.argmax())
        weight = float(row[piece])
    start, end = segment.spans[piece]
    word = source[start:end].strip()
    entry = lexicon.get(word) or lexicon.get(word.lower())
    return Replacement(position, word, entry or word, "lexicon" if entry else "copy", weight)
