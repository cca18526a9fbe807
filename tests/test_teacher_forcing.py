"""Scheduled sampling (Bengio et al. 2015): its schedules, and what a decoder is given to read."""

import math
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf
from small_models import random_batch, small_model

from nmt.config import build, check, config_dir
from nmt.errors import NMTError
from nmt.models.scheduled_sampling import sample_inputs
from nmt.training.teacher_forcing import (
    ConstantForcing,
    ExponentialForcing,
    InverseSigmoidForcing,
    LinearForcing,
)

UPDATES = st.integers(1, 100_000)
FILES = sorted((Path(config_dir()) / "teacher_forcing").glob("*.yaml"))


@given(UPDATES, st.floats(1, 5_000))
def test_inverse_sigmoid_is_the_papers(update: int, k: float) -> None:
    expected = k / (k + math.exp(update / k)) if update / k < 700 else 0.0
    assert InverseSigmoidForcing(k).rate(update) == pytest.approx(expected, abs=1e-12)


@given(UPDATES)
def test_linear_and_exponential(update: int) -> None:
    assert LinearForcing(1000, 0.3).rate(update) == pytest.approx(max(0.3, 1 - 0.7 * update / 1000))
    assert ExponentialForcing(0.999).rate(update) == pytest.approx(0.999**update)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_rates_are_probabilities_that_never_rise(path: Path) -> None:
    config = OmegaConf.load(path)
    whole = OmegaConf.create({"teacher_forcing": config, "training": {"max_updates": 100}})
    check(whole.teacher_forcing)
    rates = [build(whole.teacher_forcing).rate(update) for update in range(1, 200)]
    assert all(0 <= later <= earlier <= 1 for earlier, later in zip(rates, rates[1:], strict=False))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ConstantForcing(1.5), r"^teacher_forcing.rate=1.5: give a probability, from 0 to 1$"),
        (lambda: LinearForcing(0), r"^teacher_forcing.total_updates=0: give 1 or more updates$"),
        (lambda: ExponentialForcing(-1.0), r"^teacher_forcing.base=-1.0: give a probability, from 0 to 1$"),
        (lambda: InverseSigmoidForcing(0.5), r"^teacher_forcing.speed=0.5: give 1 or more updates$"),
    ],
)
def test_wrong_rates_are_one_line(make, message) -> None:
    with pytest.raises(NMTError, match=message):
        make()


@pytest.mark.parametrize("decoder", ["bahdanau", "luong", "luong-no-feeding"])
def test_all_words_are_kept_at_rate_one_and_the_first_always(decoder: str) -> None:
    model = small_model("additive", decoder)
    src, mask, tgt = random_batch([5, 3], target_size=6)
    memory = model.encode(src, mask)
    assert torch.equal(sample_inputs(model.decoder, memory, tgt, 1.0), tgt)
    assert torch.equal(sample_inputs(model.decoder, memory, tgt, 0.0)[:, 0], tgt[:, 0])


@pytest.mark.parametrize("decoder", ["bahdanau", "luong", "luong-no-feeding"])
def test_what_is_read_is_what_the_model_expects_after_it(decoder: str) -> None:
    """Over many copies of a sentence, second words come as often as the model says, third ones after them."""
    model = small_model("additive", decoder)
    src, mask, tgt = random_batch([4], target_size=3)
    torch.manual_seed(1)
    copies, rate = 20_000, 0.25
    memory = model.encode(src.expand(copies, -1), mask.expand(copies, -1))
    inputs = sample_inputs(model.decoder, memory, tgt.expand(copies, -1), rate)
    second = inputs[0, 1]
    after = inputs[inputs[:, 1] == second]
    forced = torch.stack([tgt[0, 0], second, second]).unsqueeze(0)
    expected = model(src, mask, forced)[0].softmax(-1)[0]
    for column, rows, position in ((1, inputs, 0), (2, after, 1)):
        counted = torch.bincount(rows[:, column], minlength=expected.shape[1]) / len(rows)
        wanted = (1 - rate) * expected[position]
        wanted[tgt[0, column]] += rate
        tolerance = 4 * (wanted * (1 - wanted) / len(rows)).sqrt() + 1e-4
        assert ((counted - wanted).abs() < tolerance).all()


def test_training_reads_sampled_words_and_is_scored_on_the_targets() -> None:
    model = small_model().train()
    src, mask, tgt = random_batch([5, 3], target_size=6)
    torch.manual_seed(2)
    features = model.features(src, mask, tgt, teacher_forcing_rate=0.0)
    torch.manual_seed(2)
    memory = model.encode(src, mask)
    expected = model.decoder.features(sample_inputs(model.decoder, memory, tgt, 0.0), memory)
    torch.testing.assert_close(features.hidden, expected.hidden)
    features.hidden.sum().backward()
    assert model.encoder.embedding.weight.grad is not None
