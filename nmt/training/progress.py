"""How far training is, for a person who watches a terminal."""

import math
import os
import sys

from tqdm import tqdm

_FORMAT = "{percentage:3.0f}%|{bar:10}| {desc}"  # fits 80 columns


class ProgressBar:
    """A bar over the share of training that is done; nothing where standard error is no terminal."""

    def __init__(self) -> None:
        self.visible = sys.stderr.isatty()
        sized = self.visible and min(os.get_terminal_size(sys.stderr.fileno())) > 0  # some say 0 by 0
        self._bar = tqdm(
            total=1.0,
            bar_format=_FORMAT,
            miniters=0,
            disable=not self.visible,
            leave=False,
            dynamic_ncols=sized,
            ncols=None if sized else 79,
            nrows=None if sized else 24,
        )

    def show(self, update: int, loss: float, tokens_per_second: float, done: float, left: float) -> None:
        """`loss` in nats a target token, `done` a share of the whole, `left` in seconds (inf = unknown)."""
        if not self.visible:
            return
        self._bar.set_description_str(
            f"{format_seconds(left)} left, loss {loss:.3f}, {tokens_per_second:,.0f} target tokens/s, "
            f"update {update:,}",
            refresh=False,
        )
        self._bar.update(min(done, 1.0) - self._bar.n)  # draws ten times a second at most

    def close(self) -> None:
        """Remove the bar."""
        self._bar.close()


def format_seconds(seconds: float) -> str:
    """`seconds` as 12 s, 3:05 or 1:02:03; "?" where infinite."""
    if math.isinf(seconds):
        return "?"
    whole = max(round(seconds), 0)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    if hours:
        return f"{hours}:{minutes:02d}:{rest:02d}"
    return f"{minutes}:{rest:02d}" if minutes else f"{rest} s"
