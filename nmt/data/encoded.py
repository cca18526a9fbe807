"""Corpora as ids, made once and kept in memory-mapped Arrow files, so that memory does not grow with them."""

import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt.data.corpus import Corpus
from nmt.data.links import Link, Links, check_range
from nmt.data.tokenizer import Encoded, TokenizerPair
from nmt.errors import NMTError

_FORMAT = 1  # changes whenever the same input would be written otherwise
_ROWS_AT_ONCE = 10_000
_PAIRS, _FACTS = "pairs.arrow", "facts.json"

_logger = logging.getLogger(__name__)

Ids = NDArray[np.int32]


class EncodedCorpus:
    """Pairs of id sequences, without <s> and </s>, in a memory-mapped `datasets.Dataset`.

    Its columns: `src` and `tgt` (lists of int32) and `number`, the pair's position in its files, from 0; and,
    if it was prepared with them, `links` between pieces (target, source, target, source ...; int32).
    """

    def __init__(self, folder: Path) -> None:
        """Open what `prepare` wrote to `folder`."""
        from datasets import Dataset

        self.dataset = Dataset.from_file(str(folder / _PAIRS))
        self.num_left_out: int = json.loads((folder / _FACTS).read_text())["num_left_out"]  # too long
        table = self.dataset.data.table
        self._src, self.src_lengths = _ragged(table.column("src"))
        self._tgt, self.tgt_lengths = _ragged(table.column("tgt"))
        self._links = _ragged(table.column("links"))[0] if "links" in table.column_names else None
        self._first_rows = np.cumsum([0] + [len(offsets) - 1 for _, offsets in self._src])

    def __len__(self) -> int:
        return len(self.src_lengths)

    def __getitem__(self, row: int) -> tuple[Ids, ...]:
        """Source and target ids (S,) and (T,) of one pair, as views of the file.

        Where there are links, those follow: (L, 2), target and source position of each.
        """
        block = int(np.searchsorted(self._first_rows, row, side="right")) - 1
        row -= int(self._first_rows[block])
        src, tgt = (
            values[offsets[row] : offsets[row + 1]]
            for values, offsets in (self._src[block], self._tgt[block])
        )
        if self._links is None:
            return src, tgt
        values, offsets = self._links[block]
        return src, tgt, values[offsets[row] : offsets[row + 1]].reshape(-1, 2)

    def number(self, row: int) -> int:
        """Where the pair stands in its files, from 0."""
        return int(self.dataset.data.table.column("number")[row].as_py())


def prepare(
    corpus: Corpus,
    tokenizers: TokenizerPair,
    cache_dir: str | Path | None = None,
    max_length: int = 100,
    links: bool = False,
) -> EncodedCorpus:
    """`corpus` encoded, from the cache if it has been before; several processes may do so at once.

    Pairs with a side of more than `max_length` pieces are left out, which the log says. The cache is in
    `cache_dir`, $NMT_CACHE or ~/.cache/nmt. With `links` the corpus' word links come along, between pieces.
    """
    if max_length < 1:
        raise NMTError(f"data.max_length={max_length}: give a number of pieces, 1 or more")
    if links and corpus.link_lines() is None:
        raise NMTError(f"{corpus.name}.links is missing, and guiding the attention needs it: give word links")
    parent = _cache_folder(cache_dir)
    folder = parent / _key(corpus, tokenizers, max_length, links)
    encoded = _opened(folder) or _made(corpus, tokenizers, max_length, links, folder)
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


def _made(
    corpus: Corpus, tokenizers: TokenizerPair, max_length: int, links: bool, folder: Path
) -> EncodedCorpus:
    """`corpus` encoded into `folder`, which appears when it is complete."""
    temporary = Path(tempfile.mkdtemp(prefix=".part-", dir=folder.parent))
    try:
        _write(_blocks(corpus, tokenizers, links), max_length, temporary)
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


