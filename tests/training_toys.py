"""A model and batches that train in milliseconds, with all that can go wrong: dropout, tying, padding."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from omegaconf import OmegaConf
from torch import Tensor, nn

from nmt.training.replicas import Replicas
from nmt.training.run_directory import RunDirectory
from nmt.training.schedules import Plateau, Schedule
from nmt.training.settings import TrainingSettings
from nmt.training.trainer import Sample, Trainer, TrainingBatches, Validation

VOCABULARY_SIZE = 13


class Features(NamedTuple):
    hidden: Tensor


class ToyDecoder(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.output = nn.Linear(size, VOCABULARY_SIZE)

    def attention_loss(
        self, features: Features, targets: Tensor, log_likelihood: Tensor, mask: Tensor
    ) -> None:
        return None


class ToyModel(nn.Module):
    """Knows the source by its masked mean and the target by its last token; output and embedding are tied."""

    def __init__(self, size: int = 8, dropout: float = 0.2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY_SIZE, size)
        self.dropout = nn.Dropout(dropout)
        self.decoder = ToyDecoder(size)
        self.decoder.output.weight = self.embedding.weight

    def features(
        self, src: Tensor, src_mask: Tensor, tgt_in: Tensor, rate: float = 1.0, need_weights: bool = True
    ) -> Features:
        mask = src_mask.unsqueeze(2).to(self.embedding.weight.dtype)
        source = (self.embedding(src) * mask).sum(1, keepdim=True) / mask.sum(1, keepdim=True)
        return Features(self.dropout(torch.tanh(source + self.embedding(tgt_in))))


class ToyBatch(NamedTuple):
    src: Tensor
    src_mask: Tensor
    tgt_in: Tensor
    tgt_out: Tensor
    tgt_mask: Tensor

    @property
    def num_target_tokens(self) -> int:
        return int(self.tgt_mask.sum())

    def to(self, device: Any) -> "ToyBatch":
        return ToyBatch(*(tensor.to(device) for tensor in self))

    def split(self, number: int) -> list["ToyBatch"]:
        return [ToyBatch(*(tensor[first::number] for tensor in self)) for first in range(number)]


def toy_batch(seed: int, sentences: int = 3, longest: int = 5) -> ToyBatch:
    """Random sentences of random lengths, padded with 0."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(1, VOCABULARY_SIZE, (3, sentences, longest), generator=generator)
    lengths = torch.randint(1, longest + 1, (2, sentences, 1), generator=generator)
    src_mask, tgt_mask = (torch.arange(longest) < length for length in lengths)
    return ToyBatch(tokens[0] * src_mask, src_mask, tokens[1] * tgt_mask, tokens[2] * tgt_mask, tgt_mask)


def stack(batches: list[ToyBatch]) -> ToyBatch:
    """The sentences of all `batches` in one."""
    return ToyBatch(*(torch.cat(tensors) for tensors in zip(*batches, strict=True)))


class ToyBatches:
    def __init__(self, size: int = 5) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def epoch(self, number: int, start: int = 0) -> Iterator[ToyBatch]:
        return (toy_batch(1000 * number + index) for index in range(start, self.size))


def noisy_validation(model: nn.Module) -> Validation:
    """The norm of the weights times chance, as "bleu"."""
    norm = sum(parameter.detach().double().norm().item() for parameter in model.parameters())
    return Validation({"loss": 1.0, "bleu": norm * torch.rand(()).item()}, [Sample("a", "b", "c")])


def toy_trainer(
    run: RunDirectory,
    settings: TrainingSettings,
    *,
    schedule: Schedule | None = None,
    validate: Callable[[nn.Module], Validation] | None = noisy_validation,
    batches: TrainingBatches | None = None,
    model: nn.Module | None = None,
    replicas: Replicas | None = None,
) -> Trainer:
    """A trainer of a fresh `ToyModel`; `validate` is given the model."""
    torch.manual_seed(5)
    model = model or ToyModel()
    return Trainer(
        model=model,
        batches=ToyBatches() if batches is None else batches,
        optimizer=lambda parameters: torch.optim.Adam(parameters, lr=0.05),
        schedule=schedule or Plateau(patience=1, warmup_updates=6),
        settings=settings,
        run=run,
        validate=validate and (lambda: validate(model)),
        seed=7,
        replicas=replicas,
    )


def new_run(path: Path) -> RunDirectory:
    return RunDirectory.create(path, OmegaConf.create({"seed": 7}))
