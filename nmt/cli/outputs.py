"""Where results go: standard output, or a file that appears when it is complete.

A file of lines grows beside its place, under its name and ``.part``; what was written before a crash, a kill
or a full disk can be continued from there, with the same settings (``.part.json``).
"""

import gzip
import logging
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from nmt.cli.resuming import Recipe, check_recipe, recipe_path, write_recipe
from nmt.errors import NMTError
from nmt.files import write_atomically

_DOCUMENTS = (".srt", ".vtt", ".po")

log = logging.getLogger(__name__)


class Output:
    """Lines of text on their way out."""

    def __init__(self, stream: IO[str], name: str | None, num_there: int = 0) -> None:
        self._stream = stream
        self._name = name  # None: standard output
        self.num_there = num_there  # complete lines from before

    def write(self, text: str) -> None:
        """Write one result; whoever reads standard output gets it at once."""
        self._stream.write(text)
        if self._name is None:
            self._stream.flush()


def is_finished(path: str | None, resume: bool) -> bool:
    """Whether a resumed command has nothing more to do for `path`: the file is there, and no part of one."""
    return resume and path is not None and Path(path).exists() and not _part_of(Path(path)).exists()


def check_part(path: str | None, recipe: Recipe | None) -> None:
    """Raise if there is an unfinished file of `path` that was made with something else than `recipe`."""
    if path is not None and recipe is not None and _part_of(Path(path)).exists():
        check_recipe(_part_of(Path(path)), recipe)


@contextmanager
def open_output(path: str | None, recipe: Recipe | None = None, resume: bool = False) -> Iterator[Output]:
    """The file `path` (gzipped if its name ends in .gz) or stdout.

    What an interruption leaves of a file can be continued if `recipe` says what it is made with; `resume`
    does so.
    """
    if path is None:
        with _naming("standard output"):
            yield Output(sys.stdout, None)
    elif Path(path).exists() and not Path(path).is_file():  # a pipe or a device
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            yield Output(file, path)
    else:
        with _naming(path), _growing(Path(path), recipe, resume) as output:
            yield output


@contextmanager
def _growing(path: Path, recipe: Recipe | None, resume: bool) -> Iterator[Output]:
    part = _part_of(path)
    if not resume:
        _remove(part)
    if recipe is not None:
        write_recipe(part, recipe)
    num_there = _keep_complete_lines(part)
    with open(part, "a", encoding="utf-8", newline="\n") as file:
        try:
            yield Output(file, str(path), num_there)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            with suppress(OSError):
                file.close()
            _leave(part)
            raise
    _complete(part, path)


def _complete(part: Path, path: Path) -> None:
    """Put `part` under its final name at once."""
    if path.suffix == ".gz":
        with (
            open(part, "rb") as source,
            write_atomically(path) as target,
            gzip.GzipFile("", "wb", fileobj=target, mtime=0) as packed,
        ):
            shutil.copyfileobj(source, packed)
    else:
        if path.exists():
            shutil.copymode(path, part)
        os.replace(part, path)
    _remove(part)


def _leave(part: Path) -> None:
    """Keep what an interrupted command wrote, if it can be continued."""
    with suppress(OSError):
        if part.stat().st_size and recipe_path(part).exists():
            log.info("%s holds what was done so far: add resume=true to go on from there", part)
        else:
            _remove(part)


def _remove(part: Path) -> None:
    part.unlink(missing_ok=True)
    recipe_path(part).unlink(missing_ok=True)


def _keep_complete_lines(part: Path) -> int:
    """Cut a last line without end off `part`, and count the others; 0 if there is no such file."""
    if not part.exists():
        return 0
    count = end = 0
    with open(part, "rb+") as file:
        for line in file:
            if line.endswith(b"\n"):
                count, end = count + 1, end + len(line)
        file.truncate(end)
    return count


def _part_of(path: Path) -> Path:
    return path.with_name(path.name + ".part")


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """An error of the disk names the file."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is None or Path(path).name in str(error.filename):  # not the file's temporary name
            raise OSError(error.errno, error.strerror, path) from error
        raise


def paired(inputs: list[str], output: str | None) -> list[tuple[list[str], str | None]]:
    """Which inputs go to which output: all to one, each to its own of a list, or each into a folder."""
    pairs = _paired(inputs, output)
    for sources, target in pairs:
        if target is not None and not Path(target).parent.is_dir():
            raise NMTError(f"output={target}: there is no folder {Path(target).parent}; make it first")
        if target is not None and Path(target).is_file():
            for source in sources:
                if Path(source).exists() and Path(source).samefile(target):
                    raise NMTError(f"output={target}: is an input file too, which it would replace")
    return pairs


def _paired(inputs: list[str], output: str | None) -> list[tuple[list[str], str | None]]:
    if output is None:
        return [(inputs, None)]
    if Path(output).is_dir():
        targets = [str(Path(output) / Path(path).name) for path in inputs]
        if len(set(targets)) < len(targets):
            raise NMTError(f"output={output}: two of the input files have the same name")
        return [([path], target) for path, target in zip(inputs, targets, strict=True)]
    targets = split_paths(output) if len(inputs) > 1 else [output]
    if len(targets) == 1:
        return [(inputs, output)]
    if len(targets) != len(inputs):
        raise NMTError(
            f"output={output}: {len(targets)} names for {len(inputs)} input files; give one name for each, "
            "one for all, or a folder"
        )
    return [([path], target) for path, target in zip(inputs, targets, strict=True)]


def split_paths(value: str) -> list[str]:
    """The file `value` if there is one of that name, else the comma-separated files that it lists."""
    if Path(value).exists() or "," not in value:
        return [value]
    return [path.strip() for path in value.split(",")]


def is_document(inputs: list[str]) -> bool:
    """Whether `inputs` are subtitles or a catalogue, rather than lines of text."""
    return any(path.lower().endswith(_DOCUMENTS) for path in inputs)


def check_document(inputs: list[str], output: str | None, own: dict[str, Any]) -> None:
    """Raise if `inputs` are documents and cannot become `output` as the command's `own` settings ask."""
    if is_document(inputs):
        if len(inputs) > 1:
            raise NMTError(
                f"input={','.join(inputs)}: subtitles and catalogues need an output each: a list or a folder"
            )
        if own["format"] != "text" or own["columns"]:
            raise NMTError(f"input={inputs[0]}: keeps its own format; leave out format= and columns=")
