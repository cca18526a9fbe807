"""What attentions cost as sources grow: training and decoding steps timed in turns, memory counted.

    python -m scripts.attention_cost additive dot --lengths 10 25 50 100 200 400
    python -m scripts.attention_cost local_p general --lengths 50 200 800

Sizes are the demo's: states, annotations and the hidden layer of 256. A training step attends with T = S
queries for each of 16 sentences, forwards and backwards, keys included; a decoding step attends with 5
hypotheses a sentence on a source prepared before. Times are medians of rounds in which all attentions take
turns, so that a busy machine slows all of them alike; memory is what the operations of one decoding step
allocate, all together.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch
from omegaconf import OmegaConf
from torch.utils._python_dispatch import TorchDispatchMode

from nmt.attention import Attention
from nmt.config import build, config_dir
from scripts.attention_table import table

SIZE, SENTENCES, HYPOTHESES = 256, 16, 5


def make(name: str) -> Attention:
    """The attention of configs/attention/NAME.yaml."""
    config: Any = OmegaConf.load(Path(config_dir()) / "attention" / f"{name}.yaml")
    return build(config)(query_size=SIZE, annotation_size=SIZE)


def training_step(attention: Attention, length: int) -> Callable[[], None]:
    """Attend with `length` queries to `length` annotations, forwards and backwards."""
    query, annotations = (torch.randn(SENTENCES, length, SIZE, requires_grad=True) for _ in range(2))
    mask = torch.ones(SENTENCES, length, dtype=torch.bool)

    def step() -> None:
        attention.train()(query, annotations, mask)[0].sum().backward()

    return step


def decoding_step(attention: Attention, length: int) -> Callable[[], None]:
    """Attend with one query a hypothesis to a prepared source of `length` annotations."""
    attention.eval()
    mask = torch.ones(SENTENCES, length, dtype=torch.bool)
    with torch.no_grad():
        source = attention.prepare(torch.randn(SENTENCES, length, SIZE), mask)
    query = torch.randn(SENTENCES, HYPOTHESES, SIZE)
    memo = attention.start(source)

    @torch.no_grad()
    def step() -> None:
        attention.eval().attend(query, source, memo, need_weights=False)

    return step


def milliseconds(steps: list[Callable[[], None]], rounds: int) -> list[float]:
    """The median time of each of `steps`, which take turns."""
    times: list[list[float]] = [[] for _ in steps]
    for number in range(rounds + 2):
        for step, list_ in zip(steps, times, strict=True):
            start = time.perf_counter()
            step()
            if number >= 2:
                list_.append(1000 * (time.perf_counter() - start))
    return [median(list_) for list_ in times]


class Allocations(TorchDispatchMode):
    """Counts the bytes of all new memory that operations inside it return."""

    total = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        old = {arg.untyped_storage().data_ptr() for arg in args if isinstance(arg, torch.Tensor)}
        for tensor in out if isinstance(out, tuple | list) else (out,):
            if isinstance(tensor, torch.Tensor) and tensor.untyped_storage().data_ptr() not in old:
                self.total += tensor.untyped_storage().nbytes()
        return out


def allocated(step: Callable[[], None]) -> int:
    """Bytes that the operations of `step` allocate in all."""
    with Allocations() as allocations:
        step()
    return allocations.total


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("attentions", nargs="+")
    parser.add_argument("--lengths", nargs="+", type=int, default=[10, 25, 50, 100, 200, 400])
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    torch.manual_seed(1)
    names, attentions = arguments.attentions, [make(name) for name in arguments.attentions]
    rows = []
    for length in arguments.lengths:
        training = [training_step(attention, length) for attention in attentions]
        decoding = [decoding_step(attention, length) for attention in attentions]
        trained, decoded = (
            milliseconds(training, arguments.rounds),
            milliseconds(decoding, 5 * arguments.rounds),
        )
        kilobytes = [f"{allocated(step) / 1000:,.0f}" for step in decoding]
        rows.append([str(length), *(f"{value:.2f}" for value in trained + decoded), *kilobytes])
    kinds = ("training, ms", "decoding, ms", "decoding, kB")
    print(table(["S", *(f"{name}: {kind}" for kind in kinds for name in names)], rows))


if __name__ == "__main__":
    main()
