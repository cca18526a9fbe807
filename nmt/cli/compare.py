"""nmt-compare: variants trained alike, runs or files of translations, in one table and one report."""

import logging
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nmt.cli.command import Arguments, adopt, run_command
from nmt.cli.outputs import split_paths
from nmt.cli.run_settings import changed_group
from nmt.cli.study import plan, train_missing
from nmt.config import compose
from nmt.config.compose import groups
from nmt.config.literal import absolute_paths, split_override
from nmt.config.nearest import did_you_mean
from nmt.errors import NMTError

if TYPE_CHECKING:
    from nmt.comparison.scoring import Comparison
    from nmt.comparison.systems import Task, Training, Variant
    from nmt.training.run_directory import RunDirectory

USAGE = """
nmt-compare says which variant translates better, and whether that is more than luck.

  nmt-compare attention=additive,dot,none seeds=1,2,3 run_dir=runs/study     train what is missing, compare
  nmt-compare axis=model.hidden_size values=128,256 ...     any setting; two with several values make a grid
  nmt-compare ... jobs=2 threads=1                          two runs at once, one thread each
  nmt-compare ... baseline=dot format=markdown              tested against dot, printed as Markdown
  nmt-compare runs=runs/a,runs/b                            runs that exist; also a folder of runs
  nmt-compare hypotheses.ours=a.fr hypotheses.theirs=b.fr references=test.fr source=test.en     files alone

What is no setting below is nmt-train's, for all runs alike. The same command continues a comparison that was
interrupted; finished runs are never trained again. The tables and report.html stand in run_dir.
"""
_SHARED = ("device", "allow_modules", "verbose")  # settings of nmt-train, too
_FILES = "hypotheses."

log = logging.getLogger(__name__)


class Request(NamedTuple):
    """A command line, sorted."""

    own: dict[str, Any]  # values of compare.yaml
    files: dict[str, list[str]]  # of translations, by the name of the system
    training: list[str]  # overrides of nmt-train
    command: str
    folders: list[Path]


class Found(NamedTuple):
    """What there is to compare."""

    axes: list[str]  # config keys
    variants: "list[Variant]"
    task: "Task"
    training: "Training"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return run_command("compare", USAGE, _compare, argv)


def _compare(arguments: Arguments) -> None:
    request = read_request(arguments)
    found = _found(request)
    comparison = _comparison(request, found)
    if request.own["run_dir"]:
        _write(comparison, found.training, Path(request.own["run_dir"]))
    else:
        log.info("add run_dir=DIR for the report, figures, and the table in all formats")
    from nmt.comparison.table import render

    sys.stdout.write(render(comparison, request.own["format"]))


def _comparison(request: Request, found: Found) -> "Comparison":
    """The variants scored and tested; says what makes the comparison unfair."""
    from nmt.comparison.fairness import warnings
    from nmt.comparison.scoring import Comparison, make_omissions, score_variants
    from nmt.evaluation import hypothesis_warnings

    baseline = _baseline(request.own["baseline"], [variant.name for variant in found.variants])
    said = warnings(found.variants, found.axes)
    systems = [system for variant in found.variants for system in variant.systems]
    for system in systems:
        said += [f"{system.name}: {warning}" for warning in hypothesis_warnings(system.translations)]
    for warning in said:
        log.warning(warning)
    log.info("scoring %d systems", len(systems))
    omissions = make_omissions(found.task, found.training)
    rows, signatures = score_variants(found.variants, found.task, omissions, baseline)
    return Comparison(found.task, rows, baseline, signatures, said, found.axes, request.command)


