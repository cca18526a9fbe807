"""What there is to translate: text files, standard input, a sentence, or somebody at a terminal."""

import contextlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt.cli.run_settings import read_input
from nmt.errors import NMTError

if TYPE_CHECKING:
    from nmt.translator import Request

COLUMNS = ("source", "target", "prefix", "require", "forbid")


def column_names(own: dict[str, Any]) -> list[str]:
    """The columns that a line of the input has, between TABs; a single one is the whole line."""
    names = [name.strip() for name in (own["columns"] or "source").split(",")]
    for name in names:
        if name not in COLUMNS:
            raise NMTError(f"columns={own['columns']}: there is no {name}, choose from {', '.join(COLUMNS)}")
    if "source" not in names or len(set(names)) < len(names):
        raise NMTError(f"columns={own['columns']}: needs source, and each name once")
    return names


def requests(lines: Iterable[str], name: str, own: dict[str, Any]) -> Iterator["Request"]:
    """What is asked for each of the `lines` of the input called `name`.

    That is what its columns say, and what the command's `own` settings say of all lines.
    """
    from nmt.translator import Request

    names = column_names(own)
    required, forbidden = _phrases(own["require"]), _phrases(own["forbid"])
    for number, line in enumerate(lines, start=1):
        cells = [line] if len(names) == 1 else line.split("\t", len(names) - 1)
        row = dict(zip(names, cells, strict=False))
        if "target" in names and "target" not in row and line.strip():
            raise NMTError(
                f"{name}, line {number}: has no target; columns={own['columns']} needs a TAB before it"
            )
        yield Request(
            row.get("source", ""),
            row.get("prefix") or own["prefix"] or "",
            required + _phrases(row.get("require")),
            forbidden + _phrases(row.get("forbid")),
            row.get("target", "") if "target" in names else None,
            f"{name}, line {number}",
        )


def _phrases(value: str | None) -> tuple[str, ...]:
    """The comma-separated words or phrases of `value`."""
    return tuple(phrase.strip() for phrase in (value or "").split(",") if phrase.strip())


def read_file(path: str | None, errors: str) -> Iterator[str]:
    """The lines of the file `path` or of stdin."""
    if errors not in ("strict", "replace"):
        raise NMTError(f"errors={errors}: choose strict (an error) or replace (by U+FFFD)")
    return read_input(path, errors)  # type: ignore[arg-type]


def is_prompt(own: dict[str, Any]) -> bool:
    """Whether somebody sits at a terminal and nothing else says what to translate."""
    return own["text"] is None and own["input"] is None and sys.stdin is not None and sys.stdin.isatty()


def typed_lines() -> Iterator[str]:
    """The lines that somebody types, until Ctrl-D; what invites them to is no part of the results."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  (lines can be edited, and come back with the arrow keys)
    print("Type a sentence; Ctrl-D ends.", file=sys.stderr)
    both = sys.stdout.isatty()
    while True:
        if not both:
            print("> ", end="", file=sys.stderr, flush=True)
        try:
            yield input("> " if both else "")
        except EOFError:
            print(file=sys.stderr)
            return


def num_lines(paths: list[str]) -> int | None:
    """How many lines the files have, for a progress bar; None for stdin, pipes and gzipped files."""
    if not paths or any(path.endswith(".gz") or not Path(path).is_file() for path in paths):
        return None
    total = 0
    for path in paths:
        with open(path, "rb") as file:
            total += sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
    return total
