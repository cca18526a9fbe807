"""`nmt-align format=html`: the matrices of one or several runs on one page."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.cli.aligner import check_reading, load_aligner
from nmt.cli.run_settings import Settings, load_translator
from nmt.errors import NMTError
from nmt.files import write_atomically

if TYPE_CHECKING:
    from nmt.alignment.alignment import Alignment
    from nmt.alignment.explorer import Explored
    from nmt.data.links import Links

Pairs = Sequence[tuple[str, str]]


def explore(settings: Settings, lines: "Iterable[tuple[str, str | None]]") -> None:
    """Write the page for the pairs `lines`; the first run translates where a target is missing."""
    from nmt.alignment.explorer import write_explorer

    own = settings.own
    if not own["run"]:
        raise NMTError("run= is missing: give the folder of a run, or of several, such as run=runs/a,runs/b")
    folders = [own["run"]] if Path(own["run"]).is_dir() else own["run"].split(",")
    pairs: Pairs | None = None
    runs = []
    for folder in folders:
        single = settings._replace(own={**own, "run": folder})
        pairs = list(load_translator(single).completed(lines)) if pairs is None else pairs
        runs.append(_explored(single, folder if len(folders) > 1 else "", pairs))
    with write_atomically(own["output"], "w") as file:
        write_explorer(_with_short_names(runs), _gold(own["gold"], pairs or []), file)


def _explored(settings: Settings, folder: str, pairs: Pairs) -> "Explored":
    """What a run sees in `pairs`: as the settings read it and, where there are heads, each layer and head."""
    from nmt.alignment.explorer import Explored
    from nmt.alignment.reading import layers_and_heads
    from nmt.training.run_directory import RunDirectory

    translator = load_translator(settings)
    align = load_aligner(settings, translator, RunDirectory.open(settings.own["run"]).config().data)
    reading = check_reading(settings.own)
    first = next(translator.attend_pairs(pairs[:1], settings.own["words"], heads=True), None)
    places = [] if first is None else list(layers_and_heads(first))[1:]
    if not places:
        return Explored(folder, [""], ([alignment] for alignment in align(pairs)))
    readings = [replace(reading, layer=layer, head=head) for layer, head in places]
    names = [f"layer {layer}" + (f" head {head}" if head else "") for layer, head in places]

    def matrices() -> "Iterator[list[Alignment]]":
        attentions = translator.attend_pairs(pairs, settings.own["words"], heads=True)
        for alignment, attention in zip(align(pairs), attentions, strict=True):
            yield [alignment, *(each.align(attention) for each in readings)]

    return Explored(folder, ["as read", *names], matrices())


def _with_short_names(runs: "list[Explored]") -> "list[Explored]":
    """The runs named by the last parts of their folders, if these differ."""
    names = [Path(run.run).name for run in runs]
    if len(set(names)) < len(names):
        return runs
    return [run._replace(run=name) for run, name in zip(runs, names, strict=True)]


def _gold(path: str | None, pairs: Pairs) -> "list[Links] | None":
    """The links of the file `path`, one set a pair."""
    from nmt.data.links import Links, read_links

    if path is None:
        return None
    file = read_links(path)
    missing = len(pairs) - len(file.sentences)
    if missing < 0 or (missing and not file.numbered):
        raise NMTError(f"gold={path} has links for {len(file.sentences)} pairs, and there are {len(pairs)}")
    return file.sentences + [Links(frozenset(), frozenset())] * missing
