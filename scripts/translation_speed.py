"""How fast nmt-translate starts and translates, in how much memory, and whether neighbours change a line: one
Markdown table.

    python -m scripts.translation_speed runs/demo FILE
    python -m scripts.translation_speed runs/demo FILE --lines 1000 50000 --repeats 5 --threads 2

Start-up is a fresh `nmt-translate run=RUN text=…`, to its end, beside a fresh `import torch`: medians, in
turns. Sentences a second are those of FILE, by a loaded translator and by the whole command. Peak memory is
the largest resident set of a command that translates FILE, repeated or cut to so many lines, with the run's
own search. Invariance is the share of FILE's lines that come out the same in another order, and in batches
of one line, of an eighth of the usual tokens and of eight times as many.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import cycle, islice
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from nmt.data.lines import read_lines

SEARCHES = {"greedy": 1, "beam 5": 5}


class Finished(NamedTuple):
    """What a process took, start and end included."""

    seconds: float
    megabytes: float  # its largest resident set


def finish(*arguments: str) -> Finished:
    """Run Python with `arguments` to its end; what it prints is thrown away.

    A child's resident set counts from this process's, which therefore imports nothing large.
    """
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(process.args[1:])} ended with status {process.returncode}")  # type: ignore
    unit = 1 if sys.platform == "darwin" else 1024  # bytes of ru_maxrss
    return Finished(time.perf_counter() - start, usage.ru_maxrss * unit / 1e6)


def translate(run: Path, *arguments: str) -> Finished:
    """A whole nmt-translate."""
    return finish("-m", "nmt.cli.translate", f"run={run}", *arguments)


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """`function` of `arguments`, worked out in a process of its own."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def start_up(run: Path, text: str, repeats: int) -> tuple[float, float]:
    """Seconds of a command for one sentence, and of importing torch."""
    rounds = [
        (translate(run, f"text={text}").seconds, finish("-c", "import torch").seconds)
        for _ in range(repeats + 1)
    ][1:]  # the first one fills the disk's cache
    command, torch = zip(*rounds, strict=True)
    return median(command), median(torch)


def load(run: Path, threads: int | None, search: Any = None) -> Any:
    """The translator, warm."""
    import torch

    from nmt.allocator import keep_freed_memory
    from nmt.translator import Translator

    keep_freed_memory()
    if threads:
        torch.set_num_threads(threads)
    translator = Translator.load(run, device="cpu", search=search)
    translator.translate("I love you.")
    return translator


def seconds(run: Path, threads: int | None, lines: list[str], beam_size: int) -> float:
    """How long a loaded translator takes for `lines`."""
    from nmt.decoding.search import SearchSettings

    translator = load(run, threads, SearchSettings(beam_size=beam_size))
    start = time.perf_counter()
    translator.translate(lines)
    return time.perf_counter() - start


def invariance(run: Path, threads: int | None, lines: list[str]) -> dict[str, int]:
    """How many of `lines` become something else in other company."""
    translator = load(run, threads)
    usual, found = translator.batch_tokens, translator.translate(lines)
    order = random.Random(1).sample(range(len(lines)), len(lines))
    shuffled = translator.translate([lines[place] for place in order])
    others = {"in another order": [found for _, found in sorted(zip(order, shuffled, strict=True))]}
    for tokens in (1, usual // 8, usual * 8):
        translator.batch_tokens = tokens
        others[f"{tokens} tokens a batch"] = translator.translate(lines)
    return {
        name: sum(one != other for one, other in zip(found, changed, strict=True))
        for name, changed in others.items()
    }


def measured(run: Path, file: Path, arguments: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """The rows of the table, as they are known."""
    lines = list(read_lines(file))
    threads = [f"threads={arguments.threads}"] if arguments.threads else []
    command, torch = start_up(run, lines[0], arguments.repeats)
    yield "start-up to the first translation", f"{command:.2f} s, of which `import torch` {torch:.2f} s"
    for name, beam_size in SEARCHES.items():
        inside = len(lines) / apart(seconds, run, arguments.threads, lines, beam_size)
        whole = translate(run, f"input={file}", f"search.beam_size={beam_size}", *threads).seconds
        yield (
            f"{len(lines):,} lines, {name}",
            f"{inside:,.0f} sentences a second; {whole:.1f} s the whole command",
        )
    with tempfile.TemporaryDirectory() as folder:
        for count in arguments.lines:
            source, target = Path(folder, "source"), Path(folder, "target")
            source.write_text("".join(f"{line}\n" for line in islice(cycle(lines), count)), encoding="utf-8")
            used = translate(run, f"input={source}", f"output={target}", *threads)
            yield f"peak memory, {count:,} lines", f"{used.megabytes:,.0f} MB"
    for name, changed in apart(invariance, run, arguments.threads, lines).items():
        share = 100 * (1 - changed / len(lines))
        yield f"same translation, {name}", f"{share:.2f} % ({changed} of {len(lines):,} differ)"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("file", type=Path, help="sentences of the source language, a line each")
    parser.add_argument("--lines", nargs="+", type=int, default=[1000, 50_000], help="for peak memory")
    parser.add_argument("--repeats", type=int, default=5, help="of starting up")
    parser.add_argument("--threads", type=int, help="CPU threads; by default all there are")
    arguments = parser.parse_args()
    print("| what | measured |\n| --- | --- |", flush=True)
    for row in measured(arguments.run, arguments.file, arguments):
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
