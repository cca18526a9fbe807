"""Processes that share a batch find the gradient that one finds, and a run of theirs continues exactly."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_models import VOCABULARY_SIZE, small_model
from training_toys import ToyBatches, ToyModel, new_run, toy_trainer

from nmt.data.batches import Batch, make_batch
from nmt.errors import NMTError
from nmt.training.gradients import Gradients
from nmt.training.loss import LabelSmoothedCrossEntropy
from nmt.training.precision import Precision
from nmt.training.replicas import Replicas, choose_processes, supported
from nmt.training.run_directory import RunDirectory
from nmt.training.settings import TrainingSettings
from nmt.training.trainer import Trainer

CPU = torch.device("cpu")
needs_support = pytest.mark.skipif(not supported(), reason="needs memory that processes share (Linux)")


@pytest.mark.parametrize(
    ("asked", "threads", "tokens", "processes"),
    [
        (None, 1, 4096, 1),
        (None, 2, 4096, 2),
        (None, 16, 32768, 8),
        (None, 4, 2048, 2),
        (None, 4, 2000, 1),
        (3, 1, 100, 3),
        (1, 8, 4096, 1),
    ],
)
@needs_support
def test_how_many_processes(asked: int | None, threads: int, tokens: int, processes: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        assert choose_processes(asked, tokens, CPU, compiled=False) == processes
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(("device", "compiled"), [("cuda", False), ("cpu", True)])
def test_where_there_is_one_process(device: str, compiled: bool) -> None:
    assert choose_processes(None, 4096, torch.device(device), compiled) == 1
    with pytest.raises(NMTError, match="processes=2 is for CPUs"):
        choose_processes(2, 4096, torch.device(device), compiled)


@pytest.mark.parametrize("asked", [0, -1, 1.5, "many"])
def test_processes_are_counted(asked: Any) -> None:
    with pytest.raises(NMTError, match="processes=.*: give a whole number"):
        choose_processes(asked, 4096, CPU, compiled=False)


def random_batch(sentences: int, seed: int) -> Batch:
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 8, (sentences, 2))
    return make_batch([tuple(random.integers(4, VOCABULARY_SIZE, size) for size in pair) for pair in lengths])


def gradients_of(model: torch.nn.Module) -> Gradients:
    return Gradients(model.train(), LabelSmoothedCrossEntropy(0.1), Precision())


@needs_support
@pytest.mark.parametrize(
    ("attention", "decoder", "encoder", "number"),
    [
        ("additive", "bahdanau", "birnn", 2),
        ("hard", "luong", "birnn", 2),
        ("multihead", "transformer", "transformer", 3),
    ],
)
def test_the_gradient_is_that_of_one_process(attention: str, decoder: str, encoder: str, number: int) -> None:
    groups = [[random_batch(7, 1)], [random_batch(4, 2), random_batch(1, 3)]]
    if attention == "hard":  # which draws its words at random: only one is left to draw
        groups = [
            [batch._replace(src=batch.src[:, :1], src_mask=batch.src_mask[:, :1]) for batch in group]
            for group in groups
        ]
    alone, shared = (gradients_of(small_model(attention, decoder, encoder, dropout=0.0)) for _ in range(2))
    with Replicas(number) as replicas:
        replicas.hold(shared)
        for group in groups:
            found, expected = replicas(group, 1.0), alone(group, 1.0)
            assert found == pytest.approx(expected, rel=1e-12)
            for (name, own), other in zip(
                shared.model.named_parameters(), alone.model.parameters(), strict=True
            ):
                torch.testing.assert_close(own.grad, other.grad, msg=name)
            for model in (shared.model, alone.model):  # an update, which all must see
                with torch.no_grad():
                    for parameter in model.parameters():
                        if parameter.grad is not None:
                            parameter -= 0.1 * parameter.grad
                            parameter.grad = None
        processes = replicas._processes
    assert all(process.poll() is not None for process in processes)


SETTINGS = TrainingSettings(max_updates=12, validate_every=5, save_every=3)


class Interrupting(ToyBatches):
    """Asks its trainer to stop after a batch."""

    def __init__(self, trainer: Trainer, batch: int) -> None:
        super().__init__()
        self.trainer = trainer
        self.batch = batch

    def epoch(self, number: int, start: int = 0) -> Iterator[Any]:
        for index, batch in enumerate(super().epoch(number, start), start=start):
            if (number - 1) * self.size + index == self.batch:
                self.trainer.interruption.requested = True
            yield batch


def fit(run: RunDirectory, interrupted_after: int | None = None) -> list[torch.Tensor]:
    """The weights that two processes train in `run`."""
    with Replicas(2) as replicas:
        trainer = toy_trainer(run, SETTINGS, replicas=replicas)
        if interrupted_after is None:
            trainer.fit()
        else:
            trainer.batches = Interrupting(trainer, interrupted_after)
            with pytest.raises(KeyboardInterrupt):
                trainer.fit()
    return [parameter.detach().clone() for parameter in trainer.model.parameters()]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> list[torch.Tensor]:
    return fit(new_run(tmp_path_factory.mktemp("whole") / "run"))


@needs_support
@pytest.mark.parametrize("batch", [2, 8])
def test_a_stopped_and_continued_run_equals_an_uninterrupted_one(
    tmp_path: Path, uninterrupted: list[torch.Tensor], batch: int
) -> None:
    run = new_run(tmp_path / "run")
    assert not all(map(torch.equal, fit(run, batch), uninterrupted))
    assert all(map(torch.equal, fit(run), uninterrupted))


class Failing(ToyModel):
    """Fails everywhere but in the process where it was made."""

    def __init__(self, error: Exception | None) -> None:
        super().__init__()
        self.error = error
        self.home = os.getpid()

    def features(self, *arguments: Any, **options: Any) -> Any:
        if os.getpid() != self.home:
            if self.error is None:
                os.kill(os.getpid(), signal.SIGKILL)
            raise self.error or MemoryError
        return super().features(*arguments, **options)


@needs_support
@pytest.mark.parametrize(
    ("error", "told", "message"),
    [
        (NMTError("no good"), NMTError, "no good"),
        (ValueError("odd"), RuntimeError, "ValueError: odd"),
        (None, NMTError, "one of the 2 processes that train was killed"),
    ],
)
def test_what_happens_to_a_process_is_told(
    tmp_path: Path, error: Exception | None, told: type[Exception], message: str
) -> None:
    settings = TrainingSettings(max_updates=3)
    with Replicas(2) as replicas, pytest.raises(told, match=message):
        toy_trainer(new_run(tmp_path / "run"), settings, model=Failing(error), replicas=replicas).fit()


@needs_support
def test_a_model_that_cannot_be_handed_on_is_told() -> None:
    model = ToyModel()
    model.odd = lambda: None
    with Replicas(1) as replicas, pytest.raises(NMTError, match="set processes=1"):
        replicas.hold(gradients_of(model))


@needs_support
def test_processes_end_with_a_trainer_that_is_killed() -> None:
    code = (
        "import time; from nmt.training.replicas import Replicas\n"
        "replicas = Replicas(2); print(replicas._processes[0].pid, flush=True); time.sleep(60)"
    )
    trainer = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert trainer.stdout is not None
    process = int(trainer.stdout.readline())
    trainer.kill()
    trainer.wait()
    for _ in range(300):
        state = Path(f"/proc/{process}/stat")
        if not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return
        time.sleep(0.1)
    os.kill(process, signal.SIGKILL)
    pytest.fail("the process lives on")
