"""How well the runs of a study align: a Markdown table of alignment error rates on `test`, in percent.

    nmt-train -m attention=additive,general,dot,local_p training.guided_alignment=0,0.1 run_dir=runs/guided
    nmt-train -m model=transformer training.guided_alignment=0,0.1 run_dir=runs/guided
    python -m scripts.alignment_table runs/guided

A row a model and seed, a column a weight of guided alignment; each cell tells the AER of every target word's
strongest link and, after the arrow, that of the reading which aligns best on `dev`: the decoder's step, a
layer and head where there are several, how pieces fold, a threshold.
"""

import argparse
from collections import defaultdict
from pathlib import Path

from nmt.alignment.choice import choose_by_gold
from nmt.alignment.error_rate import alignment_error_rate
from nmt.alignment.reading import PieceAttention, Reading
from nmt.data.corpus import open_corpus
from nmt.data.links import Links, sure_links
from nmt.training.run_directory import RunDirectory
from nmt.translator import Translator
from scripts.attention_table import table
from scripts.matrix_strip import attention_of


def attended(translator: Translator, data: object, split: str) -> tuple[list[PieceAttention], list[Links]]:
    """What the run attends to in the pairs of `split`, and their gold links."""
    corpus = open_corpus(data, split)  # type: ignore[arg-type]
    gold = corpus.links(every=True)
    assert gold is not None
    return list(translator.attend_pairs(corpus.lines(), heads=True)), list(gold)


def error_rate(attentions: list[PieceAttention], gold: list[Links], reading: Reading) -> float:
    """The AER of `attentions` as they are read, in percent."""
    return alignment_error_rate([sure_links(reading.align(each).links) for each in attentions], gold).aer


def cell(run: RunDirectory) -> str:
    """The two error rates of `run`, and the reading behind the second."""
    translator, data = Translator.load(run.path), run.config().data
    chosen = choose_by_gold(*attended(translator, data, "dev")).reading
    attentions, gold = attended(translator, data, "test")
    plain, best = (error_rate(attentions, gold, reading) for reading in (Reading(), chosen))
    head = f", layer {chosen.layer} head {chosen.head}" if chosen.layer else ""
    return f"{plain:.2f} → {best:.2f} ({chosen.step}{head})"


def model_of(run: RunDirectory) -> str:
    """The Transformer, or the name of a recurrent model's attention."""
    is_transformer = "transformer" in run.config().decoder._target_
    return "Transformer" if is_transformer else attention_of(run.path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", type=Path, help="the folder of the runs")
    cells: dict[tuple[str, str], dict[float, str]] = defaultdict(dict)
    for folder in sorted(path.parent for path in parser.parse_args().study.glob("*/config.yaml")):
        run = RunDirectory.open(folder)
        if run.status() == "finished":
            config = run.config()
            weight = float(config.training.get("guided_alignment", 0.0))
            cells[model_of(run), str(config.seed)][weight] = cell(run)
    weights = sorted({weight for found in cells.values() for weight in found})
    head = ["model", "seed", *(f"guided {weight:g}" if weight else "as trained" for weight in weights)]
    print(table(head, [[*key, *(found.get(each, "–") for each in weights)] for key, found in cells.items()]))


if __name__ == "__main__":
    main()
