"""Each experiment's file makes a run that could start: composed, checked, and its model built."""

from pathlib import Path

import pytest
import torch
from omegaconf import OmegaConf

from nmt.config import build, check, compose, config_dir
from nmt.experiment import train
from nmt.training.run_directory import RunDirectory
from nmt.translator import Translator

EXPERIMENTS = sorted(path.stem for path in (Path(config_dir()) / "experiment").glob("*.yaml"))


def composed(experiment, *overrides):
    data = ["data.dir=/nowhere"] if "multi30k" in experiment else []
    return compose("train", [f"experiment={experiment}", *data, *overrides])


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_every_experiment_builds_its_model(experiment):
    config = composed(experiment)
    check(config)
    with torch.device("meta"):  # shapes without memory: some are of the papers' size
        model = build(
            config.model,
            encoder=build(config.encoder),
            decoder=build(config.decoder),
            attention=build(config.attention),
            source_vocabulary_size=config.tokenizer.vocabulary_size,
            target_vocabulary_size=config.tokenizer.target_vocabulary_size
            or config.tokenizer.vocabulary_size,
            joint_vocabulary=config.tokenizer.joint,
        )
    assert sum(parameter.numel() for parameter in model.parameters()) > 1e6
    assert model.decoder.embedding.embedding_dim == config.model.embedding_size
    for group in ("training", "schedule", "search", "tokenizer"):
        build(config[group])


@pytest.mark.parametrize(
    ("experiment", "size"),
    [
        ("bahdanau_en_fr", (620, 1000, 30000)),
        ("luong_en_fr", (1000, 1000, 50000)),
        ("textbook_en_fr", (300, 500, 9000)),
        ("vaswani_en_fr", (512, 512, 32000)),
        ("transformer_tiny_multi30k", (128, 128, 10000)),
    ],
)
def test_published_runs_have_the_published_sizes(experiment, size):
    config = composed(experiment)
    assert (config.model.embedding_size, config.model.hidden_size, config.tokenizer.vocabulary_size) == size


PARTS = {
    ("model=transformer",): ("TransformerEncoder", "TransformerDecoder", "MultiHeadAttention"),
    ("model=transformer", "attention=additive"): (
        "TransformerEncoder",
        "TransformerDecoder",
        "AdditiveAttention",
    ),
    ("model=transformer", "encoder=birnn"): ("RNNEncoder", "TransformerDecoder", "MultiHeadAttention"),
    ("model=birnn_transformer",): ("RNNEncoder", "TransformerDecoder", "MultiHeadAttention"),
    ("model=transformer_rnn",): ("TransformerEncoder", "UpdateThenAttend", "MultiHeadAttention"),
    ("model=rnn", "encoder=transformer"): ("TransformerEncoder", "UpdateThenAttend", "AdditiveAttention"),
    ("model=rnn", "decoder=transformer"): ("RNNEncoder", "TransformerDecoder", "AdditiveAttention"),
    ("decoder=bahdanau",): ("RNNEncoder", "AttendThenUpdate", "AdditiveAttention"),
}


@pytest.mark.parametrize("overrides", PARTS)
def test_models_are_put_together_on_the_command_line(overrides):
    config = compose("train", overrides)
    check(config)
    groups = ("encoder", "decoder", "attention")
    assert tuple(build(config[group]).func.__name__ for group in groups) == PARTS[overrides]


@pytest.mark.parametrize(
    ("preset", "layers", "sizes"),
    [
        ("transformer", 4, (128, 256, 4)),
        ("transformer_tiny", 4, (128, 256, 4)),
        ("transformer_small", 3, (256, 1024, 4)),
        ("transformer_base", 6, (512, 2048, 8)),
        ("transformer_big", 6, (1024, 4096, 16)),
    ],
)
def test_presets_have_their_sizes_in_every_experiment(preset, layers, sizes):
    for experiment in ("default", "transformer_demo"):
        config = compose("train", [f"model={preset}", f"experiment={experiment}"])
        with torch.device("meta"):
            model = build(
                config.model,
                encoder=build(config.encoder),
                decoder=build(config.decoder),
                attention=build(config.attention),
                source_vocabulary_size=50,
                target_vocabulary_size=50,
                joint_vocabulary=True,
            )
        for side in (model.encoder, model.decoder):
            assert len(side.layers) == layers
            layer = side.layers[0]
            inner = layer.feed_forward.output_map.in_features
            assert (layer.self_attention.size, inner, layer.self_attention.num_heads) == sizes
        assert model.decoder.layers[0].attention.num_heads == sizes[2]


def test_a_run_from_two_text_files(small_run, tmp_path):
    run = train(compose("train", small_run), tmp_path / "run")
    assert run.status() == "finished"
    kinds = [line["kind"] for line in run.metrics()]
    assert kinds.count("validation") == 2
    model = RunDirectory.open(tmp_path / "run").load_model("best")
    assert not model.training


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_a_transformer_from_two_text_files(small_run, tmp_path, precision):
    overrides = ["model=transformer", f"precision={precision}", "training.average=last"]
    run = train(compose("train", [*small_run, *overrides, "training.keep_checkpoints=2"]), tmp_path / "run")
    assert run.status() == "finished"
    assert run.load_model("average").decoder.projection.weight.dtype == torch.float32
    alignment = Translator.load(tmp_path / "run").align("I see you.", "je te vois.")
    assert alignment.weights.shape == (4, 4)


def test_the_same_seed_makes_the_same_run(small_run, tmp_path):
    runs = [train(compose("train", small_run), tmp_path / name) for name in ("one", "two")]
    weights = [run.load_model("last").state_dict() for run in runs]
    assert all(torch.equal(weights[0][key], weights[1][key]) for key in weights[0])


def test_embeddings_start_from_given_vectors(small_run, tmp_path):
    (tmp_path / "vectors").write_text("sleeps " + "7 " * 8 + "\n", encoding="utf-8")
    options = [
        f"source_vectors={tmp_path}/vectors",
        "tokenizer=word",
        "optimizer.lr=0",
        "model.tie_embeddings=none",
    ]
    run = train(compose("train", [*small_run, *options]), tmp_path / "run")
    row = run.tokenizers().source.piece_to_id("▁sleeps")
    assert run.load_model("last").encoder.embedding.weight[row].tolist() == [7.0] * 8
    assert OmegaConf.select(run.config(), "source_vectors").endswith("vectors")
