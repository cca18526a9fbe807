"""nmt-evaluate: scores of a run, of a file of translations, or of a file of word links."""

import json
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nmt.cli.command import Arguments, run_command
from nmt.cli.run_settings import Settings, changed_group, load_translator, read_settings
from nmt.config.literal import split_override
from nmt.errors import NMTError

USAGE = """
nmt-evaluate scores translations (BLEU and chrF, each with sacreBLEU's signature) and word links (AER).

  nmt-evaluate run=runs/demo                                  the run on its own test set
  nmt-evaluate run=runs/demo split=test_long                  on another set of its data
  nmt-evaluate run=runs/demo data=files data.test.source=a.en data.test.target=a.fr
  nmt-evaluate hypotheses=out.fr references=a.fr              a file; several references: references=a.fr,b.fr
  nmt-evaluate alignments=out.talp gold=a.talp                AER, precision, recall and F1 in percent

A run's translations and scores are written beside: RUN/evaluation/SPLIT.hyp and .json.
"""

log = logging.getLogger(__name__)
_MODES = ("run", "hypotheses", "alignments")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return run_command("evaluate", USAGE, _evaluate, argv)


def _evaluate(arguments: Arguments) -> None:
    settings = read_settings("evaluate", arguments, groups=("data", "search"))
    own = settings.own
    given = [mode for mode in _MODES if own[mode] is not None]
    if len(given) != 1:
        received = " and ".join(f"{mode}={own[mode]}" for mode in given) or "none of them"
        raise NMTError(f"give one of run=, hypotheses= and alignments= (received {received})")
    if own["format"] not in ("text", "json"):
        raise NMTError(f"format={own['format']}: choose text or json")
    evaluate = {"run": _run, "hypotheses": _hypotheses, "alignments": _alignments}[given[0]]
    text, values = evaluate(settings)
    sys.stdout.write(text if own["format"] == "text" else json.dumps(values, ensure_ascii=False) + "\n")


def _hypotheses(settings: Settings) -> tuple[str, dict[str, Any]]:
    from nmt.data.lines import read_lines
    from nmt.evaluation import hypothesis_warnings, score

    own = settings.own
    if own["references"] is None:
        raise NMTError(f"hypotheses={own['hypotheses']}: needs references=FILE[,FILE] too")
    hypotheses = list(read_lines(own["hypotheses"]))
    references = [list(read_lines(path)) for path in _files(own["references"])]
    for warning in hypothesis_warnings(hypotheses):
        log.warning(warning)
    scores = score(hypotheses, references)
    return scores.text(), scores.to_json()


def _files(text: str) -> list[str]:
    """The files of a comma-separated list; a file whose name holds a comma stands alone."""
    return [text] if Path(text).exists() else text.split(",")


def _alignments(settings: Settings) -> tuple[str, dict[str, Any]]:
    from nmt.alignment import score_link_files
    from nmt.data.links import read_links

    own = settings.own
    if own["gold"] is None:
        raise NMTError(f"alignments={own['alignments']}: needs gold=FILE too")
    lengths = _lengths(own)
    if lengths is not None:  # every position of both files must lie in its sentence
        read_links(own["alignments"], lengths, own["base"])
        read_links(own["gold"], lengths, own["gold_base"])
    rate = score_link_files(own["alignments"], own["gold"], own["base"], own["gold_base"])
    return rate.text() + "\n", rate.to_json()


def _lengths(own: dict[str, Any]) -> list[tuple[int, int]] | None:
    """The number of words of each pair of `source` and `target`, where both files are given."""
    from nmt.data.lines import read_lines
    from nmt.data.words import split_words

    if own["source"] is None and own["target"] is None:
        return None
    if own["source"] is None or own["target"] is None:
        raise NMTError("source= and target=: give both or none")
    if own["words"] not in ("split", "whitespace"):
        raise NMTError(f"words={own['words']}: choose split or whitespace")
    split = split_words if own["words"] == "split" else str.split
    sides = [[len(split(line)) for line in read_lines(own[side])] for side in ("source", "target")]
    if len(sides[0]) != len(sides[1]):
        raise NMTError(
            f"source={own['source']} has {len(sides[0])} lines and target={own['target']} has "
            f"{len(sides[1])}; give two files of the same number of lines"
        )
    return list(zip(*sides, strict=True))


def _run(settings: Settings) -> tuple[str, dict[str, Any]]:
    from nmt.evaluation.run import evaluate_run
    from nmt.training.run_directory import RunDirectory

    own = settings.own
    config = RunDirectory.open(own["run"]).config()
    chosen = dict(map(split_override, settings.changes["data"]))
    if "data.dir" in chosen and "data" not in chosen:
        raise NMTError(f"data.dir={chosen['data.dir']}: say which data it holds too, such as data=multi30k")
    data = changed_group(config, "data", settings.changes["data"])
    folder = Path(own["run"], "evaluation", chosen.get("data") or "")
    result = evaluate_run(load_translator(settings), data, own["split"], folder)
    return result.text(), result.to_json()


if __name__ == "__main__":
    sys.exit(main())
