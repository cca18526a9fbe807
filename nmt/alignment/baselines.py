"""What links are worth that know nothing of the words: the least that an aligner must beat."""

from collections.abc import Callable, Sequence

import numpy as np

from nmt.alignment.error_rate import ErrorRate, alignment_error_rate
from nmt.data.links import Links, sure_links

Lengths = tuple[int, int]  # source and target words of a sentence pair
_SEED = 1  # of the random baseline


def baselines(lengths: Sequence[Lengths], gold: Sequence[Links]) -> dict[str, ErrorRate]:
    """The error rates of the diagonal and of chance on pairs of `lengths`, a link for each target word."""
    random = np.random.default_rng(_SEED)

    def chance(num_source: int, num_target: int) -> Links:
        sources = random.integers(0, num_source, num_target).tolist() if num_source else []
        return sure_links(zip(sources, range(num_target), strict=False))

    aligners: dict[str, Callable[[int, int], Links]] = {"diagonal": diagonal, "random": chance}
    return {
        name: alignment_error_rate([align(*each) for each in lengths], gold)
        for name, align in aligners.items()
    }


def diagonal(num_source: int, num_target: int) -> Links:
    """Each target word with the source word at the same share of its sentence."""
    if not num_source:
        return sure_links(())
    return sure_links((int((target + 0.5) * num_source / num_target), target) for target in range(num_target))
