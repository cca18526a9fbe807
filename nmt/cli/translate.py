"""nmt-translate: text in, text out."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO

from nmt.cli.command import Arguments, run_command
from nmt.cli.run_settings import load_translator, only_one, read_input, read_settings
from nmt.files import write_atomically

USAGE = """
nmt-translate translates text line by line: N lines in, N lines out, in order.

  nmt-translate run=runs/demo < in.en > out.fr
  nmt-translate run=runs/demo input=in.en output=out.fr
  nmt-translate run=runs/demo text="I love you."
  nmt-translate run=runs/demo search.beam_size=1 < in.en                          greedy

Values after input=, output= and text= are taken as they are, whatever they hold.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return run_command("translate", USAGE, _translate, argv)


def _translate(arguments: Arguments) -> None:
    settings = read_settings("translate", arguments, groups=("search",))
    only_one(settings.own, "text", "input")
    translator = load_translator(settings)
    if settings.own["text"] is not None:
        lines: Iterable[str] = [settings.own["text"]]
    else:
        lines = read_input(settings.own["input"])
    with open_output(settings.own["output"]) as out:
        for translation in translator.translations(lines):
            out.write(f"{translation.text}\n")
            out.flush()  # whoever reads our output gets each line as soon as there is one


@contextmanager
def open_output(path: str | None) -> Iterator[IO[str]]:
    """The file `path`, which appears when it is complete, or stdout."""
    if path is None:
        yield sys.stdout
    else:
        with write_atomically(path, "w") as file:
            yield file


if __name__ == "__main__":
    sys.exit(main())
