"""The alignment matrices of one sentence pair under several runs, side by side in one picture.

    python -m scripts.matrix_strip runs/study/attention=* --output strip.png
    python -m scripts.matrix_strip additive=runs/a Transformer=runs/b:layer=2,head=3 --output strip.png

A run is a folder, after `NAME=` if it shall not be named after its attention; `:layer=…,head=…,step=…` after
it says how its attention is read, as in nmt-align.
"""

import argparse
import re
from pathlib import Path
from typing import NamedTuple

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from omegaconf import OmegaConf

from nmt.alignment import Alignment
from nmt.alignment.reading import Reading
from nmt.config import config_dir
from nmt.files import write_atomically
from nmt.training.run_directory import RunDirectory
from nmt.translator import Translator

CELL, MARGIN = 0.48, 0.75  # inches: of a matrix, and of the labels around it
DOTS_PER_INCH = 160


class Panel(NamedTuple):
    """A matrix and its name."""

    name: str
    alignment: Alignment


def panel(argument: str, source: str, target: str) -> Panel:
    """What the run of an argument `[NAME=]FOLDER[:READING]` sees."""
    name, folder, reading = None, argument, Reading()
    if found := re.fullmatch(r"(.+):((?:layer|head|step|fold|threshold)=.+)", folder):
        folder = found[1]
        settings = OmegaConf.to_container(OmegaConf.from_dotlist(found[2].split(",")))
        assert isinstance(settings, dict)
        reading = Reading(**{str(key): value for key, value in settings.items()})
    if not Path(folder).is_dir() and "=" in folder:
        name, _, folder = folder.partition("=")
    alignment = Translator.load(folder).align(source, target, reading=reading)
    return Panel(name or attention_of(folder), alignment)


def attention_of(folder: str | Path) -> str:
    """The name of a run's attention: the first configuration that means the same class."""
    target = RunDirectory.open(folder).config().attention._target_
    files = sorted((config_dir() / "attention").glob("*.yaml"))
    names = [file.stem for file in files if OmegaConf.load(file)._target_ == target]
    return names[0] if names else target.rpartition(".")[2]


def draw(panels: list[Panel]) -> Figure:
    """The strip."""
    rows, columns = panels[0].alignment.weights.shape
    width, height = columns * CELL + MARGIN, rows * CELL + 2 * MARGIN
    figure = Figure(figsize=(width * len(panels), height), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, each in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        each.alignment.plot(axes)
        axes.set_box_aspect(rows / columns)
        axes.set_xlabel(each.name, fontsize=12, labelpad=8)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", metavar="[NAME=]RUN[:READING]")
    parser.add_argument("--source", default="I love you.")
    parser.add_argument("--target", default="je t'aime.")
    parser.add_argument(
        "--output", type=Path, default=Path("strip.png"), help="PNG, PDF or SVG, by its ending"
    )
    arguments = parser.parse_args()
    figure = draw([panel(run, arguments.source, arguments.target) for run in arguments.runs])
    with write_atomically(arguments.output) as file:
        figure.savefig(
            file, format=arguments.output.suffix.lstrip("."), dpi=DOTS_PER_INCH, bbox_inches="tight"
        )


if __name__ == "__main__":
    main()
