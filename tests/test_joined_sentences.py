"""Joined sentences are the same words in the same order, as long as was asked."""

import random

import pytest

from scripts.joined_sentences import joined, shuffled

PAIRS = [(" ".join(["a"] * size), f"b{number}") for number, size in enumerate([3, 1, 9, 2, 2, 4, 1, 7] * 20)]


@pytest.mark.parametrize("longest", [1, 5, 20])
def test_lines_hold_all_sentences_in_order_and_keep_to_their_length(longest):
    lines = list(joined(PAIRS, longest, random.Random(1)))
    assert [word for _, line in lines for word in line.split()] == [target for _, target in PAIRS]
    assert sum(len(line.split()) for line, _ in lines) == sum(len(source.split()) for source, _ in PAIRS)
    assert all(len(line.split()) <= longest or " " not in target for line, target in lines)


def test_longer_lines_come_as_often_as_shorter_ones():
    short = [("a", "b")] * 20_000
    lengths = [len(source.split()) for source, _ in joined(short, 4, random.Random(1))]
    assert all(lengths.count(size) == pytest.approx(len(lengths) / 4, rel=0.1) for size in (1, 2, 3, 4))


def test_every_round_takes_every_pair():
    taken = list(shuffled(PAIRS, 3, random.Random(1)))
    assert sorted(taken) == sorted(PAIRS * 3)
    assert taken[: len(PAIRS)] != taken[len(PAIRS) : 2 * len(PAIRS)]
