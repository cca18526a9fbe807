"""nmt-align: which source words each target word looked at."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from nmt.cli.aligner import Aligner, check_reading, load_aligner
from nmt.cli.command import Arguments, run_command
from nmt.cli.explore import explore
from nmt.cli.run_settings import Settings, load_translator, only_one, read_input, read_settings
from nmt.errors import NMTError
from nmt.files import write_atomically

if TYPE_CHECKING:
    from nmt.translator import Translator

USAGE = """
nmt-align shows the attention of a run between the words of sentence pairs, given or made by translating.

  nmt-align run=runs/demo text="I love you." translation="je t'aime."      one pair, as a matrix
  nmt-align run=runs/demo text="I love you." output=matrix.png             translated first, as a picture
  nmt-align run=runs/demo source=a.en target=a.fr format=pharaoh > a.links        two files
  nmt-align run=runs/demo format=json < pairs.tsv                          source TAB target, or source alone
  nmt-align run=runs/demo text="I love you." explain=true                  each step of the decoder
  nmt-align run=runs/a,runs/b source=a.en target=a.fr output=links.html    a page to explore and compare
  nmt-align run=runs/en-fr reverse=runs/fr-en symmetrise=union ...         links of both directions
  nmt-align run=runs/demo choose=gold ...                                  read as aligns best on dev

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

    output = own["output"]
    format = own["format"] or _format_of(output)
    check_format(format, output)
    if own["words"] not in (None, "split", "whitespace"):
        raise NMTError(f"words={own['words']}: choose split or whitespace")
    if own["explain"] and format != "text":
        raise NMTError(f"explain=true and format={format}: steps are shown as text only")
    check_reading(own)
    if format == "html":
        explore(settings, _pairs(own))
    elif own["explain"]:
        _explain(settings)
    else:
        align = _aligner(settings, load_translator(settings))
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        write_alignments(align(_pairs(own)), format, output, sys.stdout, width)


def _aligner(settings: Settings, translator: "Translator") -> Aligner:
    """What aligns as the settings say; the set to choose on is one of the run's data."""
    from nmt.translator.runs import open_runs

    return load_aligner(settings, translator, open_runs(settings.own["run"])[0].config().data)


def _explain(settings: Settings) -> None:
    """Write each step of each pair before its matrix."""
    from nmt.evaluation.worked_example import explain_pair

    translator = load_translator(settings)
    reading = check_reading(settings.own)
    align = _aligner(settings, translator)
    with _output(settings.own["output"]) as file:
        for number, (source, target) in enumerate(translator.completed(_pairs(settings.own))):
            (alignment,) = align([(source, target)])
            file.write("\n" * bool(number) + explain_pair(translator, source, target, reading))
            file.write(f"\n{alignment.text()}")
            file.flush()


def _output(path: str | None) -> AbstractContextManager[IO[str]]:
    return nullcontext(sys.stdout) if path is None else write_atomically(path, "w")


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
