"""Batches side by side on the threads of a CPU.

Decoding is many small operations, which gain little from several threads each: a thread with a batch of its
own wastes less than all threads on one batch.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


def side_by_side(
    work: Callable[[Item], Result], items: Sequence[Item], device: torch.device
) -> Iterator[Result]:
    """`work` of each of the `items`, in order; on a CPU of several together, which share out its threads.

    An error, or Ctrl-C, waits for what is being worked on and leaves out the rest.
    """
    threads = torch.get_num_threads()
    lanes = min(threads, len(items)) if device.type == "cpu" else 1
    if lanes < 2:
        yield from map(work, items)
        return
    pool = ThreadPoolExecutor(lanes, initializer=torch.set_num_threads, initargs=(threads // lanes,))
    try:
        yield from pool.map(work, items)
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)  # what a thread is given holds for those that come after it, too
