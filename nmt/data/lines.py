"""Lines of text files: they end at ``\\n`` only, whatever else stands in them.

U+2028, U+0085, ``\\r``, NUL, a byte order mark or a form feed inside a line neither make nor eat a line.
"""

import difflib
import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, BinaryIO, Literal, cast

from nmt.errors import NMTError

Errors = Literal["strict", "replace"]
_GZIP_MAGIC = b"\x1f\x8b"


def read_lines(
    source: str | Path | BinaryIO,
    errors: Errors = "strict",
    name: str | None = None,
    watch: Callable[[bytes], None] | None = None,
) -> Iterator[str]:
    """The lines of a plain or gzipped file, or of a stream of bytes as they arrive, without their ``\\n``.

    A last line without ``\\n`` counts; an empty file has no lines. Bytes that are not UTF-8 are an NMTError
    naming file (`name`, by default the path) and line or, with ``errors="replace"``, become U+FFFD. `watch`
    receives the bytes of each line, ``\\n`` included (for a checksum).
    """
    if isinstance(source, str | Path):
        path = existing_file(source)
        with _open(path) as file:
            yield from _decoded(file, errors, name or str(path), watch)
    else:
        yield from _decoded(source, errors, name or str(getattr(source, "name", "the input")), watch)


def existing_file(path: str | Path) -> Path:
    """`path`, or an NMTError if there is no such file, naming the nearest one there is."""
    path = Path(path).expanduser()
    if path.is_file() or path.is_fifo() or path.is_char_device():
        return path
    if path.is_dir():
        raise NMTError(f"{path} is a folder: give one of its files")
    folder = path.parent
    if not folder.is_dir():
        raise NMTError(f"there is no file {path}: its folder {folder} does not exist")
    near = difflib.get_close_matches(
        path.name, sorted(entry.name for entry in folder.iterdir()), n=3, cutoff=0.7
    )
    hint = f"did you mean {' or '.join(str(folder / each) for each in near)}?" if near else "check the path"
    raise NMTError(f"there is no file {path}: {hint}")


def starts_as_text(path: Path) -> bool:
    """Whether the first 8 kB of the file at `path` (unpacked, if gzipped) are free of NUL bytes."""
    try:
        with _open(path) as file:
            return b"\0" not in file.read(8192)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        return True  # reading says what is wrong


def _open(path: Path) -> IO[bytes]:
    """The file at `path`, unpacked if it begins as gzip does (pipes are taken as they are)."""
    try:
        file = open(path, "rb")  # noqa: SIM115 (the caller closes it)
    except OSError as error:
        raise NMTError(f"cannot read {path}: {error.strerror}") from None
    if path.is_file() and file.peek(2)[:2] == _GZIP_MAGIC:
        file.close()
        return cast(IO[bytes], gzip.open(path, "rb"))
    return file


def _decoded(
    file: IO[bytes], errors: Errors, name: str, watch: Callable[[bytes], None] | None
) -> Iterator[str]:
    number = 0
    try:
        for line in file:
            number += 1
            if watch is not None:
                watch(line)
            yield line.removesuffix(b"\n").decode("utf-8", errors)
    except UnicodeDecodeError as error:
        raise NMTError(
            f"{name}, line {number}: not UTF-8 (byte 0x{error.object[error.start]:02x} at position "
            f"{error.start + 1}): convert it, for example with iconv -f latin1 -t utf-8"
        ) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise NMTError(
            f"{name}, after line {number}: damaged gzip data ({error}): make the file again"
        ) from None
