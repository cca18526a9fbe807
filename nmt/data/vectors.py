"""Pretrained word vectors in the text formats of word2vec and GloVe: a word and its numbers a line.

word2vec's first line gives the number of words and the size; GloVe has no such line. Both are recognised.
"""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.data.lines import read_lines
from nmt.data.marks import JOINER, SPACE
from nmt.data.tokenizer import Tokenizer
from nmt.errors import NMTError

if TYPE_CHECKING:
    from torch import Tensor

log = logging.getLogger(__name__)


def load_vectors(path: str | Path, tokenizer: Tokenizer, weight: "Tensor") -> int:
    """Put the vectors of `path` into the rows of `weight` (V, E) whose pieces are words of the file; how many
    rows.

    A piece that the file has only in lower case takes that vector. Meant for word vocabularies: of others,
    those pieces are found that are whole words. Rows without a vector stay as they are.
    """
    import torch

    rows = _rows_of_words(tokenizer)
    exact: set[int] = set()
    found: set[int] = set()
    for word, numbers in _read(path, weight.shape[1]):
        for row, is_exact in rows.get(word, ()):
            if is_exact or row not in exact:
                weight.data[row] = torch.tensor(numbers, dtype=weight.dtype)
                found.add(row)
                if is_exact:
                    exact.add(row)
    if not found:
        raise NMTError(
            f"{path}: holds a vector for none of the {tokenizer.vocabulary_size} pieces; "
            "is it of the right language?"
        )
    log.info("%s: vectors for %d of %d pieces", path, len(found), tokenizer.vocabulary_size)
    return len(found)


def _rows_of_words(tokenizer: Tokenizer) -> dict[str, list[tuple[int, bool]]]:
    """For each word, the ids of the pieces that stand for it, and whether letter by letter or in lower case
    only.
    """
    rows: dict[str, list[tuple[int, bool]]] = {}
    for number in range(tokenizer.vocabulary_size):
        word = tokenizer.id_to_piece(number).strip(SPACE + JOINER)
        if word:
            rows.setdefault(word, []).append((number, True))
            if word.lower() != word:
                rows.setdefault(word.lower(), []).append((number, False))
    return rows


def _read(path: str | Path, size: int) -> Iterator[tuple[str, list[float]]]:
    """Words and vectors of `size` numbers."""
    for number, line in enumerate(read_lines(path), start=1):
        fields = line.rstrip().split(" ")
        if number == 1 and len(fields) == 2 and all(field.isdecimal() for field in fields):
            _check_size(path, number, int(fields[1]), size)
            continue
        if len(fields) < size + 1:
            _check_size(path, number, len(fields) - 1, size)
        try:
            values = [float(field) for field in fields[-size:]]
        except ValueError:
            raise NMTError(f"{path}, line {number}: is no word followed by {size} numbers") from None
        if len(fields) > size + 1 and _is_number(fields[-size - 1]) and number == 1:
            _check_size(path, number, len(fields) - 1, size)
        yield " ".join(fields[:-size]), values  # a few words of GloVe's hold spaces


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _check_size(path: str | Path, line: int, received: int, size: int) -> None:
    if received != size:
        raise NMTError(
            f"{path}, line {line}: holds {received} numbers, and embeddings have {size}; "
            f"set model.embedding_size={received}"
        )
