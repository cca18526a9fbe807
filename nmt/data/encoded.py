"""Corpora as ids, made once and kept in memory-mapped Arrow files, so that memory does not grow with them."""

import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt.data.corpus import Corpus
from nmt.data.tokenizer import TokenizerPair
from nmt.errors import NMTError

_FORMAT = 1  # changes whenever the same input would be written otherwise
_ROWS_AT_ONCE = 10_000
_PAIRS, _FACTS = "pairs.arrow", "facts.json"

_logger = logging.getLogger(__name__)

Ids = NDArray[np.int32]


class EncodedCorpus:
    """Pairs of id sequences, without <s> and </s>, in a memory-mapped `datasets.Dataset`.

    Its columns: `src` and `tgt` (lists of int32) and `number`, the pair's position in its files, from 0.
    """

    def __init__(self, folder: Path) -> None:
        """Open what `prepare` wrote to `folder`."""
        from datasets import Dataset

        self.dataset = Dataset.from_file(str(folder / _PAIRS))
        self.num_left_out: int = json.loads((folder / _FACTS).read_text())["num_left_out"]  # too long
        table = self.dataset.data.table
        self._src, self.src_lengths = _ragged(table.column("src"))
        self._tgt, self.tgt_lengths = _ragged(table.column("tgt"))
        self._first_rows = np.cumsum([0] + [len(offsets) - 1 for _, offsets in self._src])

    def __len__(self) -> int:
        return len(self.src_lengths)

    def __getitem__(self, row: int) -> tuple[Ids, Ids]:
        """Source and target ids (S,) and (T,) of one pair, as views of the file."""
        block = int(np.searchsorted(self._first_rows, row, side="right")) - 1
        row -= int(self._first_rows[block])
        (src, src_offsets), (tgt, tgt_offsets) = self._src[block], self._tgt[block]
        return src[src_offsets[row] : src_offsets[row + 1]], tgt[tgt_offsets[row] : tgt_offsets[row + 1]]

    def number(self, row: int) -> int:
        """Where the pair stands in its files, from 0."""
        return int(self.dataset.data.table.column("number")[row].as_py())


def prepare(
    corpus: Corpus, tokenizers: TokenizerPair, cache_dir: str | Path | None = None, max_length: int = 100
) -> EncodedCorpus:
    """`corpus` encoded, from the cache if it has been before; several processes may do so at once.

    Pairs with a side of more than `max_length` pieces are left out, which the log says. The cache is in
    `cache_dir`, $NMT_CACHE or ~/.cache/nmt.
    """
    if max_length < 1:
        raise NMTError(f"data.max_length={max_length}: give a number of pieces, 1 or more")
    parent = _cache_folder(cache_dir)
    folder = parent / _key(corpus, tokenizers, max_length)
    encoded = _opened(folder) or _made(corpus, tokenizers, max_length, folder)
    if encoded.num_left_out:
        _logger.warning(
            "%s: %d of %d pairs have a side of more than %d pieces and are left out (data.max_length)",
            corpus.name, encoded.num_left_out, len(corpus), max_length,
        )  # fmt: skip
    if not len(encoded):
        raise NMTError(
            f"{corpus.name}: every pair has a side of more than data.max_length={max_length} pieces: raise it"
        )
    return encoded


def _made(corpus: Corpus, tokenizers: TokenizerPair, max_length: int, folder: Path) -> EncodedCorpus:
    """`corpus` encoded into `folder`, which appears when it is complete."""
    temporary = Path(tempfile.mkdtemp(prefix=".part-", dir=folder.parent))
    try:
        _write(corpus, tokenizers, max_length, temporary)
        if _opened(folder) is None:
            shutil.rmtree(folder, ignore_errors=True)  # damaged
        with suppress(OSError):  # another process was faster
            temporary.rename(folder)
        return EncodedCorpus(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _opened(folder: Path) -> EncodedCorpus | None:
    """The encoded corpus in `folder`; None if there is none, or a damaged one."""
    import pyarrow

    try:
        return EncodedCorpus(folder)
    except (OSError, ValueError, KeyError, pyarrow.ArrowException):
        return None


def _cache_folder(setting: str | Path | None) -> Path:
    folder = (
        Path(setting or os.environ.get("NMT_CACHE") or Path.home() / ".cache" / "nmt").expanduser()
        / "encoded"
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NMTError(
            f"cannot write to the cache {folder} ({error.strerror}): set data.cache_dir or NMT_CACHE"
        ) from None
    return folder


def _key(corpus: Corpus, tokenizers: TokenizerPair, max_length: int) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in (
        f"{_FORMAT} {max_length} {corpus.fingerprint}".encode(),
        tokenizers.source.to_bytes(),
        tokenizers.target.to_bytes(),
    ):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _write(corpus: Corpus, tokenizers: TokenizerPair, max_length: int, folder: Path) -> None:
    import pyarrow
    from datasets.arrow_writer import ArrowWriter

    ids = pyarrow.list_(pyarrow.int32())
    schema = pyarrow.schema({"src": ids, "tgt": ids, "number": pyarrow.int64()})
    num_left_out = 0
    with ArrowWriter(path=str(folder / _PAIRS), schema=schema) as writer:
        for numbers, sources, targets in _blocks(corpus, tokenizers):
            kept = [
                row
                for row, (src, tgt) in enumerate(zip(sources, targets, strict=True))
                if len(src) <= max_length and len(tgt) <= max_length
            ]
            num_left_out += len(sources) - len(kept)
            columns = [
                _list_array([sources[row] for row in kept]),
                _list_array([targets[row] for row in kept]),
                pyarrow.array(numbers[kept]),
            ]
            writer.write_table(pyarrow.table(columns, schema=schema))
        writer.finalize()
    (folder / _FACTS).write_text(json.dumps({"num_left_out": num_left_out}))


def _blocks(
    corpus: Corpus, tokenizers: TokenizerPair
) -> Iterator[tuple[NDArray[np.int64], list[list[int]], list[list[int]]]]:
    """Positions, source ids and target ids of the next pairs."""
    numbers, pairs = corpus.numbers, iter(corpus)
    encode_source, encode_target = tokenizers.source.encode_ids, tokenizers.target.encode_ids
    for start in range(0, len(numbers), _ROWS_AT_ONCE):
        block = list(islice(pairs, _ROWS_AT_ONCE))
        yield (
            numbers[start : start + _ROWS_AT_ONCE],
            [encode_source(source) for source, _ in block],
            [encode_target(target) for _, target in block],
        )


def _list_array(rows: Sequence[Sequence[int]]) -> Any:
    import pyarrow

    offsets = np.zeros(len(rows) + 1, dtype=np.int32)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    values = np.fromiter(chain.from_iterable(rows), dtype=np.int32, count=int(offsets[-1]))
    return pyarrow.ListArray.from_arrays(pyarrow.array(offsets), pyarrow.array(values))


def _ragged(column: Any) -> tuple[list[tuple[Ids, Ids]], Ids]:
    """Values and offsets of each block of a list column (views of the file), and the lengths of its rows."""
    blocks = [
        (chunk.values.to_numpy(zero_copy_only=True), chunk.offsets.to_numpy(zero_copy_only=True))
        for chunk in column.chunks
        if len(chunk)
    ]
    lengths = [np.diff(offsets) for _, offsets in blocks]
    return blocks, np.concatenate(lengths) if lengths else np.zeros(0, dtype=np.int32)
