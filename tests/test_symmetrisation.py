"""Links of two directions made one set: by hand, by the published algorithm, and by what must always hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.alignment.symmetrise import METHODS, symmetrise
from nmt.data.links import Link
from nmt.errors import NMTError

links = st.frozensets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=10)


def published(forward: frozenset[Link], backward: frozenset[Link], method: str) -> set[Link]:
    """The pseudo-code of Koehn et al. (2003, 2005; statmt.org/moses, "Symmetrizing"), word for word."""
    neighboring = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]
    alignment, union = set(forward & backward), forward | backward

    def e_aligned(e: int) -> bool:
        return any(point[0] == e for point in alignment)

    def f_aligned(f: int) -> bool:
        return any(point[1] == f for point in alignment)

    added = True
    while added:  # GROW-DIAG
        added = False
        for e in range(6):
            for f in range(6):
                if (e, f) in alignment:
                    for de, df in neighboring:
                        new = (e + de, f + df)
                        if (not e_aligned(new[0]) or not f_aligned(new[1])) and new in union:
                            alignment.add(new)
                            added = True
    for direction in (forward, backward) if "final" in method else ():  # FINAL(e2f), FINAL(f2e)
        for e in range(6):
            for f in range(6):
                free = not e_aligned(e), not f_aligned(f)
                if (all(free) if method.endswith("and") else any(free)) and (e, f) in direction:
                    alignment.add((e, f))
    return alignment


@given(links, links, st.sampled_from([name for name in METHODS if name.startswith("grow")]))
def test_growing_is_the_published_algorithm(
    forward: frozenset[Link], backward: frozenset[Link], method: str
) -> None:
    assert symmetrise(forward, backward, method) == published(forward, backward, method)


@given(links, links)
def test_each_method_holds_the_stricter_ones(forward: frozenset[Link], backward: frozenset[Link]) -> None:
    found = {method: symmetrise(forward, backward, method) for method in METHODS}
    assert found["intersection"] == forward & backward and found["union"] == forward | backward
    assert found["intersection"] <= found["grow-diag"] <= found["grow-diag-final-and"] <= found["union"]
    assert found["grow-diag"] <= found["grow-diag-final"] <= found["union"]
    for method in ("intersection", "union", "grow-diag"):
        assert symmetrise(backward, forward, method) == found[method]
    assert {symmetrise(forward, forward, method) for method in METHODS} == {forward}


@given(links, links)
def test_final_leaves_no_word_of_either_direction_without_a_link(
    forward: frozenset[Link], backward: frozenset[Link]
) -> None:
    union, found = forward | backward, symmetrise(forward, backward, "grow-diag-final")
    for side in (0, 1):
        assert {link[side] for link in found} == {link[side] for link in union}


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("intersection", "00"),
        ("grow-diag", "00 01 11"),  # 01 beside 00 (target 1 was free), then 11 beside 01 (source 1)
        ("grow-diag-final-and", "00 01 11 42 34"),  # 42, then 34: both words free
        ("grow-diag-final", "00 01 11 42 44 34"),  # 44 before: target 4 free; then 34: source 3 free
        ("union", "00 01 11 44 42 34 40"),
    ],
)
def test_by_hand(method: str, expected: str) -> None:
    forward = frozenset([(0, 0), (0, 1), (4, 4), (4, 2)])
    backward = frozenset([(0, 0), (1, 1), (3, 4), (4, 0)])
    wanted = {(int(link[0]), int(link[1])) for link in expected.split()}
    assert symmetrise(forward, backward, method) == wanted


def test_an_unknown_method_names_the_known_ones() -> None:
    with pytest.raises(
        NMTError, match="symmetrise=grow: choose one of intersection, union, grow-diag, grow-"
    ):
        symmetrise([], [], "grow")
