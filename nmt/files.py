"""Atomic writing: a reader or a crash never meets half a file."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any


@contextmanager
def write_atomically(path: str | Path, mode: str = "wb") -> Iterator[IO[Any]]:
    """A file open for writing that appears under `path` only when the block ends without an exception.

    Text modes write UTF-8 and end lines at ``\\n`` alone. The folder must exist. Permissions follow the
    umask, as for any new file, or those of the file that is replaced.
    """
    path = Path(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        text = "b" not in mode
        with open(handle, mode, encoding="utf-8" if text else None, newline="\n" if text else None) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _permissions(path))
        os.replace(temporary, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _permissions(path: Path) -> int:
    """The permissions of the file at `path` or, if there is none, those of a new file under this umask."""
    if path.exists():
        return path.stat().st_mode & 0o777
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask
