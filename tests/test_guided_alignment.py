"""Guided alignment: the loss against its definition, and every attention learns what it is shown."""

import math
from pathlib import Path

import pytest
import torch
from small_models import ATTENTIONS, random_batch, small_model
from torch import Tensor

from nmt.attention.guidance import choice_guidance_loss, guidance_loss
from nmt.config import compose
from nmt.data.batches import Batch
from nmt.errors import NMTError
from nmt.experiment import train
from nmt.training.loss import LabelSmoothedCrossEntropy
from nmt.training.settings import TrainingSettings

LINKS = torch.tensor([[0, 0, 0, 1], [0, 0, 2, 1], [1, 3, 0, 2]])  # sentence, row, column


def dense(links: Tensor, shape: torch.Size) -> Tensor:
    """The links' matrix (B, T, S), each row with links normalised."""
    matrix = torch.zeros(shape, dtype=torch.float64)
    matrix[tuple(links)] = 1
    return matrix / matrix.sum(-1, keepdim=True).clamp(min=1)


def guided_batch(links: Tensor) -> Batch:
    src, mask, tgt = random_batch([5, 3], target_size=4)
    return Batch(src, mask, tgt, tgt, torch.ones_like(tgt, dtype=torch.bool), [0, 1], tgt.numel(), links)


def test_the_loss_is_the_cross_entropy_with_the_normalised_links() -> None:
    weights = torch.rand(2, 4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).softmax(-1)
    weights.requires_grad_()
    expected = -(dense(LINKS, weights.shape) * weights.log()).sum()
    torch.testing.assert_close(guidance_loss(weights, LINKS).double(), expected, atol=1e-6, rtol=1e-6)
    (gradient,) = torch.autograd.grad(guidance_loss(weights, LINKS), weights)
    assert (gradient != 0).equal(dense(LINKS, weights.shape) != 0), "rows without links count nothing"


def test_no_links_and_weights_of_zero_are_no_trouble() -> None:
    weights = torch.zeros(2, 4, 5, requires_grad=True)
    assert guidance_loss(weights, LINKS[:, :0]).item() == 0
    loss = guidance_loss(weights, LINKS)
    loss.backward()
    assert torch.isfinite(loss) and torch.isfinite(weights.grad).all()


def test_choices_are_taught_by_the_likelihood_of_their_links_however_sure_they_are() -> None:
    energy = torch.tensor([[[0.0, 0, 0], [500.0, 0, 0]]], requires_grad=True)
    links = torch.tensor([[0, 0], [0, 1], [0, 2]])  # the second row chooses another position
    loss = choice_guidance_loss(energy.log_softmax(-1), links)
    assert loss.item() == pytest.approx(math.log(3) + 500)
    (gradient,) = torch.autograd.grad(loss, energy)
    torch.testing.assert_close(gradient[0], torch.tensor([[-2 / 3, 1 / 3, 1 / 3], [1, 0, -1]]))


def test_the_objective_holds_the_weighted_guidance_and_the_nll_does_not() -> None:
    model, batch = small_model(), guided_batch(LINKS)
    plain, guided = (LabelSmoothedCrossEntropy(0.1, weight)(model, batch) for weight in (0.0, 0.3))
    weights = model.features(batch.src, batch.src_mask, batch.tgt_in).weights
    torch.testing.assert_close(
        guided.objective - plain.objective, 0.3 * guidance_loss(weights, LINKS), check_dtype=False
    )
    assert guided.nll.equal(plain.nll)


@pytest.mark.parametrize(
    ("attention", "decoder"),
    [(name, "luong-no-feeding") for name in ATTENTIONS if name != "none"]
    + [("additive", "bahdanau"), ("hard", "bahdanau")],
)
def test_every_attention_learns_what_it_is_shown(attention: str, decoder: str) -> None:
    model = small_model(attention, decoder)
    for parameter in model.parameters():
        parameter.data.div_(2.0)
    batch, loss = guided_batch(LINKS), LabelSmoothedCrossEntropy(0.0, 1.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)

    def hits() -> float:
        model.eval()
        with torch.no_grad():
            weights = model.features(batch.src, batch.src_mask, batch.tgt_in).weights
        linked = (dense(LINKS, weights.shape) > 0) & (weights == weights.amax(-1, keepdim=True))
        return linked.any(-1).sum().item()

    torch.manual_seed(1)
    for _ in range(80):
        model.train()
        loss(model, batch).objective.backward()
        optimizer.step()
        optimizer.zero_grad()
    assert hits() == 3


def test_a_model_without_attention_cannot_be_guided() -> None:
    with pytest.raises(NMTError, match="training.guided_alignment has no attention to guide in this model"):
        LabelSmoothedCrossEntropy(0.0, 0.1)(small_model("none"), guided_batch(LINKS))


def test_the_weight_is_not_negative() -> None:
    with pytest.raises(NMTError, match="training.guided_alignment=-1"):
        TrainingSettings(max_updates=1, guided_alignment=-1)


def test_a_guided_run_logs_its_error_rate(small_run: list[str], tmp_path: Path) -> None:
    links = "0-0 1-2 2-1 3-3\n0-0 1-2 2-1 3-3\n0-0 1-2 2-1 3-3\n0-0 1-1 2-2\n" * 5
    (tmp_path / "links").write_text(links)
    files = [f"data.{split}.links={tmp_path / 'links'}" for split in ("train", "dev")]
    settings = ["training.guided_alignment=0.5", "training.best_metric=aer"]
    run = train(compose("train", [*small_run, *files, *settings]), tmp_path / "run")
    rates = [line["aer"] for line in run.metrics() if line["kind"] == "validation"]
    assert len(rates) == 2 and all(0 <= rate <= 100 for rate in rates)


def test_dev_links_that_do_not_fit_cost_the_error_rate_alone(
    small_run: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "links").write_text("9-0\n" * 20)
    run = train(compose("train", [*small_run, f"data.dev.links={tmp_path / 'links'}"]), tmp_path / "run")
    assert all("aer" not in line for line in run.metrics())
    assert (
        caplog.text.count("no alignment error rate: data.dev.links, line 1: source position 9 is out of") == 1
    )
