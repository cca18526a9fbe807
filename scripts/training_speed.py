"""Training speed beside `transformers`: real target tokens a second on the very same batches, in turns.

    python -m scripts.training_speed MULTI30K_FOLDER
    python -m scripts.training_speed MULTI30K_FOLDER --threads 2 --precision bf16 --updates 60

Models: Transformer tiny (4 + 4 layers, 128/256, 4 heads) and small (3 + 3, 256/1024, 4 heads), post-norm,
each beside a model of theirs with the same weights (`scripts.twin_model`), and the attentive RNN (256/512),
which has no peer there. A joint vocabulary of 8000 pieces; batches of at most 4096 padded tokens on the
larger side.

An update is forward, label-smoothed cross-entropy, backward, clipping of the gradient and a fused Adam step,
dropout 0.1. Ours is the trainer's own, as nmt-train runs it, with as many processes; theirs is what a
training loop with PyTorch's fused cross_entropy and no cache of keys does. Both use the memory allocator's
thresholds that nmt-train sets. Each batch is timed for ours, then theirs; the ratio is the median of those of
the batches, so that a busy machine slows both alike.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import torch
from torch.nn import functional

from nmt.allocator import keep_freed_memory
from nmt.config import build, compose
from nmt.data.batches import Batch, TrainBatches
from nmt.data.corpus import open_training
from nmt.data.encoded import prepare
from nmt.data.pieces import PAD_ID
from nmt.training.precision import Precision
from nmt.training.replicas import Replicas, start_replicas
from nmt.training.run_directory import RunDirectory, build_model
from nmt.training.trainer import Trainer
from scripts import twin_model
from scripts.attention_table import table

POST_NORM = ("encoder.norm=post", "decoder.norm=post", "model.dropout=0.1")
MODELS = {
    "transformer tiny": ("model=transformer_tiny", *POST_NORM),
    "transformer small": ("model=transformer_small", *POST_NORM),
    "attentive RNN": ("model=rnn", "model.dropout=0.1"),
}
WARM_UP = 3  # batches that are not counted

Update = Callable[[Batch], None]


class Timed(NamedTuple):
    """What the updates of one model took."""

    tokens: int  # real target tokens
    ours: list[float]  # seconds an update
    theirs: list[float]  # none without a peer

    def row(self, name: str) -> list[str]:
        speeds = [f"{self.tokens / sum(times):,.0f}" if times else "–" for times in (self.ours, self.theirs)]
        ratios = [theirs / ours for ours, theirs in zip(self.ours, self.theirs, strict=False)]
        return [name, *speeds, f"{median(ratios):.2f}" if ratios else "–"]


class Data(NamedTuple):
    """Multi30k in pieces."""

    pairs: Any
    tokenizers: Any


def configured(folder: str, settings: tuple[str, ...]) -> Any:
    """The training config of `settings` on the corpus in `folder`."""
    return compose("train", ["data=multi30k", f"data.dir={folder}", "experiment=default", *settings])


def read(folder: str) -> Data:
    """The training pairs, with pieces learned from them."""
    config = configured(folder, ())
    corpus, _ = open_training(config.data)
    tokenizers = build(config.tokenizer).train(corpus)
    return Data(prepare(corpus, tokenizers, config.data.cache_dir, config.data.max_length), tokenizers)


def our_update(
    config: Any, model: Any, batches: TrainBatches, precision: str, run: Path, replicas: Replicas | None
) -> Update:
    """What nmt-train does with a batch, in as many processes."""
    trainer = Trainer(
        model=model,
        batches=batches,
        optimizer=build(config.optimizer),
        schedule=build(config.schedule),
        settings=replace(build(config.training), max_updates=1),
        run=RunDirectory.create(run, config),
        precision=precision,
        replicas=replicas,
    )
    model.train()
    return lambda batch: trainer.update([batch])


def their_update(config: Any, twin: Any, precision: Precision) -> Update:
    """What a training loop does with `twin` and a batch."""
    optimizer = build(config.optimizer)(twin.parameters())
    settings = build(config.training)
    twin.train()

    def update(batch: Batch) -> None:
        with precision.autocast():
            logits = twin(
                input_ids=batch.src,
                attention_mask=batch.src_mask,
                decoder_input_ids=batch.tgt_in,
                use_cache=False,
            ).logits
            loss = functional.cross_entropy(
                logits.flatten(0, 1),
                batch.tgt_out.flatten(),
                ignore_index=PAD_ID,
                label_smoothing=settings.label_smoothing,
            )
        loss.backward()
        torch.nn.utils.clip_grad_norm_(twin.parameters(), settings.clip_norm)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return update


def seconds(update: Update, batch: Batch) -> float:
    started = time.perf_counter()
    update(batch)
    return time.perf_counter() - started


def measure(updates: list[Update], batches: Iterator[Batch]) -> Timed:
    """`updates` (ours and, where there is one, theirs) in turns over `batches`."""
    tokens, times = 0, []
    for number, batch in enumerate(batches):
        taken = [seconds(update, batch) for update in updates]
        if number >= WARM_UP:
            tokens += batch.num_target_tokens
            times.append(taken)
    ours, *theirs = (list(each) for each in zip(*times, strict=True))
    return Timed(tokens, ours, theirs[0] if theirs else [])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", help="with train.en, train.fr, val.en and val.fr of Multi30k")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--processes", type=int, help="of ours; by default as many as nmt-train takes")
    parser.add_argument("--precision", choices=("float32", "bf16"), default="float32")
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--updates", type=int, default=40)
    arguments = parser.parse_args()
    keep_freed_memory()
    torch.set_num_threads(arguments.threads)
    compared = twin_model.installed()
    if not compared:
        print("transformers is not installed (pip install transformers): only our models are measured\n")
    data = read(arguments.folder)
    batches = TrainBatches(data.pairs, arguments.batch_tokens, seed=1)
    precision = Precision(arguments.precision)
    rows = []
    for name in arguments.models:
        config = configured(arguments.folder, MODELS[name])
        torch.manual_seed(1)
        model = build_model(config, data.tokenizers)
        theirs = []
        if compared and "transformer" in name:
            twin = twin_model.twin_of(model, config.model.dropout)
            theirs = [their_update(config, twin, precision)]
        sharing = start_replicas(
            arguments.processes, arguments.batch_tokens, torch.device("cpu"), compiled=False
        )
        with tempfile.TemporaryDirectory() as folder, sharing as replicas:
            run = Path(folder) / "run"
            ours = our_update(config, model, batches, arguments.precision, run, replicas)
            timed = measure([ours, *theirs], islice(batches.epoch(1), WARM_UP + arguments.updates))
        rows.append(timed.row(name))
    print(f"Real target tokens a second, {arguments.threads} threads, {arguments.precision}:\n")
    print(table(["model", "nmt", "transformers", "ratio"], rows))


if __name__ == "__main__":
    main()
