"""One set of links from those of both directions (Och and Ney 2003, section 5; Koehn et al. 2003, 2005).

Links are (source, target) positions; those of the other direction are turned before they come here. The
heuristics between intersection and union grow: starting from the intersection, *grow-diag* adds links of the
union next to those there are (straight or diagonal), where one of the two words has no link yet; *final*
then adds links of either direction, the forward ones first, where one of the words has none, *final-and*
only where neither has.
"""

from collections.abc import Callable, Iterable

from nmt.data.links import Link
from nmt.errors import NMTError

# In the order of Koehn's published program: straight neighbours, then diagonal ones.
_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


class _Growing:
    """Links and the words that have some."""

    def __init__(self, links: Iterable[Link]) -> None:
        self.links = set(links)
        self.sources = {source for source, _ in self.links}
        self.targets = {target for _, target in self.links}

    def add(self, link: Link) -> None:
        self.links.add(link)
        self.sources.add(link[0])
        self.targets.add(link[1])

    def grow_diag(self, union: frozenset[Link]) -> None:
        """Add neighbours from `union` until none is left that may be added."""
        places = sorted(union)
        before = -1
        while before < len(self.links):
            before = len(self.links)
            for source, target in places:
                if (source, target) in self.links:  # perhaps only since this round
                    for down, right in _NEIGHBOURS:
                        link = (source + down, target + right)
                        if link in union and self._is_free(link):
                            self.add(link)

    def final(self, links: Iterable[Link], both: bool) -> None:
        """Add those of `links` of which one word is free or, with `both`, both words."""
        for link in sorted(links):
            if self._is_free(link, both):
                self.add(link)

    def _is_free(self, link: Link, both: bool = False) -> bool:
        free = link[0] not in self.sources, link[1] not in self.targets
        return all(free) if both else any(free)


def _grown(
    forward: frozenset[Link], backward: frozenset[Link], final: bool = False, both: bool = False
) -> frozenset[Link]:
    growing = _Growing(forward & backward)
    growing.grow_diag(forward | backward)
    if final:
        growing.final(forward, both)
        growing.final(backward, both)
    return frozenset(growing.links)


METHODS: dict[str, Callable[[frozenset[Link], frozenset[Link]], frozenset[Link]]] = {
    "intersection": frozenset.__and__,
    "union": frozenset.__or__,
    "grow-diag": _grown,
    "grow-diag-final": lambda forward, backward: _grown(forward, backward, final=True),
    "grow-diag-final-and": lambda forward, backward: _grown(forward, backward, final=True, both=True),
}

DEFAULT_METHOD = "grow-diag-final-and"


def symmetrise(forward: Iterable[Link], backward: Iterable[Link], method: str) -> frozenset[Link]:
    """The links that `method` (a key of `METHODS`) makes of those of both directions."""
    check_method(method)
    return METHODS[method](frozenset(forward), frozenset(backward))


def check_method(method: str) -> None:
    """Raise unless `method` is one."""
    if method not in METHODS:
        raise NMTError(f"symmetrise={method}: choose one of {', '.join(METHODS)}")
