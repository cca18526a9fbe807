"""What attention variants learn on the built-in corpus, and what they cost: two Markdown tables over the runs
of a study.

    nmt-train -m attention=additive,dot,general,local_p seed=1,2,3,4,5 run_dir=runs/study
    python -m scripts.attention_table runs/study

For each variant, over its seeds: BLEU on the three test sets and AER on `test`; in how many runs the rows
*je, t', aime* of *I love you* look at *I, you, love*, with and without the full stop; and in which share of
the test sentences of the form *X verbs you* the rows of X, pronoun and verb look where the gold links say.
Then, of each, the share of attention that the end of sentence draws on `test` (translations forced upon the
model), parameters, and the speed of training and of translating `test` (beam 5), which `--speed` measures in
turns over one run of each. What was measured of a run, but for speed, is kept in its folder
(evaluation/attention.json).
"""

import argparse
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any, NamedTuple

from nmt.allocator import keep_freed_memory
from nmt.data.corpus import open_corpus
from nmt.data.links import Links, parse_links
from nmt.evaluation.run import evaluate_run
from nmt.experiment import make_trainer
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
    run = RunDirectory.open(path)
    config = run.config()
    translator = Translator.load(path, split="long")
    result: dict[str, Any] = {
        "attention": variant(path),
        "parameters": sum(parameter.numel() for parameter in translator.model.parameters()),
    }
    for split in SPLITS:
        evaluation = evaluate_run(translator, config.data, split, path / "evaluation")
        result[split] = evaluation.scores.bleu.value
        if split == "test" and evaluation.alignment is not None:
            result["aer"] = evaluation.alignment.aer
    if "aer" in result:
        result |= attended(translator, config.data)
    kept.write_text(json.dumps(result) + "\n", encoding="utf-8")
    return result


class Speed(NamedTuple):
    """What a variant does in a second."""

    train: float  # target tokens
    translate: float  # sentences of `test`


def speeds(runs: dict[str, RunDirectory], num_updates: int = 30, warm_up: int = 5) -> dict[str, Speed]:
    """The speed of each of `runs`, by name: all train on the same batches, in turns, then all translate."""
    keep_freed_memory()
    trained: dict[str, list[float]] = defaultdict(list)  # target tokens a second
    with tempfile.TemporaryDirectory() as folder:
        trainers = {}
        for name, run in runs.items():
            copy = RunDirectory.create(Path(folder, name), run.config())
            run.tokenizers().save(copy.tokenizer_path)
            trainers[name] = make_trainer(run.config(), copy)
            trainers[name].model.train()
        batches = next(iter(trainers.values())).batches.epoch(1)
        for batch in islice(batches, num_updates + warm_up):
            for name, trainer in trainers.items():
                start = time.perf_counter()
                trainer.update([batch])
                trained[name].append(batch.num_target_tokens / (time.perf_counter() - start))
    return {
        name: Speed(median(trained[name][warm_up:]), translation_speed(run)) for name, run in runs.items()
    }


def translation_speed(run: RunDirectory) -> float:
    """Sentences of `test` that `run` translates in a second."""
    translator = Translator.load(run.path)
    sources = [source for source, _ in open_corpus(run.config().data, "test").lines()]
    translator.translate(sources[:100])
    start = time.perf_counter()
    translator.translate(sources)
    return len(sources) / (time.perf_counter() - start)


def attended(translator: Translator, data: Any) -> dict[str, Any]:
    """What the matrices say: the textbook's rows, the pattern's rows, end of sentence's share in percent."""
    patterns = list(find_patterns(data))
    alignments = translator.align_pairs(list(open_corpus(data, "test").lines()))
    return {
        "textbook": all(is_textbook(translator, *pair) for pair in TEXTBOOK),
        "patterns": len(patterns),
        "pattern": 100 * mean(follows(translator, pattern) for pattern in patterns),
        "eos": 100 * mean(share for alignment in alignments for share in alignment.eos.tolist()),
    }


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


def spread(results: list[dict[str, Any]], key: str, digits: int = 1) -> str:
    """Mean and, of several, standard deviation of what is called `key`; a dash where nothing is."""
    values = [result[key] for result in results if key in result]
    if not values:
        return "–"
    return f"{mean(values):.{digits}f}" + (f" ± {stdev(values):.{digits}f}" if len(values) > 1 else "")


def pattern(results: list[dict[str, Any]]) -> tuple[str, str]:
    """In how many runs the textbook's rows are right, and in which share of the sentences X verbs you."""
    found = [result for result in results if "pattern" in result]
    if not found:
        return "–", "–"
    shares = [result["pattern"] for result in found]
    share = f"{mean(shares):.0f} % ({min(shares):.0f}-{max(shares):.0f})"
    return f"{sum(result['textbook'] for result in found)} of {len(found)}", share


def quality(name: str, results: list[dict[str, Any]]) -> list[str]:
    """A row of the first table."""
    scores = [spread(results, key) for key in (*SPLITS, "aer")]
    return [name, str(len(results)), *scores, *pattern(results)]


def cost(name: str, results: list[dict[str, Any]], speed: Speed | None) -> list[str]:
    """A row of the second table."""
    numbers = [results[0]["parameters"], *([] if speed is None else speed)]
    return [name, spread(results, "eos"), *(f"{number:,.0f}" for number in numbers)]


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", type=Path, help="the folder of the runs")
    parser.add_argument("--speed", action="store_true", help="measure it; nothing else should run meanwhile")
    arguments = parser.parse_args()
    folders = sorted(path.parent for path in arguments.study.glob("*/config.yaml"))
    first: dict[str, RunDirectory] = {}
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for folder in folders:
        if RunDirectory.open(folder).status() == "finished":
            result = measure(folder)
            groups[result["attention"]].append(result)
            first.setdefault(result["attention"], RunDirectory.open(folder))
    head = [
        "attention",
        "seeds",
        "test BLEU",
        "test_unseen",
        "test_long",
        "AER",
        "je, t', aime",
        "X verbs you",
    ]
    print(table(head, [quality(*group) for group in groups.items()]), end="\n\n")
    measured = speeds(first) if arguments.speed else {}
    head = ["attention", "end of sentence, %", "parameters", "training tokens/s", "sentences/s"]
    rows = [cost(name, results, measured.get(name)) for name, results in groups.items()]
    print(table(head[: len(rows[0])], rows))


if __name__ == "__main__":
    main()
