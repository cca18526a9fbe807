"""nmt-evaluate: scores of a run, of a file of translations, or of a file of word links."""

import json
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nmt.cli.aligner import check_reading, load_aligner
from nmt.cli.command import Arguments, run_command
from nmt.cli.run_settings import Settings, changed_group, load_translator, read_settings
from nmt.config.literal import split_override
from nmt.errors import NMTError

USAGE = """
nmt-evaluate scores translations (BLEU and chrF, each with sacreBLEU's signature) and word links (AER).

  nmt-evaluate run=runs/demo                                  the run on its own test set
  nmt-evaluate run=runs/demo split=test_long                  on another set of its data
  nmt-evaluate run=runs/demo choose=gold                      links as layer, head, step ... align best on dev
  nmt-evaluate run=runs/en-fr reverse=runs/fr-en              links of both directions, symmetrised
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
    if own["words"] not in (None, "split", "whitespace"):
        raise NMTError(f"words={own['words']}: choose split or whitespace")
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
    from nmt.alignment.baselines import baselines
    from nmt.alignment.symmetrise import DEFAULT_METHOD
    from nmt.data.links import read_links
    from nmt.evaluation.alignments import AlignmentScores

    own = settings.own
    if own["gold"] is None:
        raise NMTError(f"alignments={own['alignments']}: needs gold=FILE too")
    lengths = _lengths(own)
    check_reading(own)
    method = own["symmetrise"] or DEFAULT_METHOD
    rate = score_link_files(
        own["alignments"], own["gold"], own["base"], own["gold_base"], lengths, own["reverse"], method
    )
    if lengths is None:
        return rate.text() + "\n", rate.to_json()
    gold = read_links(own["gold"], lengths, own["gold_base"]).sentences
    scores = AlignmentScores(rate, baselines(lengths, gold))
    return scores.text(), scores.to_json()


def _lengths(own: dict[str, Any]) -> list[tuple[int, int]] | None:
    """The number of words of each pair of `source` and `target`, where both files are given."""
    from nmt.data.lines import read_lines
    from nmt.data.words import split_words

    if own["source"] is None and own["target"] is None:
        return None
    if own["source"] is None or own["target"] is None:
        raise NMTError("source= and target=: give both or none")
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
    from nmt.translator.runs import open_runs

    own = settings.own
    runs = open_runs(own["run"])
    config = runs[0].config()
    chosen = dict(map(split_override, settings.changes["data"]))
    if "data.dir" in chosen and "data" not in chosen:
        raise NMTError(f"data.dir={chosen['data.dir']}: say which data it holds too, such as data=multi30k")
    data = changed_group(config, "data", settings.changes["data"])
    folder = runs[0].path / "evaluation" / (chosen.get("data") or "") if len(runs) == 1 else None
    check_reading(own)
    if own["choose"] and own["choose_on"] == own["split"]:
        raise NMTError(
            f"choose_on={own['choose_on']} and split={own['split']}: choose on another set than is scored"
        )
    translator = load_translator(settings, split="long")
    result = evaluate_run(translator, data, own["split"], folder, load_aligner(settings, translator, data))
    return result.text(), result.to_json()


if __name__ == "__main__":
    sys.exit(main())
