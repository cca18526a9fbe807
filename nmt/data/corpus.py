"""Parallel corpora: pairs of sentences from text files, TSV, JSON lines or `datasets`, checked before use.

The `data` part of the configuration names splits (`train`, `dev`, `test`, …), each a mapping of

    source, target   two text files, one sentence a line       tsv     one file of tab-separated columns
    jsonl            one JSON object a line                    dataset a name on the hub, or a folder

with, for the last three, `columns` (source first), and optionally `links`, `tags` and `references_tsv`. Files
may be gzipped; a path that starts with ``builtin:`` lies in the toolkit's own data folder.
"""

import copy
import difflib
import hashlib
import logging
from collections.abc import Iterable, Iterator, Mapping
from itertools import compress
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from nmt.data.lines import read_lines
from nmt.data.links import Links, parse_links, turned
from nmt.data.readers import DatasetRows, JsonLines, PairReader, TsvFile, TwoFiles, text_path
from nmt.errors import NMTError

_SPLIT_KEYS = (
    "source", "target", "tsv", "jsonl", "dataset", "config", "split", "columns",
    "links", "tags", "references_tsv",
)  # fmt: skip
_HELD_OUT_SHARE = 100  # one in …
_MAX_HELD_OUT = 500  # pairs

_logger = logging.getLogger(__name__)


class Corpus:
    """The pairs of one split; making one reads it all once, so that every fault shows at the start.

    Iterating gives (source, target) of the pairs to train on, those with two sides that are not blank; `len`
    counts them. `lines()` gives every pair, for evaluation. In memory are two bytes a pair.
    """

    def __init__(
        self, reader: PairReader, name: str, split: Mapping[str, Any], reverse: bool = False
    ) -> None:
        self.name = name  # as messages call it
        self._reader = reader
        self._split = split
        self._reverse = reverse
        blank = bytearray()
        for source, target in reader:
            blank.append(not source.strip() or not target.strip())
        if not blank:
            raise NMTError(f"{name}: no pairs in {reader.description}: give a corpus with text")
        self._blank = np.frombuffer(bytes(blank), dtype=bool)
        self._chosen = np.ones(len(blank), dtype=bool)
        self.fingerprint = f"{reader.fingerprint}{'-reversed' if reverse else ''}"  # of the contents

    @property
    def num_lines(self) -> int:
        """How many pairs `lines()` gives."""
        return int(self._chosen.sum())

    def __len__(self) -> int:
        return int((self._chosen & ~self._blank).sum())

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return self._pairs(self._chosen & ~self._blank)

    def lines(self) -> Iterator[tuple[str, str]]:
        """Every pair (source, target), blank ones too, in the order of the files."""
        return self._pairs(self._chosen)

    @property
    def numbers(self) -> NDArray[np.int64]:
        """For each pair of the iteration, its position in the files, from 0."""
        return np.flatnonzero(self._chosen & ~self._blank)

    def tags(self) -> list[list[str]] | None:
        """For each of `lines()`, the names of its constructions; None if the split names no `tags` file."""
        lines = self._beside("tags")
        return None if lines is None else [line.replace(",", " ").split() for line in lines]

    def link_lines(self) -> list[str] | None:
        """For each of `lines()`, its line of the `links` file, as it stands there; or None."""
        return self._beside("links")

    def links(self, every: bool = False) -> Iterator[Links] | None:
        """The word links of each pair of the iteration, or with `every` of each of `lines()`; or None.

        They point from the source to the target of this corpus, whatever its direction.
        """
        lines = self.link_lines()
        if lines is None:
            return None
        wanted = self._chosen if every else self._chosen & ~self._blank
        return self._parsed(compress(lines, wanted[self._chosen]), np.flatnonzero(wanted))

    def _parsed(self, lines: Iterable[str], numbers: NDArray[np.int64]) -> Iterator[Links]:
        for line, number in zip(lines, numbers.tolist(), strict=True):
            try:
                links = parse_links(line)
            except NMTError as error:
                raise NMTError(f"{self.name}.links, line {number + 1}: {error}") from None
            yield turned(links) if self._reverse else links

    def references(self) -> list[list[str]] | None:
        """For each of `lines()`, all known targets, from the file `references_tsv`; None if there is none."""
        lines = self._beside("references_tsv")
        if lines is None:
            return None
        path = self._split["references_tsv"]
        if self._reverse:
            raise NMTError(
                f"{self.name}.references_tsv={path} has references for one direction only: with "
                f"data.reverse=true, set it to null"
            )
        references = []
        for number, (line, (source, _)) in enumerate(zip(lines, self.lines(), strict=True), start=1):
            first, *targets = line.removesuffix("\r").split("\t")
            if first != source or not targets:
                raise NMTError(
                    f"{path}, line {number}: {line!r} is not the source {source!r}, a tab and its references"
                )
            references.append(targets)
        return references

    def warn_of_blanks(self) -> Self:
        """Say once how many pairs are left out of training because a side is blank."""
        blank = np.flatnonzero(self._blank & self._chosen)
        if len(blank):
            _logger.warning(
                "%s: %d of %d pairs have a blank side and are left out (the first is line %d of %s)",
                self.name, len(blank), self.num_lines, blank[0] + 1, self._reader.description,
            )  # fmt: skip
        if not len(self):
            raise NMTError(f"{self.name}: every pair has a blank side in {self._reader.description}")
        return self

    def chosen(self, mask: NDArray[np.bool_], name: str) -> "Corpus":
        """The pairs of the iteration where `mask` (len(self)) is true."""
        selection = copy.copy(self)
        selection.name = name
        selection._chosen = np.zeros_like(self._chosen)
        selection._chosen[self.numbers[mask]] = True
        digest = hashlib.blake2b(np.packbits(selection._chosen).tobytes(), digest_size=16).hexdigest()
        selection.fingerprint = f"{self.fingerprint}-{digest}"
        return selection

    def _pairs(self, mask: NDArray[np.bool_]) -> Iterator[tuple[str, str]]:
        pairs = compress(self._reader, mask)
        return ((target, source) for source, target in pairs) if self._reverse else pairs

    def _beside(self, key: str) -> list[str] | None:
        """The lines of the file `key` that stand beside those of `lines()`."""
        path = self._split.get(key)
        if path is None:
            return None
        lines = list(read_lines(text_path(path, f"{self.name}.{key}")))
        if len(lines) != len(self._chosen):
            raise NMTError(
                f"{self.name}.{key}={path} has {len(lines)} lines, but {self._reader.description} has "
                f"{len(self._chosen)} pairs: give one line a pair"
            )
        return list(compress(lines, self._chosen))


