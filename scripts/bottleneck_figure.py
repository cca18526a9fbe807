"""The bottleneck that attention removed: BLEU by source length, as a table and a picture.

    nmt-train -m attention=none,additive seed=1,2,3 run_dir=runs/study
    python -m scripts.bottleneck_figure runs/study none additive data/figures/bottleneck.png

For each of the named attentions, over its runs in the study: BLEU on `test` (and `test_long`, where there is
one) in buckets of ten source words, up to 50 (mean, and in the picture one standard deviation, over seeds).
Cho et al. 2014 and Bahdanau et al. 2015 (figure 2) draw it.
"""

import argparse
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from nmt.data.corpus import open_corpus, split_names
from nmt.evaluation.run import evaluate_run
from nmt.evaluation.scores import score
from nmt.training.run_directory import RunDirectory
from nmt.translator import Translator
from scripts.attention_table import table, variant

BUCKETS = [(1, 10), (10, 20), (20, 30), (30, 40), (40, 51)]  # source words: from, below


def bleu_by_length(path: Path) -> dict[str, float]:
    """BLEU of the run in `path` for each bucket of source lengths, over `test` and `test_long` together."""
    data = RunDirectory.open(path).config().data
    splits = [split for split in ("test", "test_long") if split in split_names(data)]
    triples = [triple for split in splits for triple in translated(path, data, split)]
    found: dict[tuple[int, int], list[tuple[str, str]]] = defaultdict(list)
    for source, reference, hypothesis in triples:
        length = len(source.split())
        for bucket in BUCKETS:
            if bucket[0] <= length < bucket[1]:
                found[bucket].append((hypothesis, reference))
    return {name(bucket): bleu(found[bucket]) for bucket in BUCKETS}


def translated(path: Path, data: Any, split: str) -> list[tuple[str, str, str]]:
    """Sources, references and the run's translations of a split, made if they are not there yet."""
    folder = path / "evaluation"
    if not (folder / f"{split}.hyp").is_file():
        evaluate_run(Translator.load(path, split="long"), data, split, folder)
    hypotheses = (folder / f"{split}.hyp").read_text(encoding="utf-8").split("\n")[:-1]
    pairs = open_corpus(data, split).lines()
    return [(*pair, hypothesis) for pair, hypothesis in zip(pairs, hypotheses, strict=True)]


def bleu(pairs: Sequence[tuple[str, str]]) -> float:
    """sacreBLEU's BLEU of (hypothesis, reference) pairs."""
    return score([pair[0] for pair in pairs], [[pair[1] for pair in pairs]]).bleu.value


def name(bucket: tuple[int, int]) -> str:
    """How a bucket is called in the table and under the axis."""
    return f"{bucket[0]}-{bucket[1] - 1}"


def draw(results: dict[str, list[dict[str, float]]], path: Path) -> None:
    """A line for each attention, with a band of one standard deviation."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 3.6), layout="constrained")
    labels = [name(bucket) for bucket in BUCKETS]
    for attention, runs in results.items():
        means = [mean(run[label] for run in runs) for label in labels]
        axes.plot(labels, means, marker="o", label=attention)
        if len(runs) > 1:
            spreads = [stdev(run[label] for run in runs) for label in labels]
            low, high = ([m + sign * s for m, s in zip(means, spreads, strict=True)] for sign in (-1, 1))
            axes.fill_between(labels, low, high, alpha=0.2)
    axes.set(xlabel="source length in words", ylabel="BLEU")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", type=Path, help="the folder of the runs")
    parser.add_argument("attentions", nargs="+", help="which attentions to compare")
    parser.add_argument("picture", type=Path, help="PNG, PDF or SVG to write")
    arguments = parser.parse_args()
    results: dict[str, list[dict[str, float]]] = {attention: [] for attention in arguments.attentions}
    for path in sorted(config.parent for config in arguments.study.glob("*/config.yaml")):
        if variant(path) in results and RunDirectory.open(path).status() == "finished":
            results[variant(path)].append(bleu_by_length(path))
    rows = []
    for attention, runs in results.items():
        means = [f"{mean(run[name(bucket)] for run in runs):.1f}" for bucket in BUCKETS]
        rows.append([attention, str(len(runs)), *means])
    print(table(["attention", "seeds", *map(name, BUCKETS)], rows))
    draw(results, arguments.picture)


if __name__ == "__main__":
    main()
