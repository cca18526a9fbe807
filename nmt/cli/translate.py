"""nmt-translate: text in, text out."""

import logging
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from nmt.cli.command import Arguments, adopt, log_to_stderr, run_command
from nmt.cli.inputs import column_names, is_prompt, num_lines, read_file, requests, typed_lines
from nmt.cli.outputs import (
    check_document,
    check_part,
    is_document,
    is_finished,
    open_output,
    paired,
    split_paths,
)
from nmt.cli.resuming import Recipe, named, recipe_of
from nmt.cli.run_settings import Settings, load_translator, only_one, read_settings
from nmt.data.lines import existing_file
from nmt.errors import NMTError
from nmt.files import write_atomically

if TYPE_CHECKING:
    from nmt.translator import Request, Translator
    from nmt.translator.workers import Translating

USAGE = """
nmt-translate translates text line by line: N lines in, N lines out, in order.

  nmt-translate run=runs/demo < in.en > out.fr
  nmt-translate run=runs/demo text="I love you."
  nmt-translate run=runs/demo                                             at a terminal: type sentences
  nmt-translate run=runs/demo input=in.en.gz output=out.fr.gz             gzipped, both ways
  nmt-translate run=runs/demo input=a.en,b.en output=a.fr,b.fr            or a folder, or one file for all
  nmt-translate run=runs/demo input=film.srt output=film.fr.srt           subtitles, .vtt too; catalogues, .po
  nmt-translate run=runs/demo search.beam_size=1 < in.en                  greedy
  nmt-translate run=runs/demo search.n_best=5 format=nbest < in.en        the five best
  nmt-translate run=runs/demo search=mbr < in.en                          others: mbr, sampling, diverse
  nmt-translate run=runs/demo columns=source,prefix < in.tsv              source TAB beginning of translation
  nmt-translate run=runs/demo columns=source,target < in.tsv              log-probability, perplexity of pairs

Values after input=, output=, text= and other texts are taken as they are, whatever they hold.
"""


log = logging.getLogger(__name__)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return run_command("translate", USAGE, _translate, argv)


def _translate(arguments: Arguments) -> None:
    settings = read_settings("translate", arguments, groups=("search",))
    own = settings.own
    if own["format"] is None:
        own["format"] = "score" if "target" in column_names(own) else "text"
    for key in ("input", "output"):
        own[key] = None if own[key] == "-" else own[key]
    only_one(own, "text", "input")
    jobs = paired(_input_files(own), own["output"])
    from nmt.translator.formats import check_format

    check_format(own["format"], own["output"], own["resume"])
    for inputs, output in jobs:
        check_document(inputs, output, own)
    recipes = _recipes(settings, jobs)
    if own["resume"]:
        for (_, output), recipe in zip(jobs, recipes, strict=True):
            if not is_finished(output, True):
                check_part(output, recipe)
    from nmt.translator.workers import translating

    with translating(partial(_load, settings), own["workers"], own["threads"]) as translate:
        if is_prompt(own):
            _converse(translate, own)
        else:
            for (inputs, output), recipe in zip(jobs, recipes, strict=True):
                _do(translate, inputs, output, own, recipe)


def _input_files(own: dict[str, Any]) -> list[str]:
    """The files to translate, none for a text or stdin."""
    paths = split_paths(own["input"]) if own["input"] is not None else []
    return [str(existing_file(path)) for path in paths]


def _load(settings: Settings) -> "Translator":
    """The translator, in this process or in a worker of it."""
    from omegaconf import OmegaConf

    from nmt.translator.unknown import read_lexicon

    log_to_stderr()
    adopt(OmegaConf.create({key: settings.own[key] for key in ("verbose", "allow_modules")}))
    lexicon = read_lexicon(settings.own["lexicon"]) if settings.own["lexicon"] else None
    return load_translator(settings, settings.own["split"], lexicon)


def _recipes(settings: Settings, jobs: list[tuple[list[str], str | None]]) -> list[Recipe | None]:
    """What each output is made with; None where an interruption leaves nothing that can be continued."""
    from nmt.translator.formats import CONTINUED

    def can_go_on(inputs: list[str], output: str | None) -> bool:
        return output is not None and not is_document(inputs) and settings.own["format"] in CONTINUED

    common = recipe_of(settings) if any(can_go_on(*job) for job in jobs) else {}
    return [{**common, "input": list(map(named, job[0]))} if can_go_on(*job) else None for job in jobs]


def _do(
    translate: "Translating",
    inputs: list[str],
    output: str | None,
    own: dict[str, Any],
    recipe: Recipe | None,
) -> None:
    """Translate `inputs` into `output`."""
    from nmt.alignment.formats import write_npz
    from nmt.translator.formats import FORMATS, as_alignment

    if is_finished(output, own["resume"]):
        log.info("%s is finished already", output)
    elif is_document(inputs):
        _translate_document(translate, inputs[0], output, own)
    elif output is not None and own["format"] == "npz":
        with write_atomically(output) as file:
            write_npz(_watched(translate(_requests(inputs, own), as_alignment), inputs, output), file)
    else:
        with open_output(output, recipe, own["resume"]) as out:
            todo = islice(_requests(inputs, own), out.num_there, None)
            for text in _watched(translate(todo, FORMATS[own["format"]]), inputs, output, out.num_there):
                out.write(text)


def _translate_document(translate: "Translating", path: str, output: str | None, own: dict[str, Any]) -> None:
    """Translate the subtitles or the catalogue `path` into `output`."""
    from nmt.translator.documents import open_document
    from nmt.translator.formats import as_it_is

    document = open_document(path, "\n".join(read_file(path, own["errors"])) + "\n")
    found = list(_watched(translate(document.requests(), as_it_is), [], output))
    with open_output(output) as out:
        out.write(document.filled(found))


def _requests(inputs: list[str], own: dict[str, Any]) -> Iterator["Request"]:
    """What there is to translate in `inputs`, one after the other; without any, in the text or stdin."""
    if own["text"] is not None:
        return requests([own["text"]], "text", own)
    sources: list[str | None] = [*inputs] or [None]
    return chain.from_iterable(
        requests(read_file(path, own["errors"]), path or "stdin", own) for path in sources
    )


def _watched(results: Iterator[Any], inputs: list[str], output: str | None, done: int = 0) -> Iterator[Any]:
    """`results` with a progress bar on stderr, unless they go to a terminal themselves."""
    from tqdm import tqdm

    hidden = True if output is None and sys.stdout.isatty() else None  # None: where stderr is no terminal
    total = None if hidden is None and not sys.stderr.isatty() else num_lines(inputs)
    return iter(
        tqdm(
            results, total=total, initial=done, desc="translating", unit=" lines", leave=False, disable=hidden
        )
    )


def _converse(translate: "Translating", own: dict[str, Any]) -> None:
    """Answer each line that somebody types; a mistake ends nothing."""
    from nmt.translator.formats import FORMATS

    for line in typed_lines():
        try:
            for text in translate(list(requests([line], "your line", own)), FORMATS[own["format"]]):
                print(text, end="", flush=True)
        except NMTError as error:
            print(error, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
