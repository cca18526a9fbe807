"""One translator, or several processes with one each, for streams of lines; order kept.

What a line becomes is worked out where it is translated, so that only lines and results travel between
processes. Windows are those of a single process, so the results are, too.
"""

import os
import queue
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from typing import Any

from nmt.data.ahead import read_ahead
from nmt.errors import NMTError
from nmt.translator.requests import Request
from nmt.translator.translation import Translation
from nmt.translator.translator import Translator

Render = Callable[[int, Translation], Any]
Load = Callable[[], Translator]
Translating = Callable[[Iterable[Request], Render], Iterator[Any]]

_AHEAD = 2  # windows that wait for each worker
_PAUSE = 0.2  # seconds between two looks whether anybody still wants results

_worker: dict[str, Any] = {}  # what a worker process has loaded


@contextmanager
def translating(load: Load, workers: int, threads: int | None) -> Iterator[Translating]:
    """A function that yields ``render(number, translation)`` for each request, in order, from 0.

    `load` gives a translator; it and `render` must be picklable where there are several `workers`. Each uses
    `threads` of the CPU: by default all there are, shared out.
    """
    if workers < 1 or not (threads is None or (isinstance(threads, int) and threads > 0)):
        raise NMTError(f"workers={workers} threads={threads}: give a whole number of each, 1 or more")
    if workers == 1:
        yield _Alone(_loaded(load, threads))
        return
    threads = threads or max(1, (os.cpu_count() or 1) // workers)
    pool = ProcessPoolExecutor(
        workers, get_context("spawn"), initializer=_prepare_worker, initargs=(load, threads)
    )
    try:
        yield _Together(pool, workers)
        pool.shutdown()
    except BaseException:
        for process in active_children():
            process.terminate()
        pool.shutdown(wait=False, cancel_futures=True)
        raise


class _Alone:
    """Translates in this process."""

    def __init__(self, translator: Translator) -> None:
        self._translator = translator

    def __call__(self, requests: Iterable[Request], render: Render) -> Iterator[Any]:
        return (render(number, each) for number, each in enumerate(self._translator.translations(requests)))


class _Together:
    """Hands windows to the workers of `pool`."""

    def __init__(self, pool: ProcessPoolExecutor, workers: int) -> None:
        self._pool = pool
        self._workers = workers

    def __call__(self, requests: Iterable[Request], render: Render) -> Iterator[Any]:
        # A thread hands out windows, so that results are there for the taking while the input pauses.
        line: queue.Queue[Future[list[Any]] | BaseException | None] = queue.Queue(_AHEAD * self._workers)
        stopped = threading.Event()
        hand_out = threading.Thread(
            target=self._hand_out, args=(requests, render, line, stopped), daemon=True
        )
        hand_out.start()
        try:
            while (message := line.get()) is not None:
                if isinstance(message, BaseException):
                    raise message
                yield from message.result()
        except BrokenProcessPool:
            raise NMTError(
                f"workers={self._workers}: one of them was killed, perhaps for want of memory: give fewer"
            ) from None
        finally:
            stopped.set()

    def _hand_out(
        self, requests: Iterable[Request], render: Render, line: queue.Queue[Any], stopped: threading.Event
    ) -> None:
        def put(message: Any) -> None:
            while not stopped.is_set():
                try:
                    return line.put(message, timeout=_PAUSE)
                except queue.Full:
                    continue

        first = 0
        try:
            for window in read_ahead(requests):
                if stopped.is_set():
                    return
                put(self._pool.submit(_work, window, first, render))
                first += len(window)
            put(None)
        except BaseException as error:  # noqa: BLE001 (raised again in the consumer)
            put(error)


def _prepare_worker(load: Load, threads: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that hands out work
    _worker.update(load=load, threads=threads)


def _work(window: list[Request], first: int, render: Render) -> list[Any]:
    """The results for `window`; the first call loads the translator, whose mistakes so reach the user."""
    if "translator" not in _worker:
        _worker["translator"] = _loaded(_worker["load"], _worker["threads"])
    found = _worker["translator"].translate_window(window, first + 1)
    return [render(first + offset, translation) for offset, translation in enumerate(found)]


def _loaded(load: Load, threads: int | None) -> Translator:
    import torch

    if threads is not None:
        torch.set_num_threads(threads)
    return load()
