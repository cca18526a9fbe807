"""Reading ahead of a consumer, so that it can sort what it gets, without making it wait."""

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")

_FIRST = 64  # items of the first window: answers start early
_LARGEST = 1024  # items of the last ones: windows double until then
_PAUSE = 0.05  # seconds without a new item after which a window is handed on as it is


def read_ahead(items: Iterable[Item]) -> Iterator[list[Item]]:
    """The `items` in windows, at least one in each, read by a thread of their own.

    A window holds 64 items, the next 128, and so on up to 1,024. It is handed on before it is full only when
    the source pauses, so a file always gives the same windows, and who types a line gets an answer to it.
    What the source raises is raised here, after everything that it gave before.
    """
    if isinstance(items, list | tuple):
        yield from _windows_of_list(items)
        return
    reader = _Reader(items)
    size = _FIRST
    try:
        while True:
            window, error = reader.window(size)
            if window:
                yield window
            if error is not None:
                if isinstance(error, StopIteration):
                    return
                raise error
            size = min(2 * size, _LARGEST)
    finally:
        reader.stop()


def _windows_of_list(items: list[Item] | tuple[Item, ...]) -> Iterator[list[Item]]:
    start, size = 0, _FIRST
    while start < len(items):
        yield list(items[start : start + size])
        start, size = start + size, min(2 * size, _LARGEST)


class _Reader(Generic[Item]):
    """A thread that keeps at most a window's worth of items ready."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._queue: queue.Queue[tuple[Item] | BaseException] = queue.Queue(_LARGEST)
        self._stopped = threading.Event()
        self._error: BaseException | None = None
        threading.Thread(target=self._read, args=(items,), daemon=True).start()

    def _read(self, items: Iterable[Item]) -> None:
        try:
            for item in items:
                self._put((item,))
                if self._stopped.is_set():
                    return
            self._put(StopIteration())
        except BaseException as error:  # noqa: BLE001 (raised again in the consumer)
            self._put(error)

    def _put(self, message: tuple[Item] | BaseException) -> None:
        while not self._stopped.is_set():
            try:
                self._queue.put(message, timeout=0.2)
                return
            except queue.Full:
                continue

    def window(self, size: int) -> tuple[list[Item], BaseException | None]:
        """At most `size` items, at least one unless the source has ended, and how it ended if it has."""
        window: list[Item] = []
        while len(window) < size and self._error is None:
            try:
                message = self._queue.get(timeout=_PAUSE if window else None)
            except queue.Empty:
                break
            if isinstance(message, tuple):
                window.append(message[0])
            else:
                self._error = message
        return window, self._error

    def stop(self) -> None:
        """Let the thread end as soon as the source lets it."""
        self._stopped.set()
