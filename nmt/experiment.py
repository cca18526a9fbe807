"""One run from its configuration: corpus, tokenizers, model, training."""

import logging
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt.config import build
from nmt.data.batches import TrainBatches
from nmt.data.corpus import open_training
from nmt.data.encoded import prepare
from nmt.data.tokenizer import TokenizerPair
from nmt.data.vectors import load_vectors
from nmt.device import choose_device
from nmt.evaluation.validation import Validator
from nmt.training.precision import choose_precision
from nmt.training.randomness import seed_everything
from nmt.training.replacing import replacing
from nmt.training.replicas import Replicas, start_replicas
from nmt.training.run_directory import RunDirectory, build_model
from nmt.training.trainer import Trainer

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from nmt.models.seq2seq import Seq2Seq

log = logging.getLogger(__name__)


def train(config: "DictConfig", path: str | Path) -> RunDirectory:
    """Train what `config` (configs/train.yaml, composed) describes in the folder `path`, or continue there.

    With `config.overwrite` a run that is there is replaced as soon as the new one is ready to train. Returns
    the finished run. Raises `KeyboardInterrupt` after Ctrl-C, with everything saved.
    """
    path = Path(path)
    with replacing(path, config.overwrite) as forget_old:
        there = (path / "config.yaml").is_file()
        run = RunDirectory.open(path) if there else RunDirectory.create(path, config)
        with run.hold(), _replicas(config) as replicas:
            trainer = make_trainer(config, run, replicas)
            forget_old()
            trainer.fit()
    return run


def _replicas(config: "DictConfig") -> AbstractContextManager[Replicas | None]:
    """The processes that are to share the work, which start while the data is read."""
    settings = build(config.training)
    tokens = settings.batch_tokens * settings.accumulate
    return start_replicas(config.get("processes"), tokens, choose_device(config.device), config.compile)


def make_trainer(config: "DictConfig", run: RunDirectory, replicas: Replicas | None = None) -> Trainer:
    """What trains the model that `config` describes, in the folder of `run`, with `replicas` if there are."""
    train_corpus, dev_corpus = open_training(config.data)
    tokenizers = _tokenizers(config, run, train_corpus)
    settings = build(config.training)
    cache, longest = config.data.cache_dir, config.data.max_length
    train_pairs = prepare(train_corpus, tokenizers, cache, longest, links=settings.guided_alignment > 0)
    dev_pairs = prepare(dev_corpus, tokenizers, cache, longest)
    seed_everything(config.seed)
    model = build_model(config, tokenizers)
    _load_pretrained(config, model, tokenizers, run)
    device = choose_device(config.device)
    model.to(device)
    if config.compile:
        model.compile_features()
    num_parameters = sum(parameter.numel() for parameter in model.parameters())
    log.info(
        "%d training pairs, %d to validate on; %d parameters%s",
        len(train_pairs),
        len(dev_pairs),
        num_parameters,
        f"; {replicas.number} processes" if replicas else "",
    )
    # Validations are greedy: the trend is the same, at a fraction of the time.
    greedy = replace(build(config.search), beam_size=1, n_best=1)
    return Trainer(
        model=model,
        batches=TrainBatches(train_pairs, settings.batch_tokens, config.seed),
        optimizer=build(config.optimizer),
        schedule=build(config.schedule),
        teacher_forcing=build(config.teacher_forcing),
        settings=settings,
        run=run,
        validate=Validator(
            model,
            tokenizers,
            list(TrainBatches(dev_pairs, settings.batch_tokens, config.seed).epoch(1)),
            list(dev_corpus),
            greedy,
            dev_corpus.links(),
        ),
        seed=config.seed,
        device=device,
        precision=choose_precision(config.precision, device),
        replicas=replicas,
    )


def _tokenizers(config: "DictConfig", run: RunDirectory, corpus: Any) -> TokenizerPair:
    """The run's tokenizers, trained at its start."""
    if not run.tokenizer_path.is_dir():
        build(config.tokenizer).train(corpus).save(run.tokenizer_path)
    return run.tokenizers()


def _load_pretrained(
    config: "DictConfig", model: "Seq2Seq", tokenizers: TokenizerPair, run: RunDirectory
) -> None:
    """Start from the word vectors that `source_vectors` and `target_vectors` name, if this is a new run."""
    if run.status() != "new":
        return
    if config.source_vectors:
        load_vectors(config.source_vectors, tokenizers.source, model.encoder.embedding.weight)
    if config.target_vectors:
        load_vectors(config.target_vectors, tokenizers.target, model.decoder.embedding.weight)
