"""Softmax, sparsemax and entmax against their definitions."""

import pytest
import torch
from attention_cases import random_tensor
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from nmt.attention.normalizers import Normalizer, masked_entmax15, masked_softmax, masked_sparsemax

ALL = [masked_softmax, masked_sparsemax, masked_entmax15]


def bisect(energy: list[float], power: float) -> list[float]:
    """[z - tau]₊^power with the tau at which it sums to 1, found by halving."""
    low, high = max(energy) - 1, max(energy)
    for _ in range(100):
        tau = (low + high) / 2
        total = sum(max(z - tau, 0.0) ** power for z in energy)
        low, high = (tau, high) if total >= 1 else (low, tau)
    return [max(z - tau, 0.0) ** power for z in energy]


def project(energy: Tensor) -> Tensor:
    """The nearest point of the simplex by trying every support: Euclidean projection as it is defined."""
    best, nearest = None, float("inf")
    size = len(energy)
    for bits in range(1, 2**size):
        support = torch.tensor([bool(bits >> place & 1) for place in range(size)])
        point = torch.where(support, energy - (energy[support].sum() - 1) / support.sum(), 0.0)
        distance = (point - energy).square().sum().item()
        if (point >= 0).all() and distance < nearest:
            best, nearest = point, distance
    assert best is not None
    return best


energies = st.lists(st.floats(-4, 4), min_size=1, max_size=7)


@given(energies)
@settings(deadline=None, max_examples=60)
def test_sparsemax_is_the_projection_onto_the_simplex(energy: list[float]) -> None:
    z = torch.tensor(energy, dtype=torch.float64)
    weights = masked_sparsemax(z, torch.ones_like(z, dtype=torch.bool))
    assert_close(weights, project(z), atol=1e-9, rtol=0.0)
    assert_close(weights, torch.tensor(bisect(energy, 1.0), dtype=torch.float64), atol=1e-9, rtol=0.0)


@given(energies)
@settings(deadline=None, max_examples=60)
def test_entmax15_is_its_bisection(energy: list[float]) -> None:
    z = torch.tensor(energy, dtype=torch.float64)
    wanted = torch.tensor(bisect([value / 2 for value in energy], 2.0), dtype=torch.float64)
    assert_close(masked_entmax15(z, torch.ones_like(z, dtype=torch.bool)), wanted, atol=1e-7, rtol=0.0)


@pytest.mark.parametrize("normalize", ALL)
@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0, 1e4])
def test_masked_positions_might_as_well_not_exist(normalize: Normalizer, scale: float) -> None:
    energy = scale * random_tensor(5, 3, 6)
    mask = random_tensor(5, 3, 6, seed=2) > -0.3
    mask[0, 0] = False
    weights = normalize(energy, mask)
    assert (weights[~mask] == 0).all()
    for place in mask.any(-1).nonzero().tolist():
        row, allowed = energy[tuple(place)], mask[tuple(place)]
        alone = normalize(row[allowed], torch.ones_like(row[allowed], dtype=torch.bool))
        assert_close(weights[tuple(place)][allowed], alone)
        assert_close(alone.sum(), torch.tensor(1.0, dtype=torch.float64))


@pytest.mark.parametrize("normalize", ALL)
def test_gradients(normalize: Normalizer) -> None:
    mask = torch.ones(4, 2, 6, dtype=torch.bool)
    mask[1, :, 3:] = False
    mask[2] = False
    energy = random_tensor(4, 2, 6).requires_grad_()
    assert torch.autograd.gradcheck(lambda z: normalize(z, mask), (energy,))


@pytest.mark.parametrize("normalize", ALL)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_extreme_energies_stay_finite(normalize: Normalizer, dtype: torch.dtype) -> None:
    energy = torch.tensor([[[3e4, -3e4, 0.0, 2.9e4], [-3e4, -3e4, -3e4, -3e4]]], dtype=dtype)
    mask = torch.tensor([[[True, True, True, False], [True, True, False, False]]])
    weights = normalize(energy, mask).float()
    assert_close(weights, torch.tensor([[[1.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0]]]), atol=1e-2, rtol=0.0)


def test_the_published_figure() -> None:
    """The worked example of *I love you* -> *je t'aime*: scores and weights as printed."""
    scores = torch.tensor([[0.63, -3.2, -2.5, 9.0], [-1.5, -3.9, 0.57, 9.0], [-2.8, 0.64, -3.2, 9.0]])
    mask = torch.tensor([True, True, True, False])
    weights = masked_softmax(scores, mask)
    printed = torch.tensor([[0.94, 0.02, 0.04, 0.0], [0.11, 0.01, 0.88, 0.0], [0.03, 0.95, 0.02, 0.0]])
    assert_close((100 * weights).round() / 100, printed)
