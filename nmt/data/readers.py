"""Where pairs come from: each reader can be read again and again, and knows a fingerprint of its contents.

A reader's text is its file's, but for what a file format adds: a byte order mark at the start, and the
``\\r`` of files that end their lines as Windows does, which a warning announces.
"""

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, Protocol

from nmt.data.lines import existing_file, read_lines, starts_as_text
from nmt.errors import NMTError

_BUILT_IN = "builtin:"

_logger = logging.getLogger(__name__)


class PairReader(Protocol):
    """Pairs (source, target) of one split, in order."""

    description: str  # its files or name, for messages

    @property
    def fingerprint(self) -> str:
        """Of the contents; known once the pairs have been read."""

    def __iter__(self) -> Iterator[tuple[str, str]]: ...


class TextFile:
    """Lines of a UTF-8 file, plain or gzipped."""

    def __init__(self, path: str | Path, setting: str) -> None:
        self.path = text_path(path, setting)
        if not starts_as_text(self.path):
            raise NMTError(
                f"{setting}={path} is no text file (it holds NUL bytes): give UTF-8 text, plain or gzipped"
            )
        self.fingerprint = ""
        self._warned = False

    def __iter__(self) -> Iterator[str]:
        digest = hashlib.blake2b(digest_size=16)
        number = carriage_returns = 0
        for number, line in enumerate(read_lines(self.path, watch=digest.update), start=1):
            if number == 1:
                line = line.removeprefix("\ufeff")
            if line.endswith("\r"):
                carriage_returns += 1
                line = line[:-1]
            yield line
        if not number:
            raise NMTError(f"{self.path} is empty: give a file with text")
        if carriage_returns and not self._warned:
            _logger.warning(
                "%s: the carriage return at the end of %d lines is left out", self.path, carriage_returns
            )
            self._warned = True
        self.fingerprint = digest.hexdigest()


class TwoFiles:
    """Two text files whose lines stand side by side."""

    def __init__(self, source: str | Path, target: str | Path, where: str) -> None:
        self._source = TextFile(source, f"{where}.source")
        self._target = TextFile(target, f"{where}.target")
        self.description = f"{self._source.path} and {self._target.path}"

    @property
    def fingerprint(self) -> str:
        return f"{self._source.fingerprint}-{self._target.fingerprint}"

    def __iter__(self) -> Iterator[tuple[str, str]]:
        counts = [0, 0]
        for source, target in zip_longest(self._source, self._target):
            counts[0] += source is not None
            counts[1] += target is not None
            if counts[0] == counts[1]:
                yield source, target
        if counts[0] != counts[1]:
            raise NMTError(
                f"{self._source.path} has {counts[0]} lines, but {self._target.path} has {counts[1]}: "
                f"line n of one must be the translation of line n of the other"
            )


class TsvFile:
    """Two columns of tab-separated values without quoting; `columns` count from 1 (by default 1 and 2)."""

    def __init__(self, path: str | Path, columns: Sequence[Any] | None, where: str) -> None:
        self._file = TextFile(path, f"{where}.tsv")
        self.description = str(self._file.path)
        columns = columns or (1, 2)
        if not all(isinstance(column, int) and column >= 1 for column in columns):
            raise NMTError(f"{where}.columns={list(columns)}: the columns of a TSV file are numbers, from 1")
        self._columns = tuple(column - 1 for column in columns)

    @property
    def fingerprint(self) -> str:
        return f"{self._file.fingerprint}-{self._columns[0]}-{self._columns[1]}"

    def __iter__(self) -> Iterator[tuple[str, str]]:
        source, target = self._columns
        for number, line in enumerate(self._file, start=1):
            cells = line.split("\t")
            try:
                yield cells[source], cells[target]
            except IndexError:
                raise NMTError(
                    f"{self._file.path}, line {number}: {len(cells)} column(s), but columns {source + 1} and "
                    f"{target + 1} are wanted: put a tab between source and target"
                ) from None


