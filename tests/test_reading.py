"""Reading attention: layers and heads, the decoder's step, links by threshold; choices; baselines; steps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.alignment.baselines import baselines, diagonal
from nmt.alignment.choice import choose_by_agreement, choose_by_gold
from nmt.alignment.explain import explanation, steps_of
from nmt.alignment.reading import PieceAttention, Reading, layers_and_heads
from nmt.data.links import parse_links, sure_links
from nmt.errors import NMTError
from nmt.evaluation.worked_example import beside_published


def attention(seed: int, heads: bool = True, num_words: int = 4) -> PieceAttention:
    """Random attention of 2 layers of 3 heads in a pair of `num_words` words, the first in two pieces."""
    random = np.random.default_rng(seed)
    size = num_words + 2
    all_heads = random.dirichlet(np.ones(size), size=(2, 3, size))
    words, pieces = [f"w{number}" for number in range(num_words)], [0, *range(num_words)]
    return PieceAttention(words, words, pieces, pieces, all_heads[1].mean(0), all_heads if heads else None)


def with_head(found: PieceAttention, layer: int, head: int, links: str, step: int) -> PieceAttention:
    """`found` with a head that shows `links` between words, `step` rows after the pieces' own; the layer's
    other heads look at the first word.
    """
    heads = np.array(found.heads)
    heads[layer] = 0
    heads[layer, :, :, 0] = 1
    heads[layer, head] = 0
    heads[layer, head, :, -1] = 1
    for source, target in parse_links(links).sure:
        for row, word in enumerate(found.target_words):
            if word == target:
                heads[layer, head, row + step] = 0
                heads[layer, head, row + step, found.source_words.index(source)] = 1
    return found._replace(heads=heads)


@given(st.integers(0, 1000), st.sampled_from(["mean", "first", "max"]))
def test_reading_a_word_is_predicting_the_next_piece(seed: int, fold: str) -> None:
    found = attention(seed)
    rows = np.concatenate([found.weights[1:], found.weights[-1:]])
    shifted = Reading(fold=fold).align(found._replace(weights=rows))  # type: ignore[arg-type]
    assert np.allclose(Reading(step="read", fold=fold).align(found).weights, shifted.weights)  # type: ignore[arg-type]


def test_layers_and_heads_are_chosen_or_averaged() -> None:
    found = attention(1)
    assert found.heads is not None
    assert np.allclose(Reading().choose(found), found.weights)
    assert np.allclose(Reading(layer=1).choose(found), found.heads[0].mean(0))
    assert np.allclose(Reading(layer=2, head=3).choose(found), found.heads[1, 2])
    assert len(list(layers_and_heads(found))) == 1 + 2 * (1 + 3)
    assert list(layers_and_heads(found._replace(heads=None))) == [(None, None)]


@given(st.integers(0, 1000), st.floats(0.01, 1))
def test_a_threshold_links_every_weight_that_reaches_it(seed: int, threshold: float) -> None:
    alignment = Reading(threshold=threshold).align(attention(seed))
    expected = {
        (s, t) for t, row in enumerate(alignment.weights) for s, w in enumerate(row) if w >= threshold
    }
    assert set(alignment.links) == expected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"step": "write"}, "step=write: choose predict, read or posterior"),
        ({"fold": "sum"}, "fold=sum: choose mean, first or max"),
        ({"threshold": 1.5}, "threshold=1.5: give a weight above 0, 1 at most"),
        ({"head": 2}, "head=2: needs layer= too"),
        ({"layer": 3}, "layer=3: this run has layers 1 to 2"),
        ({"layer": 1, "head": 0}, "head=0: this run has heads 1 to 3"),
    ],
)
def test_readings_that_make_no_sense(settings: dict, message: str) -> None:
    with pytest.raises(NMTError, match=message):
        Reading(**settings).align(attention(1))


def test_without_heads_there_is_no_layer_to_choose() -> None:
    with pytest.raises(NMTError, match="layer=1: this run's attention has no heads"):
        Reading(layer=1).align(attention(1, heads=False))


@pytest.mark.parametrize(("step", "name"), [(0, "predict"), (1, "read")])
def test_the_best_head_and_step_are_found_by_gold_and_by_agreement(step: int, name: str) -> None:
    links = ["0-0 1-2 2-1 3-3", "3-0 2-1 1-2 0-3", "0-1 1-0 2-3 3-2"]
    forward = [with_head(attention(seed), 1, 2, line, step) for seed, line in enumerate(links)]
    turned = [" ".join("-".join(reversed(link.split("-"))) for link in line.split()) for line in links]
    backward = [with_head(attention(9 + seed), 1, 2, line, step) for seed, line in enumerate(turned)]
    by_gold = choose_by_gold(forward, [parse_links(line) for line in links])
    by_agreement = choose_by_agreement(forward, backward)
    for choice in (by_gold, by_agreement):
        assert (choice.reading.layer, choice.reading.head, choice.reading.step) == (2, 3, name)
        assert choice.aer == 0 and choice.reading.threshold is None
    assert by_gold.reading.text() == f"layer=2 head=3 step={name} fold=mean threshold=null"


def test_a_threshold_is_chosen_where_it_aligns_better() -> None:
    found = attention(1)._replace(heads=None)
    gold = [sure_links(Reading(threshold=0.2).align(found).links)]
    assert choose_by_gold([found], gold).reading.threshold == 0.2


# Baselines


@given(st.integers(0, 12), st.integers(0, 12))
def test_the_diagonal_goes_from_corner_to_corner(num_source: int, num_target: int) -> None:
    found = sorted(diagonal(num_source, num_target).sure, key=lambda link: link[1])
    assert len(found) == (num_target if num_source else 0)
    assert all(0 <= source < num_source for source, _ in found)
    assert [source for source, _ in found] == sorted(source for source, _ in found)
    if num_source == num_target:
        assert all(source == target for source, target in found)


def test_baselines_are_the_same_every_time_and_chance_is_the_worse() -> None:
    lengths = [(9, 9)] * 30
    gold = [diagonal(9, 9)] * 30
    found = baselines(lengths, gold)
    assert found == baselines(lengths, gold)
    assert found["diagonal"].aer == 0 and 80 < found["random"].aer < 95


# Step by step


def test_each_step_is_told() -> None:
    weights = np.array([[0.9, 0.1, 0.0], [0.0, 1.0, 0.0]])
    text = explanation(["I", "sleep", "</s>"], steps_of(["dors"], [np.log(0.5), 0.0], weights, "<s>", "</s>"))
    assert text.split("\n\n", 1)[1] == (
        "step 1   reads <s>\n"
        "       score  weight\n"
        "I        0.0    0.90\n"
        "sleep   -2.2    0.10\n"
        "</s>    -inf    0.00\n"
        "context  .90 h(I) + .10 h(sleep)\n"
        "writes   dors  (probability 0.5)\n"
        "\n"
        "step 2   reads dors\n"
        "       score  weight\n"
        "I       -inf    0.00\n"
        "sleep    0.0    1.00\n"
        "</s>    -inf    0.00\n"
        "context  1.00 h(sleep)\n"
        "writes   </s>  (probability 1)\n"
    )


def test_the_published_matrix_stands_beside() -> None:
    found = Reading().align(attention(1, num_words=2))
    published = found.weights + np.array([[0.1, -0.1], [0, 0]])
    text = beside_published(found, published.tolist())
    assert "difference" in text and "-0.10" in text and "+0.10" in text
    assert text.endswith("largest difference 0.10, mean 0.05\n")
    with pytest.raises(NMTError, match="the published matrix has 1 rows of 2 and ours 2 of 2"):
        beside_published(found, [[0.5, 0.5]])
