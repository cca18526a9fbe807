"""Learning-rate schedules against their formulas."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.errors import NMTError
from nmt.training.schedules import Constant, Halving, InverseSqrt, Linear, Plateau, Schedule

UPDATES = st.integers(1, 100_000)
WARMUPS = st.integers(1, 20_000)


@given(UPDATES, WARMUPS)
def test_inverse_sqrt_is_the_papers_schedule_divided_by_its_maximum(update: int, warmup: int) -> None:
    def paper(step: int) -> float:  # Vaswani et al. 2017, eq. 3, without the model size
        return min(step**-0.5, step * warmup**-1.5)

    assert InverseSqrt(warmup).factor(update, 1) == pytest.approx(paper(update) / paper(warmup))


@given(UPDATES, WARMUPS)
def test_constant_rises_to_the_peak_and_stays(update: int, warmup: int) -> None:
    assert Constant(warmup).factor(update, 1) == pytest.approx(min(1, update / warmup))
    assert Constant().factor(update, 1) == 1


@given(UPDATES)
def test_linear_is_a_straight_line_between_its_ends(update: int) -> None:
    schedule = Linear(total_updates=10_000, warmup_updates=100, final_factor=0.1)
    descent = 1 - 0.9 * (update - 100) / 9_900
    expected = update / 100 if update <= 100 else max(descent, 0.1)
    assert schedule.factor(update, 1) == pytest.approx(expected)


def test_halving_begins_after_the_constant_epochs() -> None:
    assert [Halving(constant_epochs=5).factor(1, epoch) for epoch in range(4, 9)] == [1, 1, 0.5, 0.25, 0.125]


def test_plateau_decays_after_patience_validations_without_improvement() -> None:
    schedule = Plateau(patience=2, decay=0.5, min_factor=0.2)
    factors = []
    for improved in (True, False, True, False, False, False, False, False, False):
        schedule.validated(improved)
        factors.append(schedule.factor(10, 1))
    assert factors == [1, 1, 1, 1, 0.5, 0.5, 0.25, 0.25, 0.2]


@given(st.lists(st.booleans(), max_size=20), st.lists(st.booleans(), max_size=20))
def test_a_plateau_goes_on_from_its_state(before: list[bool], after: list[bool]) -> None:
    whole, first, second = (Plateau(patience=2, warmup_updates=3) for _ in range(3))
    for improved in before + after:
        whole.validated(improved)
    for improved in before:
        first.validated(improved)
    second.load_state_dict(first.state_dict())
    for improved in after:
        second.validated(improved)
    assert second.factor(50, 1) == whole.factor(50, 1)


@pytest.mark.parametrize("schedule", [Constant(10), InverseSqrt(10), Linear(90, 10), Halving(), Plateau()])
def test_factors_are_positive_and_at_most_one_within_the_run(schedule: Schedule) -> None:
    for update in range(1, 90):
        assert 0 < schedule.factor(update, 1 + update // 10) <= 1
        assert math.isfinite(schedule.factor(update, 1))


def test_impossible_values_are_one_line() -> None:
    with pytest.raises(NMTError, match="total_updates=5 is not above schedule.warmup_updates=10"):
        Linear(total_updates=5, warmup_updates=10)
    with pytest.raises(NMTError, match="schedule.decay=2"):
        Halving(decay=2)
    with pytest.raises(NMTError, match="schedule.patience=0"):
        Plateau(patience=0)
    with pytest.raises(NMTError, match="schedule.warmup_updates=-1"):
        Constant(-1)
