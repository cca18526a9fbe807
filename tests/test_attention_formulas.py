"""Each attention against a plain-loop float64 transcription of its paper's equations.

One function a variant, named after it: context and weights of one query s over one sentence's annotations h,
given the weights of the steps before.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from attention_cases import NAMES, SIZE, make, mask_of, random_tensor
from torch import nn
from torch.nn import functional
from torch.testing import assert_close

from nmt.attention import Attention, CoverageAttention, MultiHeadAttention
from nmt.attention.coverage import coverage_loss
from nmt.attention.hard import reinforce_loss

Vector = list[float]
Matrix = list[Vector]
Answer = tuple[Vector, Vector | None]


def dot(left: Sequence[float], right: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


def times(matrix: Matrix, vector: Vector) -> Vector:
    return [dot(row, vector) for row in matrix]


def softmax(energy: Vector) -> Vector:
    total = sum(math.exp(e) for e in energy)
    return [math.exp(e) / total for e in energy]


def mean_of(h: Matrix, weights: Vector) -> Vector:
    return [sum(w * row[i] for w, row in zip(weights, h, strict=True)) for i in range(len(h[0]))]


def of_energies(energy: Vector, h: Matrix) -> Answer:
    weights = softmax(energy)
    return mean_of(h, weights), weights


def numbers(attention: Attention, name: str) -> Any:
    return dict(attention.named_parameters())[name].tolist()


def additive(attention: Attention, s: Vector, h: Matrix, past: Matrix) -> Answer:
    """Bahdanau 2015: e_ij = v · tanh(W s_{i-1} + U h_j)."""
    w, u, v = (numbers(attention, key) for key in ("query_map.weight", "key_map.weight", "vector"))
    ws = times(w, s)
    return of_energies(
        [dot(v, [math.tanh(a + b) for a, b in zip(ws, times(u, x), strict=True)]) for x in h], h
    )


def dot_(attention: Attention, s: Vector, h: Matrix, past: Matrix) -> Answer:
    """Luong 2015, equation 8."""
    return of_energies([dot(s, x) for x in h], h)


def general(attention: Attention, s: Vector, h: Matrix, past: Matrix) -> Answer:
    """Luong 2015, equation 8."""
    return of_energies(_general_energies(_general_map(attention, "key_map.weight"), s, h), h)


def _general_map(attention: Attention, name: str) -> Matrix:
    """W, of which the parameter is √H times as large."""
    kept = numbers(attention, name)
    return [[element / len(kept) ** 0.5 for element in row] for row in kept]


def _general_energies(w: Matrix, s: Vector, h: Matrix) -> Vector:
    return [dot(s, times(w, x)) for x in h]


def concat(attention: Attention, s: Vector, h: Matrix, past: Matrix) -> Answer:
    """Luong 2015, equation 8."""
    w, v = numbers(attention, "map.weight"), numbers(attention, "vector")
    return of_energies([dot(v, [math.tanh(a) for a in times(w, s + x)]) for x in h], h)


def scaled_dot(attention: Attention, s: Vector, h: Matrix, past: Matrix) -> Answer:
    """Vaswani 2017, equation 1."""
    return of_energies([dot(s, x) / math.sqrt(len(s)) for x in h], h)


def qkv(attention: Attention, s: Vector, h: Matrix, past: Matrix) -> Answer:
    """Vaswani 2017, equation 1 of mapped queries, keys and values."""
    w_q, w_k, w_v = (numbers(attention, f"{key}_map.weight") for key in ("query", "key", "value"))
    q = times(w_q, s)
    energy = [dot(q, times(w_k, x)) / math.sqrt(len(q)) for x in h]
    return of_energies(energy, [times(w_v, x) for x in h])


def multihead(attention: Attention, s: Vector, h: Matrix, past: Matrix) -> Answer:
    """Vaswani 2017, section 3.2.2."""
    assert isinstance(attention, MultiHeadAttention)
    w_q, w_k, w_v, w_o = (
        numbers(attention, f"{key}_map.weight") for key in ("query", "key", "value", "output")
    )
    size, joined, all_weights = len(s) // attention.num_heads, [], []
    for n in range(attention.num_heads):
        rows = slice(n * size, (n + 1) * size)
        q = times(w_q[rows], s)
        energy = [dot(q, times(w_k[rows], x)) / math.sqrt(size) for x in h]
        head, weights = of_energies(energy, [times(w_v[rows], x) for x in h])
        joined += head
        all_weights.append(weights)
    return times(w_o, joined), [sum(column) / len(column) for column in zip(*all_weights, strict=True)]


def local_m(attention: Any, s: Vector, h: Matrix, past: Matrix) -> Answer:
    """Luong 2015, section 3.2: p_t = t (S - 1 where the source is over), window [p_t - D, p_t + D]."""
    weights = _window(attention, s, h, min(len(past), len(h) - 1))
    return mean_of(h, weights), weights


def local_p(attention: Any, s: Vector, h: Matrix, past: Matrix) -> Answer:
    """Luong 2015, equations 9-10."""
    w, v = numbers(attention, "position_map.weight"), numbers(attention, "position_vector")
    p = len(h) / (1 + math.exp(-dot(v, [math.tanh(a) for a in times(w, s)])))
    sigma = attention.window / 2
    weights = [
        weight * math.exp(-((place - p) ** 2) / (2 * sigma**2))
        for place, weight in enumerate(_window(attention, s, h, p))
    ]
    return mean_of(h, weights), weights


def _window(attention: Any, s: Vector, h: Matrix, p: float) -> Vector:
    inside = [place for place in range(len(h)) if p - attention.window <= place <= p + attention.window]
    picked = [h[place] for place in inside]
    weights = [0.0] * len(h)
    energy = _general_energies(_general_map(attention, "score.key_map.weight"), s, picked)
    for place, weight in zip(inside, softmax(energy), strict=True):
        weights[place] = weight
    return weights


def coverage(attention: Attention, s: Vector, h: Matrix, past: Matrix) -> Answer:
    """Tu 2016, linguistic coverage; See 2017, equations 10-11 where there is no fertility."""
    assert isinstance(attention, CoverageAttention)
    keys = ("query_map.weight", "key_map.weight", "vector", "coverage_vector")
    w, u, v, w_c = (numbers(attention, key) for key in keys)
    ws, energy = times(w, s), []
    for place, x in enumerate(h):
        fertility = 1.0
        if attention.max_fertility:
            u_f = numbers(attention, "fertility_map.weight")[0]
            fertility = attention.max_fertility / (1 + math.exp(-dot(u_f, x)))
        covered = sum(weights[place] for weights in past) / fertility
        terms = zip(ws, times(u, x), w_c, strict=True)
        energy.append(dot(v, [math.tanh(a + b + covered * c) for a, b, c in terms]))
    return of_energies(energy, h)


def location(attention: Attention, s: Vector, h: Matrix, past: Matrix) -> Answer:
    """Luong 2015: a_t = softmax(W_a h_t), over the positions that there are."""
    w, b = numbers(attention, "position_map.weight"), numbers(attention, "position_map.bias")
    return of_energies([e + bias for e, bias in zip(times(w, s), b, strict=True)][: len(h)], h)


def hard(attention: Attention, s: Vector, h: Matrix, past: Matrix) -> Answer:
    """Xu 2015, in decoding: the annotation of the greatest weight."""
    weights = additive(attention, s, h, past)[1]
    assert weights is not None
    choice = weights.index(max(weights))
    return h[choice], [float(place == choice) for place in range(len(h))]


def none(attention: Attention, s: Vector, h: Matrix, past: Matrix) -> Answer:
    """Cho 2014: one vector, the same at every step."""
    return mean_of(h, [1 / len(h)] * len(h)), None


REFERENCES: dict[str, Callable[..., Answer]] = {
    "dot": dot_,
    **{
        function.__name__: function
        for function in (additive, general, concat, scaled_dot, qkv, multihead, local_m, local_p)
        + (coverage, location, hard, none)
    },
}
SETTINGS: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in NAMES] + [
    ("local_m", {"window": 2}),
    ("local_m", {"window": 1}),
    ("local_p", {"window": 2}),
    ("local_p", {"window": 1}),
    ("coverage", {"max_fertility": 2.0}),
]


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
def test_formula(name: str, settings: dict[str, Any]) -> None:
    attention = make(name, settings)
    lengths = (7, 4, 1)
    query, annotations = random_tensor(3, 9, SIZE, seed=6), random_tensor(3, 7, SIZE, seed=7)
    context, weights = attention(query, annotations, mask_of(*lengths))
    for row, length in enumerate(lengths):
        past: Matrix = []
        for step in range(9):
            h = annotations[row, :length].tolist()
            wanted, wanted_weights = REFERENCES[name](attention, query[row, step].tolist(), h, past)
            assert_close(context[row, step], torch.tensor(wanted, dtype=torch.float64))
            past.append(wanted_weights or [])
            if wanted_weights is None:
                assert weights is None
            else:
                assert_close(weights[row, step, :length], torch.tensor(wanted_weights, dtype=torch.float64))


def test_scaled_dot_is_torch() -> None:
    query, annotations, mask = random_tensor(3, 4, SIZE), random_tensor(3, 6, SIZE, seed=2), mask_of(6, 5, 2)
    wanted = functional.scaled_dot_product_attention(
        query, annotations, annotations, attn_mask=mask.unsqueeze(1)
    )
    assert_close(make("scaled_dot", {})(query, annotations, mask)[0], wanted)


@pytest.mark.parametrize("need_weights", [True, False])
def test_multihead_is_torch(need_weights: bool) -> None:
    ours = make("multihead", {}, 8, 6)
    theirs = nn.MultiheadAttention(8, 4, bias=False, kdim=6, vdim=6, batch_first=True).double().eval()
    copies = {
        "q_proj_weight": "query_map",
        "k_proj_weight": "key_map",
        "v_proj_weight": "value_map",
        "out_proj.weight": "output_map",
    }
    state = ours.state_dict()
    theirs.load_state_dict({theirs_: state[f"{ours_}.weight"] for theirs_, ours_ in copies.items()})
    query, annotations, mask = random_tensor(3, 4, 8), random_tensor(3, 6, 6, seed=2), mask_of(6, 5, 2)
    context, weights = ours(query, annotations, mask, need_weights)
    arguments = (query, annotations, annotations, ~mask)
    assert_close(context, theirs(*arguments)[0])
    if need_weights:
        assert_close(weights, theirs(*arguments)[1])
        heads = ours.attend(query, ours.prepare(annotations, mask), None)[0].head_weights
        assert_close(heads, theirs(*arguments, average_attn_weights=False)[1])
    else:
        assert weights is None


def test_coverage_loss() -> None:
    """See 2017, equation 12, by hand."""
    weights = torch.tensor([[[0.7, 0.3], [0.4, 0.6], [0.0, 1.0]]])
    assert_close(coverage_loss(weights), torch.tensor([[0.0, 0.4 + 0.3, 0.0 + 0.9]]))


def test_reinforce_loss() -> None:
    """Its gradient is -(r - b) d log p, and nothing flows into the reward."""
    log_probability = torch.tensor([[-1.0, -2.0]], requires_grad=True)
    reward = torch.tensor([[3.0, 0.5]], requires_grad=True)
    loss = reinforce_loss(log_probability, reward, 1.0)
    assert_close(loss, torch.tensor([[2.0, -1.0]]))
    loss.sum().backward()
    assert_close(log_probability.grad, torch.tensor([[-2.0, 0.5]]))
    assert reward.grad is None