def _key(corpus: Corpus, tokenizers: TokenizerPair, max_length: int, links: bool) -> str:
    parts = [
        f"{_FORMAT} {max_length} {corpus.fingerprint}".encode(),
        tokenizers.source.to_bytes(),
        tokenizers.target.to_bytes(),
    ]
    if links:
        parts.append("\n".join(corpus.link_lines() or ()).encode())
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


class _Block(NamedTuple):
    """The next pairs: positions in their files, ids, and links between pieces where they are wanted."""

    numbers: NDArray[np.int64]
    src: list[list[int]]
    tgt: list[list[int]]
    links: list[list[int]] | None


def _write(blocks: Iterable[_Block], max_length: int, folder: Path) -> None:
    import pyarrow
    from datasets.arrow_writer import ArrowWriter

    ids = pyarrow.list_(pyarrow.int32())
    schema = {"src": ids, "tgt": ids, "number": pyarrow.int64()}
    num_left_out = 0
    blocks = iter(blocks)
    first = next(blocks)
    if first.links is not None:
        schema["links"] = ids
    with ArrowWriter(path=str(folder / _PAIRS), schema=pyarrow.schema(schema)) as writer:
        for block in chain([first], blocks):
            lengths = zip(map(len, block.src), map(len, block.tgt), strict=True)
            kept = [row for row, pair in enumerate(lengths) if max(pair) <= max_length]
            num_left_out += len(block.src) - len(kept)
            lists = [block.src, block.tgt] + ([] if block.links is None else [block.links])
            columns = [_list_array([values[row] for row in kept]) for values in lists]
            columns.insert(2, pyarrow.array(block.numbers[kept]))
            writer.write_table(pyarrow.table(columns, schema=pyarrow.schema(schema)))
        writer.finalize()
    (folder / _FACTS).write_text(json.dumps({"num_left_out": num_left_out}))


def _blocks(corpus: Corpus, tokenizers: TokenizerPair, links: bool) -> Iterator[_Block]:
    """`corpus` encoded, some pairs at a time."""
    numbers, pairs = corpus.numbers, iter(corpus)
    word_links = corpus.links() if links else None
    encode_source, encode_target = tokenizers.source.encode_ids, tokenizers.target.encode_ids
    for start in range(0, len(numbers), _ROWS_AT_ONCE):
        block = list(islice(pairs, _ROWS_AT_ONCE))
        positions = numbers[start : start + _ROWS_AT_ONCE]
        yield _Block(
            positions,
            [encode_source(source) for source, _ in block],
            [encode_target(target) for _, target in block],
            None
            if word_links is None
            else list(_links_of_pieces(corpus, tokenizers, positions, block, word_links)),
        )


def _links_of_pieces(
    corpus: Corpus,
    tokenizers: TokenizerPair,
    numbers: NDArray[np.int64],
    pairs: Sequence[tuple[str, str]],
    links: Iterator[Links],
) -> Iterator[list[int]]:
    """The links between pieces of each of `pairs`: target, source, target, source ..."""
    for number, (source, target) in zip(numbers.tolist(), pairs, strict=True):
        sides = tokenizers.source.encode(source), tokenizers.target.encode(target)
        found = next(links)
        try:
            check_range(found.possible, (len(sides[0].words), len(sides[1].words)), 0)
        except NMTError as error:
            raise NMTError(
                f"{corpus.name}.links, line {number + 1}: {error}; links count words as tokenizer.words says"
            ) from None
        yield list(chain.from_iterable(piece_links(*sides, found)))


def piece_links(source: Encoded, target: Encoded, links: Links) -> list[Link]:
    """The links (target, source) between pieces that `links` between words make, in order of the target.

    A piece is linked with every piece of the words that its word is linked with: surely or, where its word
    has no sure link, possibly.
    """
    sources: dict[int, set[int]] = {}
    sure_targets = {word for _, word in links.sure}
    for source_word, target_word in links.possible:
        if target_word not in sure_targets or (source_word, target_word) in links.sure:
            sources.setdefault(target_word, set()).add(source_word)
    return [
        (row, column)
        for row, target_word in enumerate(target.word_of_piece)
        for column, source_word in enumerate(source.word_of_piece)
        if source_word in sources.get(target_word, ())
    ]


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