def read_request(arguments: Arguments) -> Request:
    """What a command line asks for; raises where settings exclude each other or are mistyped."""
    from omegaconf import OmegaConf

    from nmt.comparison.table import FORMATS

    known = set(compose("compare"))
    own_texts, training = [], []
    files: dict[str, list[str]] = {}
    for text in arguments.overrides:
        key, value = split_override(text)
        if key.startswith(_FILES) and value:
            files[key.removeprefix(_FILES)] = split_paths(value)
            continue
        if key == "hypotheses":
            raise NMTError(f"{text}: name the system, such as hypotheses.ours={value}")
        if key in known:
            own_texts.append(text)
        if key not in known or key in _SHARED:
            training.append(text)
    _check_keys(training, known)
    config = compose("compare", own_texts, arguments.folders)
    adopt(config)
    own = {str(key): value for key, value in OmegaConf.to_container(config, resolve=True).items()}  # type: ignore[union-attr]
    if own["format"] not in FORMATS:
        raise NMTError(f"format={own['format']}: choose from {', '.join(FORMATS)}")
    own["baseline"] = None if own["baseline"] is None else str(own["baseline"])  # such as a size
    for key in ("jobs", "threads"):
        if own[key] is not None and (not isinstance(own[key], int) or own[key] < 1):
            raise NMTError(f"{key}={own[key]}: give a whole number from 1 on")
    command = shlex.join(["nmt-compare", *arguments.overrides])
    return Request(own, files, absolute_paths(training), command, arguments.folders)


def _check_keys(training: Sequence[str], known: set[str]) -> None:
    """Raise for a key that neither this command nor nmt-train has at its top level."""
    valid = known | set(compose("train")) | set(groups()) | {"hypotheses.NAME"}
    for text in training:
        top = split_override(text)[0].partition(".")[0].partition("/")[0].partition("@")[0]
        if top not in valid and not text.startswith("+"):
            raise NMTError(f"{text}: there is no {top}, {did_you_mean(top, valid)}")


def _found(request: Request) -> Found:
    """What is compared: trained if need be, and measured."""
    own = request.own
    if own["runs"] is not None:
        return _existing(request)
    if request.files and not _is_study(request):
        return _files_alone(request)
    if own["references"] is not None or own["source"] is not None:
        key = "references" if own["references"] is not None else "source"
        raise NMTError(f"{key}={own[key]}: runs know their own; it belongs to hypotheses.NAME=FILE alone")
    return _study(request)


def _is_study(request: Request) -> bool:
    """Whether there is anything to train, beside the given files."""
    others = [text for text in request.training if split_override(text)[0] not in _SHARED]
    return bool(others or request.own["axis"] or request.own["seeds"])


def _study(request: Request) -> Found:
    own = request.own
    overrides, seeds = _axes_and_seeds(request)
    study = plan(overrides, seeds, own["run_dir"], request.folders)
    own["run_dir"] = str(study.folder)
    _check_baseline(request, (run.variant for run in study.runs))
    train_missing(study, own["jobs"], own["threads"], own["overwrite"], request.folders)
    from nmt.training.run_directory import RunDirectory

    named = [(run.variant, RunDirectory.open(run.path)) for run in study.runs]
    variants, task, training = _measured(named, own, [], [])
    return Found(study.axes, [*variants, *_file_variants(request, task)], task, training)


def _axes_and_seeds(request: Request) -> tuple[list[str], list[str]]:
    """The overrides of nmt-train with `axis` among them, and the seeds."""
    own = request.own
    if (own["axis"] is None) != (own["values"] is None):
        raise NMTError(f"axis={own['axis']} and values={own['values']}: give both")
    if own["axis"] == "seed":
        raise NMTError(f"axis=seed: seeds are no axis but repetitions; write seeds={own['values']}")
    overrides = [text for text in request.training if split_override(text)[0] != "seed"]
    given = [split_override(text)[1] or "" for text in request.training if split_override(text)[0] == "seed"]
    if given and own["seeds"] is not None:
        raise NMTError(f"seed={given[0]} and seeds={own['seeds']}: give one of them")
    seeds = [seed.strip() for seed in (own["seeds"] or (given[-1] if given else "1")).split(",")]
    if not all(seed.isdecimal() for seed in seeds) or len(set(seeds)) < len(seeds):
        raise NMTError(f"seeds={','.join(seeds)}: give whole numbers, each once, such as seeds=1,2,3")
    if own["axis"] is not None:
        overrides.append(f"{own['axis']}={own['values']}")
    return overrides, seeds


