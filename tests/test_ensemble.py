"""Models that translate together: the mean of their probabilities, by every way a model is used."""

import pytest
import torch
from small_models import random_batch, small_model

from nmt.data.pieces import BOS_ID, EOS_ID
from nmt.data.tokenizer import TokenizerTrainer
from nmt.decoding.forced import force_decode
from nmt.decoding.search import SearchSettings, beam_search
from nmt.errors import NMTError
from nmt.models.ensemble import ensemble
from nmt.translator.runs import load_models, open_runs


def members():
    return [
        small_model("additive", "bahdanau", seed=1),
        small_model("multihead", "transformer", "transformer", seed=2),
        small_model("coverage", "luong", seed=3, tie_embeddings="none"),
    ]


def same(left, right):
    torch.testing.assert_close(left, right, rtol=1e-9, atol=1e-11)


def test_probabilities_and_weights_are_the_members_means():
    models = members()
    src, mask, tgt = random_batch([5, 3, 1], target_size=6)
    logits, weights = ensemble(models)(src, mask, tgt)
    each = [model(src, mask, tgt) for model in models]
    same(logits.exp(), torch.stack([z.softmax(2) for z, _ in each]).mean(0))
    same(weights, torch.stack([w for _, w in each]).mean(0))


def test_an_ensemble_of_one_or_of_equals_is_the_model():
    model = small_model()
    src, mask, tgt = random_batch([5, 3], target_size=4)
    expected = model(src, mask, tgt)[0].log_softmax(2)
    for count in (1, 3):
        same(ensemble([model] * count)(src, mask, tgt)[0], expected)


def test_members_without_attention_leave_the_weights_to_others():
    src, mask, tgt = random_batch([5, 3], target_size=4)
    mixed = ensemble([small_model("none"), small_model("dot")])
    same(mixed(src, mask, tgt)[1], small_model("dot")(src, mask, tgt)[1])
    assert ensemble([small_model("none")])(src, mask, tgt)[1] is None


@pytest.mark.parametrize("beam_size", [1, 4])
def test_search_reports_what_the_ensemble_says(beam_size):
    model = ensemble(members())
    src, mask, _ = random_batch([6, 2, 4], target_size=1)
    found = beam_search(model.decoder, model.encode(src, mask), SearchSettings(beam_size, beam_size))
    for sentence, hypotheses in enumerate(found):
        for hypothesis in hypotheses:
            tgt_in = torch.tensor([[BOS_ID, *hypothesis.tokens]])
            tgt_out = torch.tensor([[*hypothesis.tokens, EOS_ID]])
            alone = src[[sentence]], mask[[sentence]]
            forced = force_decode(model, *alone, tgt_in, tgt_out, tgt_out >= 0)
            same(
                torch.tensor(hypothesis.token_log_probabilities, dtype=torch.double),
                forced.log_probabilities[0],
            )
            same(hypothesis.weights, forced.weights[0])


# Runs


class Run:
    """A run directory as far as loading goes."""

    def __init__(self, path, tokenizers, model=None):
        self.path, self._tokenizers, self._model = path, tokenizers, model

    def tokenizers(self):
        return self._tokenizers

    def load_model(self, checkpoint, device):
        return self._model


def tokenizers(size, text="je te vois"):
    return TokenizerTrainer(type="bpe", vocabulary_size=size).train([(text, text)] * 20)


def test_runs_of_one_vocabulary_translate_together():
    pair = tokenizers(24)
    runs = [Run(name, pair, small_model(seed=number)) for number, name in enumerate(("a", "b"))]
    made = load_models(runs, "best", torch.device("cpu"))
    src, mask, tgt = random_batch([4], target_size=3)
    same(made(src, mask, tgt)[0], ensemble([run.load_model("", "") for run in runs])(src, mask, tgt)[0])
    assert load_models(runs[:1], "best", torch.device("cpu")) is runs[0].load_model("", "")


@pytest.mark.parametrize("other", [(20, "je te vois"), (24, "tu me dis oui")])
def test_runs_of_other_vocabularies_are_one_clear_line(other):
    with pytest.raises(NMTError, match=r"run=a,b: .* need one target vocabulary, and theirs differ") as error:
        load_models([Run("a", tokenizers(24)), Run("b", tokenizers(*other))], "best", torch.device("cpu"))
    assert "\n" not in str(error.value)


def test_a_list_of_runs_is_read(tmp_path):
    for name in ("a", "b", "c,d"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.yaml").touch()
    assert [run.path.name for run in open_runs(f"{tmp_path}/a,{tmp_path}/b")] == ["a", "b"]
    assert [run.path.name for run in open_runs(tmp_path / "c,d")] == ["c,d"]
    with pytest.raises(NMTError, match="no such run directory"):
        open_runs(f"{tmp_path}/a,{tmp_path}/e")