class JsonLines:
    """One JSON object a line, laid out as `_sides` accepts."""

    def __init__(
        self, path: str | Path, columns: Sequence[Any] | None, languages: tuple[str, str], where: str
    ) -> None:
        self._file = TextFile(path, f"{where}.jsonl")
        self._columns = columns
        self._languages = languages
        self.description = str(self._file.path)

    @property
    def fingerprint(self) -> str:
        return f"{self._file.fingerprint}-{self._columns}-{self._languages}"

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for number, line in enumerate(self._file, start=1):
            where = f"{self._file.path}, line {number}"
            try:
                row = json.loads(line)
            except ValueError as error:
                raise NMTError(f"{where}: no JSON ({error}): give one object a line") from None
            if not isinstance(row, dict):
                raise NMTError(f"{where}: {line[:80]!r} is no JSON object: give one object a line")
            yield _sides(row, self._columns, self._languages, where)


class DatasetRows:
    """The rows of a dataset that `datasets` loads, by its name on the hub or from a folder or file."""

    def __init__(
        self,
        name: str,
        config: str | None,
        split: str,
        columns: Sequence[Any] | None,
        languages: tuple[str, str],
        where: str,
    ) -> None:
        self._rows = _load_rows(name, config, split, f"{where}.dataset={name}")
        self._columns = columns
        self._languages = languages
        self.description = f"{name} ({split})"

    @property
    def fingerprint(self) -> str:
        return f"{self._rows._fingerprint}-{self._columns}-{self._languages}"

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for number, row in enumerate(self._rows):
            yield _sides(row, self._columns, self._languages, f"{self.description}, row {number}")


def text_path(path: str | Path, setting: str) -> Path:
    """The file that `path` means, ``builtin:`` resolved; `setting` is its key in the configuration."""
    if str(path).startswith(_BUILT_IN):
        from nmt.config import data_dir

        path = data_dir() / str(path).removeprefix(_BUILT_IN)
    try:
        return existing_file(path)
    except NMTError as error:
        raise NMTError(f"{setting}: {error}") from None


def _sides(
    row: Mapping[str, Any], columns: Sequence[Any] | None, languages: tuple[str, str], where: str
) -> tuple[str, str]:
    """Source and target of a row: its `columns`, or those named as the languages, or "source" and "target".

    They may stand under "translation".
    """
    cells = row["translation"] if isinstance(row.get("translation"), Mapping) else row
    for source, target in [columns] if columns else [languages, ("source", "target")]:
        if source in cells and target in cells:
            if isinstance(cells[source], str) and isinstance(cells[target], str):
                return cells[source], cells[target]
            raise NMTError(f"{where}: {source!r} and {target!r} are not both text: {str(cells)[:120]}")
    wanted = " and ".join(repr(name) for name in columns or languages)
    raise NMTError(
        f"{where}: no {wanted} among {sorted(map(str, cells))}: name the two with columns=[source,target]"
    )


def _load_rows(name: str, config: str | None, split: str, setting: str) -> Any:
    import datasets

    datasets.disable_progress_bars()
    path = Path(name).expanduser()
    try:
        if (path / "dataset_dict.json").is_file() or (path / "state.json").is_file():
            loaded = datasets.load_from_disk(str(path))
            rows = loaded if isinstance(loaded, datasets.Dataset) else loaded[split]
        elif path.is_file():
            existing_file(path)
            rows = datasets.load_dataset(
                path.suffix.lstrip(".").replace("jsonl", "json"), data_files=str(path), split="train"
            )
        else:
            rows = datasets.load_dataset(str(path) if path.exists() else name, config, split=split)
    except Exception as error:  # of many kinds: the hub's, pyarrow's, a missing split's
        reason = " ".join(str(error).split())[:300]
        raise NMTError(
            f"{setting}: `datasets` cannot load split {split!r} ({type(error).__name__}: {reason})"
        ) from None
    if not len(rows):
        raise NMTError(f"{setting}: split {split!r} has no rows")
    return rows
