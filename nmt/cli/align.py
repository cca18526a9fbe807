"""nmt-align: which source words each target word looked at."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nmt.cli.command import Arguments, run_command
from nmt.cli.run_settings import load_translator, only_one, read_input, read_settings
from nmt.errors import NMTError

USAGE = """
nmt-align shows the attention of a run between the words of sentence pairs, given or made by translating.

  nmt-align run=runs/demo text="I love you." translation="je t'aime."      one pair, as a matrix
  nmt-align run=runs/demo text="I love you." output=matrix.png             translated first, as a picture
  nmt-align run=runs/demo source=a.en target=a.fr format=pharaoh > a.links        two files
  nmt-align run=runs/demo format=json < pairs.tsv                          source TAB target, or source alone

Positions count from 0. A row says how a target word spreads over the source words; what the end of the
sentence drew stands beside.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return run_command("align", USAGE, _align, argv)


def _align(arguments: Arguments) -> None:
    settings = read_settings("align", arguments, groups=("search",))
    own = settings.own
    _check_inputs(own)
    from nmt.alignment.formats import check_format, write_alignments

    output, format = own["output"], own["format"]
    if format is None:
        format = _format_of(output)
    check_format(format, output)
    if own["words"] not in (None, "split", "whitespace"):
        raise NMTError(f"words={own['words']}: choose split or whitespace")
    translator = load_translator(settings)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    write_alignments(translator.align_pairs(_pairs(own), own["words"]), format, output, sys.stdout, width)


def _format_of(output: str | None) -> str:
    """The format that the ending of a file's name asks for; text without one."""
    ending = Path(output or "").suffix.lstrip(".")
    return "text" if ending in ("", "txt") else ending


def _check_inputs(own: dict[str, Any]) -> None:
    only_one(own, "text", "source")
    for target, source in (("translation", "text"), ("target", "source")):
        if own[target] is not None and own[source] is None:
            raise NMTError(f"{target}={own[target]}: needs its {source}= too")
    if own["target"] is not None and all(Path(own[side]).is_file() for side in ("source", "target")):
        lengths = [sum(1 for _ in read_input(own[side])) for side in ("source", "target")]
        if lengths[0] != lengths[1]:
            raise NMTError(
                f"source={own['source']} has {lengths[0]} lines and target={own['target']} has {lengths[1]}; "
                "give two files of the same number of lines"
            )


def _pairs(own: dict[str, Any]) -> Iterator[tuple[str, str | None]]:
    """The pairs to align; a target that is None is to be translated."""
    if own["text"] is not None:
        yield own["text"], own["translation"]
    elif own["target"] is not None:
        try:
            yield from zip(read_input(own["source"]), read_input(own["target"]), strict=True)
        except ValueError as error:  # pipes, which cannot be counted beforehand
            raise NMTError(f"source={own['source']} and target={own['target']} differ in length") from error
    elif own["source"] is not None:
        yield from ((line, None) for line in read_input(own["source"]))
    else:
        for line in read_input(None):
            source, tab, target = line.partition("\t")
            yield source, target if tab else None


if __name__ == "__main__":
    sys.exit(main())
