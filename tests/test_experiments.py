"""Each experiment's file makes a run that could start: composed, checked, and its model built."""

from pathlib import Path

import pytest
import torch
from omegaconf import OmegaConf

from nmt.config import build, check, compose, config_dir
from nmt.experiment import train
from nmt.training.run_directory import RunDirectory

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
    ],
)
def test_published_runs_have_the_published_sizes(experiment, size):
    config = composed(experiment)
    assert (config.model.embedding_size, config.model.hidden_size, config.tokenizer.vocabulary_size) == size


@pytest.fixture
def small_run(tmp_path):
    """A run of a few updates on a few pairs, and its config."""
    (tmp_path / "a.en").write_text(
        "I see you.\nyou see me.\nhe sees her.\nshe sleeps.\n" * 5, encoding="utf-8"
    )
    (tmp_path / "a.fr").write_text(
        "je te vois.\ntu me vois.\nil la voit.\nelle dort.\n" * 5, encoding="utf-8"
    )
    files = [f"data.{split}.{side}={tmp_path}/a.{end}" for split in ("train", "dev") for side, end in
             (("source", "en"), ("target", "fr"))]  # fmt: skip
    return [
        *files,
        f"data.cache_dir={tmp_path}/cache",
        "model.embedding_size=8",
        "model.hidden_size=8",
        "tokenizer.vocabulary_size=60",
        "training.max_updates=4",
        "training.validate_every=2",
        "device=cpu",
    ]


def test_a_run_from_two_text_files(small_run, tmp_path):
    run = train(compose("train", small_run), tmp_path / "run")
    assert run.status() == "finished"
    kinds = [line["kind"] for line in run.metrics()]
    assert kinds.count("validation") == 2
    model = RunDirectory.open(tmp_path / "run").load_model("best")
    assert not model.training


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