def split_names(data: Mapping[str, Any]) -> list[str]:
    """The names of the splits that `data` gives files for."""
    return [
        str(name)
        for name, split in data.items()
        if isinstance(split, Mapping) and any(value is not None for value in split.values())
    ]


def open_corpus(data: Mapping[str, Any], split: str) -> Corpus:
    """The split named `split` of the configuration's `data` part."""
    names = split_names(data)
    if split not in names:
        raise NMTError(
            f"data.{split} names no files: "
            + (f"the splits are {', '.join(names)}" if names else _hint(split))
        )
    reader = _reader(data, split)
    return Corpus(reader, f"data.{split}", data[split], bool(data.get("reverse", False)))


def open_training(data: Mapping[str, Any]) -> tuple[Corpus, Corpus]:
    """The corpora to train and to validate on.

    Without a `dev` split, 1 % of `train` (500 pairs at most) is held out. Which pairs are depends on their
    text alone, and copies of a held-out pair do not stay in training.
    """
    train = open_corpus(data, "train").warn_of_blanks()
    if "dev" in split_names(data):
        return train, open_corpus(data, "dev").warn_of_blanks()
    hashes = np.fromiter((_hash(pair) for pair in train), dtype=np.uint64, count=len(train))
    distinct, first = np.unique(hashes, return_index=True)
    count = min(_MAX_HELD_OUT, max(1, len(distinct) // _HELD_OUT_SHARE))
    if len(distinct) < 2:
        raise NMTError("data.train has one pair only, none to validate on: give more pairs, or data.dev")
    held_out = np.zeros(len(train), dtype=bool)
    held_out[first[:count]] = True
    dev = train.chosen(held_out, "data.dev")
    rest = train.chosen(hashes > distinct[count - 1], "data.train")
    _logger.info(
        "no data.dev: %d of the %d pairs of data.train are held out to validate on", count, len(train)
    )
    return rest, dev


def _reader(data: Mapping[str, Any], name: str) -> PairReader:
    split = data[name]
    where = f"data.{name}"
    for key in split:
        if key not in _SPLIT_KEYS:
            near = difflib.get_close_matches(key, _SPLIT_KEYS, n=1, cutoff=0.0)[0]
            raise NMTError(f"{where} has no key {key!r}: did you mean {near!r}?")
    kinds = [kind for kind in ("source", "tsv", "jsonl", "dataset") if split.get(kind) is not None]
    if kinds != ["source"] and split.get("target") is not None:
        kinds = [*kinds, "target"] if kinds else ["target without source"]
    if len(kinds) != 1 or kinds == ["target without source"]:
        given = " and ".join(kinds) or "nothing"
        raise NMTError(f"{where} gives {given}: {_hint(name)}")
    languages = str(data.get("source_language", "en")), str(data.get("target_language", "fr"))
    columns = list(split["columns"]) if split.get("columns") is not None else None
    if columns is not None and len(columns) != 2:
        raise NMTError(f"{where}.columns={columns}: give two, the source's first")
    if kinds == ["source"]:
        if split.get("target") is None:
            raise NMTError(f"{where}.source={split['source']} stands alone: give {where}.target too")
        return TwoFiles(split["source"], split["target"], where)
    if kinds == ["tsv"]:
        return TsvFile(split["tsv"], columns, where)
    if kinds == ["jsonl"]:
        return JsonLines(split["jsonl"], columns, languages, where)
    return DatasetRows(
        split["dataset"], split.get("config"), split.get("split") or name, columns, languages, where
    )


def _hint(name: str) -> str:
    where = f"data.{name}"
    return f"give {where}.source and {where}.target, two text files (or {where}.tsv, .jsonl or .dataset)"


def _hash(pair: tuple[str, str]) -> int:
    return int.from_bytes(hashlib.blake2b("\n".join(pair).encode(), digest_size=8).digest(), "big")
