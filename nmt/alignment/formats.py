"""Alignments as text and as files.

- ``text``: the matrix with shades and numbers; ``tsv``: the matrix as a table, source words in the first
  row and target words in the first column, no quoting; both with an empty line between sentences.
- ``json``: an object a line: source, target, weights, eos, links.
- ``pharaoh`` and ``talp``: a line of links a sentence; ``naacl``: a line a link.
- ``npz``: NumPy arrays ``source_N target_N weights_N eos_N links_N`` for sentence N from 0.
- ``png``, ``svg``: a heat map a file, numbered from 1 where its name has ``{n}``; ``pdf``: a page each.
- ``html``: one page to explore them all (see nmt.alignment.explorer).
"""

from __future__ import annotations

import json
import logging
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, TextIO

import numpy as np

from nmt.alignment.alignment import Alignment
from nmt.alignment.explorer import Explored, write_explorer
from nmt.alignment.plot import figure
from nmt.data.links import naacl_lines, pharaoh_line, sure_links, talp_line
from nmt.errors import NMTError
from nmt.files import write_atomically

LINE_FORMATS = ("text", "tsv", "json", "pharaoh", "talp", "naacl")
PICTURES = ("png", "pdf", "svg")
FORMATS = (*LINE_FORMATS, "npz", *PICTURES, "html")
_DOTS_PER_INCH = 160
_LINE_SEPARATORS = str.maketrans({char: f"\\u{ord(char):04x}" for char in "\x85\u2028\u2029"})

log = logging.getLogger(__name__)


def check_format(format: str, output: str | Path | None) -> None:
    """Raise unless `format` is known and can go to `output` (None: standard output)."""
    if format not in FORMATS:
        nearest = get_close_matches(format, FORMATS, n=1)
        hint = f"did you mean {nearest[0]}? " if nearest else ""
        raise NMTError(f"format={format} is unknown: {hint}choose one of {', '.join(FORMATS)}")
    if output is None and format not in LINE_FORMATS:
        raise NMTError(f"format={format} is no text for standard output: give output=FILE.{format}")


def write_alignments(
    alignments: Iterable[Alignment],
    format: str,
    output: str | Path | None,
    stream: TextIO,
    width: int | None = None,
) -> None:
    """Write `alignments` one after the other in `format` to the file `output` or, without one, to `stream`.

    Files appear when they are complete. `width` is how many columns a terminal has, for ``text``.
    """
    check_format(format, output)
    if output is None:
        for text in format_alignments(alignments, format, width):
            stream.write(text)
            stream.flush()
    elif format in LINE_FORMATS:
        with write_atomically(output, "w") as file:
            file.writelines(format_alignments(alignments, format, width))
    elif format == "npz":
        with write_atomically(output) as file:
            write_npz(alignments, file)
    elif format == "html":
        with write_atomically(output, "w") as file:
            write_explorer([Explored("", [""], ([each] for each in alignments))], None, file)
    else:
        _write_pictures(alignments, format, str(output))


def format_alignments(
    alignments: Iterable[Alignment], format: str, width: int | None = None
) -> Iterator[str]:
    """The text of each of `alignments` in one of the line formats, with the ``\\n`` that ends it."""
    for number, alignment in enumerate(alignments):
        gap = "\n" if number else ""
        links = sure_links(alignment.links)
        if format == "text":
            yield gap + alignment.text(width)
        elif format == "tsv":
            yield gap + _table(alignment)
        elif format == "json":
            yield json_line(alignment)
        elif format == "naacl":
            yield "".join(f"{line}\n" for line in naacl_lines(number, links))
        else:
            yield (talp_line(links) if format == "talp" else pharaoh_line(links)) + "\n"


def json_line(alignment: Alignment) -> str:
    """The alignment as one line of JSON, also for readers that end lines at more than ``\\n``."""
    return json.dumps(alignment.to_json(), ensure_ascii=False).translate(_LINE_SEPARATORS) + "\n"


def _table(alignment: Alignment) -> str:
    header = "\t".join(["", *alignment.source])
    rows = [
        "\t".join([word, *(f"{weight:.6f}" for weight in weights)])
        for word, weights in zip(alignment.target, alignment.weights, strict=True)
    ]
    return "".join(f"{line}\n" for line in [header, *rows])


def write_npz(alignments: Iterable[Alignment], file: IO[bytes]) -> None:
    """Write `alignments` as they come into one NumPy archive, without pickled objects."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, alignment in enumerate(alignments):
            arrays = {
                "source": np.array(alignment.source, dtype=np.str_),
                "target": np.array(alignment.target, dtype=np.str_),
                "weights": alignment.weights,
                "eos": alignment.eos,
                "links": np.array(alignment.links, dtype=np.int64).reshape(-1, 2),
            }
            for name, array in arrays.items():
                with archive.open(f"{name}_{number}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)


def _write_pictures(alignments: Iterable[Alignment], format: str, output: str) -> None:
    iterator = iter(alignments)
    if "{n}" in output:
        for number, alignment in enumerate(iterator, start=1):
            with write_atomically(output.replace("{n}", str(number))) as file:
                write_picture(alignment, format, file)
        return
    first = list(islice(iterator, 2))
    if not first:
        raise NMTError(f"there is no sentence pair to draw into {output}: give at least one")
    if len(first) == 1:
        with write_atomically(output) as file:
            write_picture(first[0], format, file)
    elif format == "pdf":
        with write_atomically(output) as file:
            write_pages(chain(first, iterator), file)
    else:
        raise NMTError(
            f"{output} can hold one picture and there are several sentence pairs: put {{n}} into its name, "
            "as in output=pair-{n}." + format + ", or choose format=pdf, which has a page for each"
        )


def write_picture(alignment: Alignment, format: str, file: IO[bytes]) -> None:
    """Write a heat map of `alignment` as PNG, PDF or SVG; the same alignment gives the same bytes."""
    metadata = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[format]
    with _drawing():
        picture = figure(alignment)
        picture.savefig(
            file, format=format, metadata=metadata, bbox_inches="tight", pad_inches=0.12, dpi=_DOTS_PER_INCH
        )


def write_pages(alignments: Iterable[Alignment], file: IO[bytes]) -> None:
    """Write heat maps of `alignments`, a page each, as one PDF."""
    from matplotlib.backends.backend_pdf import PdfPages

    with _drawing(), PdfPages(file, metadata={"CreationDate": None}) as pages:
        for alignment in alignments:
            pages.savefig(figure(alignment), bbox_inches="tight", pad_inches=0.12)


@contextmanager
def _drawing() -> Iterator[None]:
    """Matplotlib set for publication (text stays text), and one line for all its warnings about glyphs."""
    import matplotlib

    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "nmt", "pdf.fonttype": 42}
    with matplotlib.rc_context(settings), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    if any("Glyph" in str(warning.message) for warning in caught):
        log.warning("no installed font has some of the characters in the picture: install the Noto fonts")
