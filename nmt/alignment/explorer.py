"""All alignments of a file as one HTML page that needs nothing else: no network, no server.

The page (explorer.html, beside) holds the data as JSON. A matrix is a string of base64: a byte a weight,
255 = 1, row by row; so 1,000 sentences of 20 words take half a megabyte a matrix.
"""

import base64
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from nmt.alignment.alignment import Alignment
from nmt.data.links import Link, Links
from nmt.errors import NMTError

_PAGE = Path(__file__).with_name("explorer.html")


class Explored(NamedTuple):
    """A run's matrices: their names (of layers and heads), and for each sentence pair an alignment a name."""

    run: str
    names: Sequence[str]
    pairs: Iterable[Sequence[Alignment]]


def write_explorer(runs: Sequence[Explored], gold: Sequence[Links] | None, file: IO[str]) -> None:
    """Write the page for what `runs` say of the same sentence pairs, with `gold` links where given."""
    content = {
        "views": [f"{each.run} {name}".strip() or "alignment" for each in runs for name in each.names],
        "runs": len(runs),
        "secondRun": len(runs[0].names),  # where its matrices begin
        "gold": gold is not None,
        "pairs": list(_pairs(runs, gold)),
    }
    # A < could end the script that holds the data.
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    before, after = _PAGE.read_text(encoding="utf-8").split("__DATA__")
    file.writelines([before, text, after])


def _pairs(runs: Sequence[Explored], gold: Sequence[Links] | None) -> Iterator[dict[str, Any]]:
    for number, alignments in enumerate(zip(*(each.pairs for each in runs), strict=True)):
        first = alignments[0][0]
        for run, others in zip(runs, alignments, strict=True):
            if any((other.source, other.target) != (first.source, first.target) for other in others):
                raise NMTError(
                    f"sentence pair {number + 1}: {runs[0].run} and {run.run} split it into other words: "
                    "give words=split or words=whitespace"
                )
        pair: dict[str, Any] = {"source": first.source, "target": first.target}
        pair["matrices"] = [_matrix(alignment) for group in alignments for alignment in group]
        if gold is not None:
            links = gold[number]
            pair["gold"] = [_flat(links.sure), _flat(links.possible - links.sure)]
        yield pair


def _matrix(alignment: Alignment) -> list[Any]:
    return [_bytes(alignment.weights), _bytes(alignment.eos), _flat(alignment.links)]


def _bytes(weights: np.ndarray) -> str:
    return base64.b64encode(np.rint(weights * 255).astype(np.uint8).tobytes()).decode("ascii")


def _flat(links: Iterable[Link]) -> list[int]:
    return [position for link in sorted(links) for position in link]
