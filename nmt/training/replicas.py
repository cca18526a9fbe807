"""Data parallelism on a CPU: processes that each find the gradient of a share of every batch.

Threads of one process share out each operation, most of which are too small for that; processes share out
the sentences. All see the same weights, in memory that they share, and leave their gradients there. What they
draw at random follows from a number that the trainer draws, so a run continues exactly.
"""

import mmap
import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

import torch
from torch import Tensor, nn

from nmt.allocator import keep_freed_memory
from nmt.errors import NMTError
from nmt.training.gradients import Gradients
from nmt.training.loss import TrainingBatch

_LEAST_TOKENS = 1024  # padded tokens that are worth a process
_MOST = 8  # processes by themselves; each holds PyTorch once more
_ALIGNMENT = 64  # bytes


def supported() -> bool:
    """Whether this system lets processes share memory that belongs to no file (Linux)."""
    try:
        os.close(os.memfd_create("nmt"))
    except (AttributeError, OSError):
        return False
    return True


def choose_processes(asked: int | None, tokens: int, device: torch.device, compiled: bool) -> int:
    """How many processes train on updates of `tokens` padded tokens: as `asked` or, with None, as many as the
    threads of the CPU and the tokens allow; each takes its share of the threads.
    """
    if not (asked is None or (isinstance(asked, int) and asked > 0)):
        raise NMTError(f"processes={asked}: give a whole number, 1 or more, or null for as many as help")
    possible = device.type == "cpu" and supported() and not compiled
    if asked is None:
        return max(1, min(_MOST, torch.get_num_threads(), tokens // _LEAST_TOKENS)) if possible else 1
    if asked > 1 and not possible:
        raise NMTError(f"processes={asked} is for CPUs under Linux and without compile=true: set processes=1")
    return asked


def start_replicas(
    asked: int | None, tokens: int, device: torch.device, compiled: bool
) -> AbstractContextManager["Replicas | None"]:
    """The processes that `choose_processes` chooses; None where it is this one alone."""
    number = choose_processes(asked, tokens, device, compiled)
    return Replicas(number) if number > 1 else nullcontext()


class Replicas:
    """`number` processes, this one included, that share out what `Gradients` are computed from.

    They start at once, in process groups of their own, which Ctrl-C does not reach, and wait for a model. As
    a context manager it ends them; should this process be killed, they end by themselves.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self._threads = torch.get_num_threads()
        self._memory = os.memfd_create("nmt")
        self._connections: list[Connection] = []
        self._processes = []
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        for index in range(1, number):
            ours, theirs = Pipe()
            files = (theirs.fileno(), self._memory)
            command = [sys.executable, "-m", __name__, *map(str, (*files, index, self._share_of_threads))]
            self._processes.append(
                subprocess.Popen(
                    command, env=environment, pass_fds=files, stdin=subprocess.DEVNULL, process_group=0
                )
            )
            self._connections.append(ours)
            theirs.close()

    def __enter__(self) -> "Replicas":
        return self

    def __exit__(self, *exception: object) -> None:
        for connection in self._connections:
            connection.close()  # tells them to end
        for process in self._processes:
            process.terminate()  # those in the middle of something
            process.wait()
        os.close(self._memory)

    @property
    def _share_of_threads(self) -> int:
        return max(1, self._threads // self.number)

    def hold(self, gradients: Gradients) -> None:
        """Give every process the model of `gradients`, and move its weights where all see them.

        From then on the weights may only be changed in place.
        """
        try:
            blob = pickle.dumps(gradients)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise NMTError(
                f"the model cannot be handed to other processes ({error}): set processes=1"
            ) from error
        self._gradients = gradients
        self._parameters = _trained(gradients.model)
        size = sum(map(_room, self._parameters))
        os.ftruncate(self._memory, max(mmap.PAGESIZE, size * self.number))
        weights, *self._others = _views(self._memory, self._parameters, range(self.number))
        for parameter, shared in zip(self._parameters, weights, strict=True):
            shared.copy_(parameter.data)
            parameter.data = shared
        for connection in self._connections:
            self._send(connection, blob)

    def __call__(self, batches: Sequence[TrainingBatch], teacher_forcing_rate: float) -> tuple[float, float]:
        """As `Gradients`; the processes take as many sentences of each batch as they can be given alike."""
        torch.set_num_threads(self._share_of_threads)
        try:
            seed = int(torch.randint(2**62, ()))
            shares = list(zip(*(batch.split(self.number) for batch in batches), strict=True))
            state = [buffer.numpy() for buffer in self._gradients.model.buffers()]
            for number, (connection, share) in enumerate(zip(self._connections, shares[1:], strict=True)):
                task = (seed + number, state, teacher_forcing_rate, share)
                self._send(connection, pickle.dumps(task))
            loss, nll = self._gradients(_present(shares[0]), teacher_forcing_rate)
            for connection, found in zip(self._connections, self._others, strict=True):
                more_loss, more_nll = self._receive(connection)
                loss, nll = loss + more_loss, nll + more_nll
                self._add(found)
        finally:
            torch.set_num_threads(self._threads)
        return loss, nll

    def _add(self, found: list[Tensor]) -> None:
        """Add the gradients that a process `found`."""
        pairs = zip(self._parameters, found, strict=True)
        both = [(parameter.grad, other) for parameter, other in pairs if parameter.grad is not None]
        torch._foreach_add_([own for own, _ in both], [other for _, other in both])

    def _send(self, connection: Connection, blob: bytes) -> None:
        try:
            connection.send_bytes(blob)
        except OSError:
            raise self._loss() from None

    def _receive(self, connection: Connection) -> Any:
        try:
            answer = connection.recv()
        except (EOFError, OSError):
            raise self._loss() from None
        if isinstance(answer, str):
            raise RuntimeError(answer)
        if isinstance(answer, NMTError):
            raise answer
        return answer

    def _loss(self) -> NMTError:
        return NMTError(
            f"one of the {self.number} processes that train was killed, perhaps for want of memory: the same "
            "command continues from the last checkpoint; processes=1 takes less memory"
        )


def _serve(connection: Connection, memory: int, index: int, threads: int) -> None:
    """The life of a process: take a model, then find gradients until nobody asks any more."""
    keep_freed_memory()
    torch.set_num_threads(threads)
    with suppress(EOFError, ConnectionError):  # the trainer is gone
        gradients: Gradients = pickle.loads(connection.recv_bytes())
        parameters = _trained(gradients.model)
        weights, own = _views(memory, parameters, (0, index))
        for parameter, shared in zip(parameters, weights, strict=True):
            parameter.data = shared
        gradients.model.train()
        while True:
            seed, state, teacher_forcing_rate, batches = pickle.loads(connection.recv_bytes())
            torch.manual_seed(seed)
            for buffer, value in zip(gradients.model.buffers(), state, strict=True):
                buffer.copy_(torch.from_numpy(value))
            answer: Any
            try:
                answer = gradients(_present(batches), teacher_forcing_rate)
            except NMTError as error:
                answer = error
            except Exception:  # noqa: BLE001 (raised again by the trainer)
                answer = traceback.format_exc()
            for parameter, found in zip(parameters, own, strict=True):
                if parameter.grad is None:
                    found.zero_()
                else:
                    found.copy_(parameter.grad)
                parameter.grad = None
            connection.send(answer)


def _present(batches: Sequence[TrainingBatch]) -> list[TrainingBatch]:
    """Those of `batches` that have sentences."""
    return [batch for batch in batches if len(batch.src)]


def _trained(model: nn.Module) -> list[nn.Parameter]:
    return [parameter for parameter in model.parameters() if parameter.requires_grad and parameter.numel()]


def _room(parameter: Tensor) -> int:
    """Bytes that `parameter` takes, up to where the next may begin."""
    return -(-parameter.numel() * parameter.element_size() // _ALIGNMENT) * _ALIGNMENT


def _views(memory: int, parameters: Sequence[Tensor], indices: Sequence[int]) -> list[list[Tensor]]:
    """Tensors like the `parameters` in the file `memory`, for each of `indices`: 0 = the weights, then each
    process's gradients.
    """
    mapped = mmap.mmap(memory, 0)
    size = sum(map(_room, parameters))
    every = []
    for index in indices:
        offset, views = index * size, []
        for parameter in parameters:
            flat = torch.frombuffer(mapped, dtype=parameter.dtype, count=parameter.numel(), offset=offset)
            views.append(flat.view(parameter.shape))
            offset += _room(parameter)
        every.append(views)
    return every


if __name__ == "__main__":
    _serve(Connection(int(sys.argv[1])), *map(int, sys.argv[2:]))
