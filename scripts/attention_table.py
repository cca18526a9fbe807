"""What attention variants learn on the built-in corpus: a Markdown table over the runs of a study.

    nmt-train -m attention=additive,dot,general,local_p seed=1,2,3,4,5 run_dir=runs/study
    python scripts/attention_table.py runs/study

For each variant, over its seeds: BLEU on the three test sets and AER on `test`; in how many runs the rows
*je, t', aime* of *I love you* look at *I, you, love*, with and without the full stop; and in which share of
the test sentences of the form *X verbs you* the rows of X, pronoun and verb look where the gold links say.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

from nmt.data.corpus import open_corpus
from nmt.data.links import Links, parse_links
from nmt.evaluation.run import evaluate_run
from nmt.training.run_directory import RunDirectory
from nmt.translator import Translator

SPLITS = ("test", "test_unseen", "test_long")
TEXTBOOK = [("I love you.", "je t'aime."), ("I love you", "je t'aime")]


class Pattern(NamedTuple):
    """A sentence *X verbs you* with its gold links."""

    source: str
    target: str
    gold: Links


def measure(path: Path) -> dict[str, Any]:
    """All that the table says of the run in `path`, kept beside its evaluations."""
    kept = path / "evaluation" / "attention.json"
    if kept.is_file():
        return json.loads(kept.read_text(encoding="utf-8"))
    config = RunDirectory.open(path).config()
    translator = Translator.load(path)
    result: dict[str, Any] = {"attention": variant(path)}
    for split in SPLITS:
        evaluation = evaluate_run(translator, config.data, split, path / "evaluation")
        result[split] = evaluation.scores.bleu.value
        if split == "test" and evaluation.alignment is not None:
            result["aer"] = evaluation.alignment.aer
    result["textbook"] = all(is_textbook(translator, *pair) for pair in TEXTBOOK)
    patterns = list(find_patterns(config.data))
    result["patterns"] = len(patterns)
    result["pattern"] = 100 * mean(follows(translator, pattern) for pattern in patterns)
    kept.write_text(json.dumps(result) + "\n", encoding="utf-8")
    return result


def variant(path: Path) -> str:
    """Which attention the folder of a run names: seed=1+attention=dot."""
    chosen = dict(part.split("=", 1) for part in path.name.split("+") if "=" in part)
    return chosen.get("attention", "additive")


def is_textbook(translator: Translator, source: str, target: str) -> bool:
    """Whether je looks at I, t' at you, aime at love."""
    links = dict((target, source) for source, target in translator.align(source, target).links)
    return [links.get(row) for row in range(3)] == [0, 2, 1]


def find_patterns(data: Any) -> Iterator[Pattern]:
    """The pairs of the test set of the form *X verbs you*: one verb form on either side, *te* or *t'* before
    it.
    """
    corpus = open_corpus(data, "test")
    lines, tags = corpus.link_lines(), corpus.tags()
    assert lines is not None and tags is not None
    for (source, target), line, names in zip(corpus.lines(), lines, tags, strict=True):
        words = source.rstrip(".").split()
        verb = target.rstrip(".").replace("t'", "te ").split()
        if "object_you" in names and words[-1] == "you" and len(verb) > 2 and verb[-2] == "te":
            gold = parse_links(line)
            if len(words) == len(verb) and not {"negation", "infinitive"} & set(names):
                yield Pattern(source, target, gold)


def follows(translator: Translator, pattern: Pattern) -> bool:
    """Whether each row with a sure link looks at one of them."""
    sure = defaultdict(set)
    for source, target in pattern.gold.sure:
        sure[target].add(source)
    found = dict(
        (target, source) for source, target in translator.align(pattern.source, pattern.target).links
    )
    return all(found.get(row) in sources for row, sources in sure.items())


def spread(values: list[float]) -> str:
    """Mean and, of several, standard deviation."""
    return f"{mean(values):.1f}" + (f" ± {stdev(values):.1f}" if len(values) > 1 else "")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", type=Path, help="the folder of the runs")
    folders = sorted(path.parent for path in parser.parse_args().study.glob("*/config.yaml"))
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for folder in folders:
        if RunDirectory.open(folder).status() == "finished":
            result = measure(folder)
            groups[result["attention"]].append(result)
    print("| attention | seeds | test BLEU | test_unseen | test_long | AER | je, t', aime | X verbs you |")
    print("|---|---|---|---|---|---|---|---|")
    for name, results in groups.items():
        columns = [spread([result[key] for result in results]) for key in (*SPLITS, "aer")]
        textbook = f"{sum(result['textbook'] for result in results)} of {len(results)}"
        shares = [result["pattern"] for result in results]
        pattern = f"{mean(shares):.0f} % ({min(shares):.0f}-{max(shares):.0f})"
        print(f"| {name} | {len(results)} | {' | '.join(columns)} | {textbook} | {pattern} |")


if __name__ == "__main__":
    main()
