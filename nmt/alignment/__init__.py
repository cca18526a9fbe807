"""Word alignments: soft matrices from attention, hard links, and how good they are."""

from nmt.alignment.alignment import Alignment
from nmt.alignment.error_rate import ErrorRate, alignment_error_rate, score_link_files
from nmt.alignment.fold import fold_pieces
from nmt.alignment.reading import Reading

__all__ = [
    "Alignment",
    "ErrorRate",
    "Reading",
    "alignment_error_rate",
    "fold_pieces",
    "score_link_files",
]
