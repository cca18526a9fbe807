"""The best continuations are those that sorting everything finds."""

import pytest
import torch

from nmt.decoding.continuations import best_continuations


@pytest.mark.parametrize("vocabulary_size", [3, 63, 64, 65, 640, 1000])
@pytest.mark.parametrize("hypotheses", [1, 5])
@pytest.mark.parametrize("number", [1, 2, 10])
@pytest.mark.parametrize("forbidden", [0.0, 0.9, 1.0])
def test_they_are_the_largest_sums_in_order(vocabulary_size, hypotheses, number, forbidden):
    scores = torch.randn(7, hypotheses, vocabulary_size)
    scores[torch.rand(scores.shape) < forbidden] = -torch.inf
    totals = torch.randn(7, hypotheses)
    totals[0, 0] = -torch.inf
    parents, words = best_continuations(scores, totals, number)
    sums = (scores + totals.unsqueeze(2)).flatten(1)
    places = parents * vocabulary_size + words
    expected = sums.topk(min(number, sums.shape[1]), dim=1).values
    assert torch.equal(sums.gather(1, places), expected)
    assert all(len(set(row)) == len(row) for row in places.tolist())
