"""One run, or several that translate together."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.data.tokenizer import Tokenizer
from nmt.errors import NMTError
from nmt.models.ensemble import ensemble
from nmt.training.run_directory import RunDirectory

if TYPE_CHECKING:
    import torch

    from nmt.models.seq2seq import Seq2Seq


def open_runs(run: str | Path) -> list[RunDirectory]:
    """The run in the folder `run`, or those in several, comma-separated."""
    if Path(run).exists():
        return [RunDirectory.open(run)]
    return [RunDirectory.open(folder) for folder in str(run).split(",")]


def load_models(runs: Sequence[RunDirectory], checkpoint: str, device: "torch.device") -> "Seq2Seq":
    """The model of one run, or the ensemble of several, with the weights called `checkpoint`."""
    if len(runs) == 1:
        return runs[0].load_model(checkpoint, device)
    _check_vocabularies(runs)
    return ensemble([run.load_model(checkpoint, device) for run in runs])


def _check_vocabularies(runs: Sequence[RunDirectory]) -> None:
    """Raise unless all `runs` cut both sides into the same pieces."""
    first, *others = (run.tokenizers() for run in runs)
    for run, other in zip(runs[1:], others, strict=True):
        for side, ours, theirs in (
            ("target", first.target, other.target),
            ("source", first.source, other.source),
        ):
            if ours.to_bytes() != theirs.to_bytes():
                raise NMTError(
                    f"run={runs[0].path},{run.path}: runs that translate together need one {side} "
                    f"vocabulary, and theirs differ ({_difference(ours, theirs)}); train them on the same "
                    "data with the same tokenizer settings, or with one tokenizer.model"
                )


def _difference(ours: Tokenizer, theirs: Tokenizer) -> str:
    """Where two tokenizers part, in words."""
    if ours.vocabulary_size != theirs.vocabulary_size:
        return f"{ours.vocabulary_size} and {theirs.vocabulary_size} pieces"
    for number in range(ours.vocabulary_size):
        pair = ours.id_to_piece(number), theirs.id_to_piece(number)
        if pair[0] != pair[1]:
            return f"piece {number} is {pair[0]} and {pair[1]}"
    return "the same pieces, otherwise weighed"
