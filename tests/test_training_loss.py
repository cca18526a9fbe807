"""The training loss against its definition."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from small_models import random_batch, small_model
from torch import Tensor
from training_toys import ToyBatch, ToyModel, stack, toy_batch

from nmt.attention.coverage import coverage_loss
from nmt.training.loss import LabelSmoothedCrossEntropy, mean_nll, smoothed_cross_entropy

SMOOTHINGS = pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])


def plain_loss(logits: Tensor, target: Tensor, smoothing: float) -> Tensor:
    """The definition, entry by entry."""
    total = logits.new_zeros(())
    vocabulary_size = logits.shape[1]
    for scores, token in zip(logits, target.tolist(), strict=True):
        nll = [torch.log(scores.exp().sum()) - score for score in scores]
        total = total + (1 - smoothing) * nll[token] + smoothing / vocabulary_size * torch.stack(nll).sum()
    return total


@SMOOTHINGS
def test_loss_and_gradient_are_those_of_the_definition(smoothing: float) -> None:
    torch.manual_seed(1)
    logits = (3 * torch.randn(7, 11, dtype=torch.float64)).requires_grad_()
    target = torch.randint(0, 11, (7,))
    expected = plain_loss(logits, target, smoothing)
    (gradient,) = torch.autograd.grad(expected, logits)
    objective, nll = smoothed_cross_entropy(logits * 1.0, target, smoothing)
    (actual,) = torch.autograd.grad(objective, logits)
    torch.testing.assert_close(objective, expected)
    torch.testing.assert_close(nll.sum(), plain_loss(logits, target, 0.0))
    torch.testing.assert_close(actual, gradient)
    assert not nll.requires_grad


@SMOOTHINGS
@pytest.mark.parametrize("size", [(1, 2), (5, 70_000), (400, 3_000)])
def test_blocks_make_no_difference(smoothing: float, size: tuple[int, int]) -> None:
    torch.manual_seed(1)
    logits = torch.randn(size, requires_grad=True)
    target = torch.randint(0, size[1], (size[0],))
    expected = F.cross_entropy(logits, target, label_smoothing=smoothing, reduction="sum")
    (gradient,) = torch.autograd.grad(2 * expected, logits)
    objective, _ = smoothed_cross_entropy(logits * 1.0, target, smoothing)
    (actual,) = torch.autograd.grad(2 * objective, logits)
    torch.testing.assert_close(objective, expected)
    torch.testing.assert_close(actual, gradient)


def test_extreme_logits_stay_finite() -> None:
    logits = torch.tensor([[1e4, -1e4, 0.0], [-1e30, -1e30, -1e30]], requires_grad=True)
    objective, nll = smoothed_cross_entropy(logits * 1.0, torch.tensor([1, 2]), 0.1)
    objective.backward()
    assert torch.isfinite(objective) and torch.isfinite(nll).all() and torch.isfinite(logits.grad).all()
    assert nll[0].item() == pytest.approx(2e4)


def test_sums_of_bfloat16_logits_are_float32() -> None:
    torch.manual_seed(1)
    logits = torch.randn(500, 300).bfloat16()
    target = torch.randint(0, 300, (500,))
    expected = F.cross_entropy(logits.float(), target, label_smoothing=0.1, reduction="sum")
    leaf = logits.clone().requires_grad_()
    objective, _ = smoothed_cross_entropy(leaf * 1.0, target, 0.1)
    objective.backward()
    torch.testing.assert_close(objective, expected)
    assert leaf.grad is not None and leaf.grad.dtype == torch.bfloat16


@SMOOTHINGS
@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 1000), token=st.integers(0, 12))
def test_what_stands_in_the_padding_changes_nothing(smoothing: float, seed: int, token: int) -> None:
    model = ToyModel().double().eval()
    batch = toy_batch(seed)
    other = batch._replace(
        src=batch.src.masked_fill(~batch.src_mask, token),
        tgt_in=batch.tgt_in.masked_fill(~batch.tgt_mask, token),
        tgt_out=batch.tgt_out.masked_fill(~batch.tgt_mask, token),
    )
    loss = LabelSmoothedCrossEntropy(smoothing)
    assert loss(model, batch).objective.item() == loss(model, other).objective.item()


def test_padding_never_meets_the_vocabulary_projection() -> None:
    model, batch, rows = ToyModel(), toy_batch(3), []
    model.decoder.output.register_forward_hook(lambda module, inputs, output: rows.append(len(output)))
    LabelSmoothedCrossEntropy(0.1)(model, batch)
    assert rows == [batch.num_target_tokens]


def test_the_loss_of_a_batch_is_the_sum_over_its_sentences() -> None:
    model = ToyModel().double().eval()
    batches = [toy_batch(seed) for seed in range(4)]
    loss = LabelSmoothedCrossEntropy(0.1)
    total = sum(loss(model, batch).objective for batch in batches)
    torch.testing.assert_close(loss(model, stack(batches)).objective, total)


def test_mean_nll_is_weighted_by_tokens() -> None:
    model = ToyModel().double().eval()
    batches = [toy_batch(1, sentences=2), toy_batch(2, sentences=6)]
    whole = stack(batches)
    expected = LabelSmoothedCrossEntropy()(model, whole).nll.item() / whole.num_target_tokens
    assert mean_nll(model, batches, torch.device("cpu")) == pytest.approx(expected)


@pytest.mark.parametrize("decoder", ["bahdanau", "luong-no-feeding"])
def test_what_the_attention_adds_is_in_the_objective_but_not_in_the_nll(decoder: str) -> None:
    """Coverage: the weighted coverage loss of the real words; whatever the padding attends is left out."""
    model = small_model("coverage", decoder)
    src, mask, tgt = random_batch([5, 3], target_size=6)
    tgt_mask = torch.arange(6) < torch.tensor([6, 4]).unsqueeze(1)
    batch = ToyBatch(src, mask, tgt, tgt, tgt_mask)
    plain = LabelSmoothedCrossEntropy(0.1)(model, batch)
    model.decoder.attention.loss_weight = 0.7
    with_coverage = LabelSmoothedCrossEntropy(0.1)(model, batch)
    weights = model.features(src, mask, tgt).weights
    added = 0.7 * (coverage_loss(weights)[0].sum() + coverage_loss(weights[1:, :4]).sum())
    torch.testing.assert_close(with_coverage.objective - plain.objective, added)
    torch.testing.assert_close(with_coverage.nll, plain.nll)


@pytest.mark.parametrize("decoder", ["bahdanau", "luong-no-feeding"])
def test_reinforce_teaches_the_score(decoder: str) -> None:
    """Without its loss no gradient reaches the score; with it, one does, and the baseline moves."""
    model = small_model("hard", decoder, attention_settings={"estimator": "reinforce"}).train()
    src, mask, tgt = random_batch([5, 3], target_size=6)
    batch = ToyBatch(src, mask, tgt, tgt, torch.ones_like(tgt, dtype=torch.bool))
    loss = LabelSmoothedCrossEntropy(0.1)(model, batch)
    loss.objective.backward()
    attention = model.decoder.attention
    assert attention.vector.grad is not None and attention.vector.grad.abs().max() > 0
    torch.testing.assert_close(attention.baseline, -0.1 * loss.nll / batch.num_target_tokens)
