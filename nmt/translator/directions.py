"""Pairs aligned by a run, or by two runs of opposite directions whose links are made one set."""

from collections.abc import Iterable, Iterator
from itertools import tee

from nmt.alignment.alignment import Alignment
from nmt.alignment.reading import Reading
from nmt.alignment.symmetrise import check_method, symmetrise
from nmt.data.marks import WordRule
from nmt.errors import NMTError
from nmt.translator.translator import Translator


class BothDirections:
    """Aligns as `forward` does, but with links that `method` makes of its own and those of `backward`.

    `backward` translates from the target to the source language. The weights stay those of `forward`.
    """

    def __init__(self, forward: Translator, backward: Translator, method: str) -> None:
        check_method(method)
        self.forward = forward
        self.backward = backward
        self.method = method

    def align_pairs(
        self,
        pairs: Iterable[tuple[str, str | None]],
        words: WordRule | None = None,
        reading: Reading | None = None,
    ) -> Iterator[Alignment]:
        """An alignment for each of `pairs`, in order, as they come; a target None is translated first."""
        ahead, behind = tee(self.forward.completed(pairs))
        turned_pairs = ((target, source) for source, target in behind)
        both = zip(
            self.forward.align_pairs(ahead, words, reading),
            self.backward.align_pairs(turned_pairs, words, reading),
            strict=True,
        )
        for there, back in both:
            if (there.source, there.target) != (back.target, back.source):
                raise NMTError(
                    f"the two runs split {' '.join(there.source)!r} and {' '.join(there.target)!r} into "
                    "words differently: give words=split or words=whitespace"
                )
            turned = [(source, target) for target, source in back.links]
            yield there.with_links(symmetrise(there.links, turned, self.method))