def _existing(request: Request) -> Found:
    from nmt.comparison.existing import named_runs

    own = request.own
    for key in ("seeds", "values"):
        if own[key] is not None:
            raise NMTError(f"{key}={own[key]}: runs= compares runs as they are; leave it out")
    changes: dict[str, list[str]] = {"data": [], "search": []}
    for text in request.training:
        key = split_override(text)[0]
        group = key.partition(".")[0]
        if group not in changes and key not in _SHARED:
            raise NMTError(f"{text}: runs= compares runs as they are; only data and search can be changed")
        changes.get(group, []).append(text)
    named = named_runs(own["runs"])
    _check_baseline(request, (name for name, _ in named))
    variants, task, training = _measured(named, own, changes["data"], changes["search"])
    axes = [] if own["axis"] is None else [str(own["axis"])]
    return Found(axes, [*variants, *_file_variants(request, task)], task, training)


def _files_alone(request: Request) -> Found:
    from nmt.comparison.systems import Training, task_of_files

    own = request.own
    if own["references"] is None:
        raise NMTError("hypotheses.NAME=FILE: needs references=FILE[,FILE] too, or runs=DIR")
    task = task_of_files(split_paths(own["references"]), own["source"])
    return Found([], _file_variants(request, task), task, Training([], Counter()))


def _file_variants(request: Request, task: "Task") -> "list[Variant]":
    from nmt.comparison.systems import Variant, system_of_file

    return [
        Variant(name, [system_of_file(path, task) for path in paths]) for name, paths in request.files.items()
    ]


def _measured(
    named: "Sequence[tuple[str, RunDirectory]]",
    own: dict[str, Any],
    data_changes: list[str],
    search_changes: list[str],
) -> tuple[list["Variant"], "Task", "Training"]:
    """The runs as variants (those of one name are one), the task that all share, and the first's training."""
    from nmt.comparison.measure import measure
    from nmt.comparison.systems import Variant, require_same_task, task_of_split, training_of

    variants: dict[str, Variant] = {}
    first = None
    for name, run in named:
        config = run.config()
        data = changed_group(config, "data", data_changes)
        task, corpus = task_of_split(data, own["split"])
        if first is None:
            first, training = task, training_of(data)
        require_same_task(first, task, str(named[0][1].path), str(run.path))
        search = changed_group(config, "search", search_changes)
        system = measure(run, task, corpus, search, own["device"])
        variants.setdefault(name, Variant(name, [])).systems.append(system)
    assert first is not None
    return list(variants.values()), first, training


def _baseline(wanted: str | None, names: Sequence[str]) -> int:
    """The position of the variant called `wanted`; either may lack its key (attention=dot, dot)."""
    if wanted is None:
        return 0
    alike = [name for name in names if wanted == name.partition("=")[2] or name == wanted.partition("=")[2]]
    for name in [wanted, *alike]:
        if wanted and name in names:
            return list(names).index(name)
    raise NMTError(f"baseline={wanted}: there is no such variant, {did_you_mean(wanted, names)}")


def _check_baseline(request: Request, names: Iterable[str]) -> None:
    """Raise where the baseline is none of `names` and the files', before hours go into the runs."""
    _baseline(request.own["baseline"], [*dict.fromkeys(names), *request.files])


def _write(comparison: "Comparison", training: "Training", folder: Path) -> None:
    """The table in every format, the report and its figures."""
    from nmt.comparison.breakdown import breakdowns
    from nmt.comparison.figures import write_figures
    from nmt.comparison.report import write_report
    from nmt.comparison.table import FORMATS, render
    from nmt.files import write_atomically

    folder.mkdir(parents=True, exist_ok=True)
    for format, ending in FORMATS.items():
        with write_atomically(folder / f"table.{ending}", "w") as file:
            file.write(render(comparison, format))
    parts = breakdowns(comparison, training.words)
    with write_atomically(folder / "report.html", "w") as file:
        write_report(comparison, parts, file)
    write_figures(comparison, parts, folder / "figures")
    log.info("tables, report.html and figures are in %s", folder)


if __name__ == "__main__":
    sys.exit(main())
