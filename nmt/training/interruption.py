"""Ctrl-C (SIGINT) and SIGTERM in training: the first asks to save and stop, the second stops at once."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """Whether training was asked to stop. As a context manager it answers the signals within its block.

    Outside of the main thread signals cannot be answered, and nothing is.
    """

    def __init__(self) -> None:
        self.requested = False
        self._at_once = False
        self._previous: dict[int, object] = {}

    def __enter__(self) -> "Interruption":
        if threading.current_thread() is threading.main_thread():
            self._previous = {number: signal.signal(number, self._answer) for number in _SIGNALS}
        return self

    def __exit__(self, *exception: object) -> None:
        for number, previous in self._previous.items():
            signal.signal(number, previous)  # type: ignore[arg-type]
        self._previous = {}

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Within this block the first signal raises `KeyboardInterrupt` too: nothing here needs finishing."""
        self._at_once = True
        try:
            if self.requested:
                raise KeyboardInterrupt
            yield
        finally:
            self._at_once = False

    def _answer(self, number: int, frame: FrameType | None) -> None:
        repeated, self.requested = self.requested, True
        if repeated or self._at_once:
            self._at_once = False
            raise KeyboardInterrupt
