"""A sentence pair worked through step by step, and its matrix beside a published one."""

from collections.abc import Sequence

import numpy as np

from nmt.alignment.alignment import Alignment
from nmt.alignment.explain import explanation, steps_of
from nmt.alignment.reading import Reading
from nmt.alignment.text import columns_text
from nmt.data.marks import JOINER, SPACE
from nmt.data.pieces import SPECIAL_PIECES
from nmt.data.segments import tidy
from nmt.data.tokenizer import BOS_ID, EOS_ID
from nmt.errors import NMTError
from nmt.translator import Translator


def explain_pair(translator: Translator, source: str, target: str, reading: Reading) -> str:
    """Each step of writing `target`, as text: what is read, scores, weights, the context, what is written."""
    (forced,) = translator.score_pairs([(source, target)], heads=reading.needs_heads)
    if forced.attention is None:
        raise NMTError("this run's model has no attention to explain: choose a run with attention")
    start, end = SPECIAL_PIECES[BOS_ID], SPECIAL_PIECES[EOS_ID]
    pieces = [_shown(piece) for piece in translator.tokenizers.source.encode(tidy(source)).pieces]
    steps = steps_of(
        [_shown(piece) for piece in forced.pieces],
        forced.token_log_probabilities,
        reading.choose(forced.attention),
        start,
        end,
    )
    return explanation([*pieces, end], steps)


def beside_published(alignment: Alignment, published: Sequence[Sequence[float]]) -> str:
    """The matrix of `alignment` beside the `published` one, and their difference, as text."""
    theirs = np.array(published, dtype=np.float64)
    if theirs.shape != alignment.weights.shape:
        raise NMTError(
            f"the published matrix has {theirs.shape[0]} rows of {theirs.shape[-1]} and ours "
            f"{len(alignment.target)} of {len(alignment.source)}: give one row a target word"
        )
    ours = alignment.weights
    blocks = [("ours", ours, ".2f"), ("published", theirs, ".2f"), ("difference", ours - theirs, "+.2f")]
    rows = [["", *(f"{name} {word}" if not place else word for name, _, _ in blocks
                   for place, word in enumerate(alignment.source))]]  # fmt: skip
    for number, word in enumerate(alignment.target):
        rows.append([word, *(f"{value:{form}}" for _, matrix, form in blocks for value in matrix[number])])
    largest = np.abs(ours - theirs).max(initial=0)
    return columns_text(rows) + f"largest difference {largest:.2f}, mean {np.abs(ours - theirs).mean():.2f}\n"


def worked_example(
    translator: Translator, source: str, target: str, published: Sequence[Sequence[float]] | None = None
) -> str:
    """`target` explained, its matrix, and that beside the `published` one if there is one."""
    alignment = translator.align(source, target)
    parts = [explain_pair(translator, source, target, Reading()), alignment.text()]
    if published is not None:
        parts.append(beside_published(alignment, published))
    return "\n".join(parts)


def _shown(piece: str) -> str:
    """A piece without the marks of its joints, unless it is nothing else."""
    return piece.strip(SPACE + JOINER) or piece
