"""Training in bfloat16 and float16: every model learns, overflow is survived, and auto measures."""

import math
from pathlib import Path

import pytest
import torch
from small_models import ATTENTIONS, DECODERS, random_batch, small_model
from training_toys import ToyModel, new_run, toy_trainer

import nmt.training.precision as precision
from nmt.errors import NMTError
from nmt.training.loss import LabelSmoothedCrossEntropy
from nmt.training.precision import Precision, choose_precision
from nmt.training.settings import TrainingSettings
from nmt.training.trainer import Trainer

CPU = torch.device("cpu")
MODELS = [("additive", decoder, "birnn") for decoder in DECODERS]
MODELS += [(attention, "transformer", "transformer") for attention in ATTENTIONS]
MODELS += [(attention, "luong", "birnn") for attention in ATTENTIONS]


class Batch:
    def __init__(self):
        self.src, self.src_mask, tokens = random_batch([5, 3], target_size=6)
        self.tgt_in, self.tgt_out = tokens[:, :-1], tokens[:, 1:]
        self.tgt_mask = torch.ones_like(self.tgt_out, dtype=torch.bool)
        self.links = None


@pytest.mark.parametrize(("attention", "decoder", "encoder"), list(dict.fromkeys(MODELS)))
def test_every_model_learns_in_bfloat16(attention, decoder, encoder):
    """Loss and gradients are finite, and near those in float32 where no choice is made."""
    model = small_model(attention, decoder, encoder, seed=1).float()
    for parameter in model.parameters():
        parameter.data.mul_(0.5)  # as they start: the sharp choices of small models are no smooth functions
    results = []
    for name in ("float32", "bf16"):
        model.zero_grad()
        with Precision(name).autocast():
            loss = LabelSmoothedCrossEntropy(0.1)(model, Batch()).objective
        loss.backward()
        gradients = [p.grad.flatten() for p in model.parameters() if p.grad is not None]
        assert all(gradient.dtype == torch.float32 for gradient in gradients)
        results.append((loss.item(), torch.cat(gradients)))
    (exact, exact_gradient), (coarse, coarse_gradient) = results
    assert math.isfinite(coarse) and coarse_gradient.isfinite().all()
    if attention != "hard":
        assert coarse == pytest.approx(exact, rel=0.05)
        assert torch.cosine_similarity(exact_gradient, coarse_gradient, dim=0) > 0.9


def test_float32_is_untouched():
    with Precision("float32").autocast():
        assert not torch.is_autocast_enabled("cpu")
    assert Precision("float32").scale == Precision("bf16").scale == 1


def test_auto_takes_bfloat16_where_it_is_faster(monkeypatch):
    for seconds, expected in ((0.1, "bf16"), (0.9, "float32"), (50.0, "float32")):
        monkeypatch.setattr(
            precision, "_seconds", lambda dtype, s=seconds: s if dtype == torch.bfloat16 else 1.0
        )
        assert choose_precision("auto", CPU) == expected


def test_auto_measures_this_machine():
    assert choose_precision("auto", CPU) in ("float32", "bf16")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("half", "precision=half: choose one of float32, bf16, fp16, auto"),
        ("fp16", "precision=fp16 is for GPUs, not for cpu: choose bf16, float32 or auto"),
    ],
)
def test_a_wrong_precision_is_one_clear_line(name, message):
    with pytest.raises(NMTError) as error:
        choose_precision(name, CPU)
    assert str(error.value) == message


def test_the_scale_adapts():
    half = Precision("fp16")
    first = half.scale
    assert half.overflowed(finite=False)
    assert half.scale == first / 2
    for _ in range(2000):
        assert not half.overflowed(finite=True)
    assert half.scale == first
    again = Precision("fp16")
    again.load_state_dict(half.state_dict())
    assert again.scale == half.scale
    half.scale = 1.0
    assert not half.overflowed(finite=False)  # nothing left to lower: this is divergence


def train(path: Path, model: ToyModel, **settings) -> Trainer:
    trainer = toy_trainer(new_run(path), TrainingSettings(max_updates=6, **settings), model=model)
    return trainer


class Unscaled(Precision):
    """float16's rules with float32's arithmetic, so that they can be tested on any machine."""

    def autocast(self):
        return Precision("float32").autocast()


def test_scaling_the_loss_changes_nothing_but_the_range(tmp_path):
    models = []
    for name in ("plain", "scaled"):
        torch.manual_seed(1)
        model = ToyModel(dropout=0.0)
        trainer = train(tmp_path / name, model)
        if name == "scaled":
            trainer.step.gradients.precision = Unscaled("fp16")
        trainer.fit()
        models.append(model)
    for one, other in zip(*(model.parameters() for model in models), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_an_overflowing_update_is_left_out(tmp_path):
    model = ToyModel(dropout=0.0)
    trainer = train(tmp_path / "run", model)
    trainer.step.gradients.precision = Unscaled("fp16")
    trainer.step.precision.scale = 2.0**127  # beyond float32 with the first gradients
    assert trainer.fit().update == 6
    assert trainer.step.precision.scale < 2.0**127
    assert all(parameter.isfinite().all() for parameter in model.parameters())
