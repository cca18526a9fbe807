"""nmt-compare as people type it: what it trains and what it finds, mistakes, and what it writes."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nmt.cli import compare, evaluate, study, train, translate
from nmt.cli.run_folder import expand
from nmt.cli.study import plan
from nmt.comparison.table import FORMATS
from nmt.config import compose
from nmt.training.run_directory import RunDirectory

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run the command within this process: status, stdout and stderr."""

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = compare.main(arguments)
        return status, *capsys.readouterr()

    return call


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """The arguments that compare two files of translations."""
    lines = {
        "a": "il voit\nelle dort\n",
        "b": "il voit\nelle mange\n",
        "r": "il voit\nelle dort\n",
        "s": "x\ny\n",
    }
    for name, text in lines.items():
        (tmp_path / name).write_text(text)
    hypotheses = [f"hypotheses.{name}={tmp_path / name}" for name in ("a", "b")]
    return [*hypotheses, f"references={tmp_path / 'r'}"]


# Files


def test_files_need_no_model(cli: Cli, files: list[str], tmp_path: Path) -> None:
    status, out, err = cli(*files, f"source={tmp_path / 's'}", "baseline=b", f"run_dir={tmp_path / 'out'}")
    assert status == 0
    assert out.splitlines()[2].startswith("a") and "100.00" in out
    assert "against b, corrected for 1 comparison by Holm" in out
    assert {f"table.{ending}" for ending in FORMATS.values()} < {p.name for p in (tmp_path / "out").iterdir()}
    assert (tmp_path / "out" / "report.html").is_file() and (
        tmp_path / "out" / "figures" / "bleu.png"
    ).is_file()
    assert (tmp_path / "out" / "table.txt").read_text(encoding="utf-8") == out
    assert "nmt-compare" in json.loads(cli(*files, "format=json")[1])["command"]


def test_several_files_are_seeds(cli: Cli, files: list[str], tmp_path: Path) -> None:
    several = [f"hypotheses.both={tmp_path / 'a'},{tmp_path / 'b'}", files[-1]]
    row = json.loads(cli(*several, "format=json")[1])["rows"][0]
    assert len(row["facts"]["bleu"]["values"]) == 2


# Mistakes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there is nothing to compare"),
        (["attention=additive"], "there is nothing to compare"),
        (["attention=additiv,dot"], "there is no attention additiv, did you mean additive?"),
        (["atention=additive,dot"], "there is no atention, did you mean attention?"),
        (["basline=dot", "attention=additive,dot"], "did you mean baseline?"),
        (["axis=seed"], "axis=seed and values=None: give both"),
        (["attention=additive,dot", "seeds=1,x"], "seeds=1,x: give whole numbers"),
        (["attention=additive,dot", "seeds=1,1"], "each once"),
        (["attention=additive,dot", "seed=1", "seeds=1,2"], "give one of them"),
        (["attention=additive,dot", "jobs=0"], "jobs=0: give a whole number"),
        (["attention=additive,dot", "format=pdf"], "format=pdf: choose from text, markdown"),
        (["runs=nowhere"], "nowhere: there is no such run directory"),
        (["runs=nowhere", "seeds=1,2"], "runs= compares runs as they are"),
        (["runs=nowhere", "attention=dot"], "only data and search can be changed"),
        (["hypotheses=a.fr"], "name the system, such as hypotheses.ours=a.fr"),
        (["hypotheses.a=a.fr"], "needs references=FILE"),
        (["attention=additive,dot", "references=a"], "belongs to hypotheses.NAME=FILE"),
        (["attention=additive,dot", "baseline=dit", "run_dir=nowhere"], "no such variant, did you mean dot?"),
    ],
)
def test_mistakes_are_told_in_one_line(cli: Cli, arguments: list[str], message: str) -> None:
    status, out, err = cli(*arguments)
    assert (status, out) == (1, "") and message in err
    assert err.count("\n") == 1 and err.startswith("nmt-compare: ")


def test_mistakes_about_files(cli: Cli, files: list[str], tmp_path: Path) -> None:
    for unknown in ("c", ""):
        assert "there is no such variant" in cli(*files, f"baseline={unknown}")[2]
    (tmp_path / "b").write_text("one line\n")
    assert "has 1 lines, but there are 2 references" in cli(*files)[2]


# Runs


def test_runs_are_those_of_a_multirun(tmp_path: Path) -> None:
    made = plan(["attention=additive,dot", "model.hidden_size=8,16"], ["1", "2"], str(tmp_path), [])
    jobs = expand(["attention=additive,dot", "model.hidden_size=8,16", "seed=1,2"])
    assert [run.path for run in made.runs] == [tmp_path / str(job.name) for job in jobs]
    assert made.axes == ["attention", "model.hidden_size"]
    assert made.runs[0].variant == "additive, 8" and made.runs[0].config.seed == 1


def test_a_run_under_another_name_is_found(tmp_path: Path) -> None:
    RunDirectory.create(tmp_path / "seed=2+mine", compose("train", ["seed=2", "attention=dot", "device=cpu"]))
    made = plan(["attention=additive,dot"], ["1", "2"], str(tmp_path), [])
    assert made.runs[3].path == tmp_path / "seed=2+mine"


def test_the_same_comparison_has_the_same_folder() -> None:
    few, more = (
        plan([f"attention={a}", "optimizer.lr=1"], s, None, [])
        for a, s in (("dot,none", "1"), ("dot,qkv", "12"))
    )
    assert few.folder == more.folder == Path("runs/demo+optimizer.lr=1-by-attention")


@pytest.fixture
def variants(small_run: list[str], tmp_path: Path) -> list[str]:
    """The arguments of a comparison of two very small runs."""
    test = [f"data.test.{side}={tmp_path}/a.{end}" for side, end in (("source", "en"), ("target", "fr"))]
    short = ["search.beam_size=1", "search.max_length_ratio=1", "search.max_length_offset=2"]
    return ["attention=dot,none", *small_run, *test, *short, f"run_dir={tmp_path / 'study'}"]


def test_trains_what_is_missing_and_never_again(
    cli: Cli, variants: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, out, err = cli(*variants, "jobs=2", "threads=1", "format=json")
    assert status == 0, err
    first = json.loads(out)
    assert [row["name"] for row in first["rows"]] == ["dot", "none"] and first["warnings"] == []
    facts = first["rows"][0]["facts"]
    assert {"entropy", "eos_share", "perplexity", "parameters", "peak_memory"} <= facts.keys()
    assert "entropy" not in first["rows"][1]["facts"]
    assert RunDirectory.open(tmp_path / "study" / "attention=dot").status() == "finished"

    def refuse(*arguments: Any) -> None:
        raise AssertionError("measured or trained again")

    monkeypatch.setattr(study.subprocess, "Popen", refuse)
    monkeypatch.setattr("nmt.comparison.measure._measured", refuse)
    weights = [*tmp_path.glob("study/*/checkpoints/*.s*")]  # and the state that training continues from
    for file in weights:
        file.unlink()
    assert weights and json.loads(cli(*variants, "format=json")[1])["rows"] == first["rows"]
    runs = [f"runs={tmp_path / 'study'}", *(text for text in variants if text.startswith("data.test."))]
    again = json.loads(cli(*runs, "format=json", "axis=attention")[1])
    assert [row["bleu"] for row in again["rows"]] == [row["bleu"] for row in first["rows"]]
    status, _, err = cli(*variants, "training.max_updates=3")
    assert status == 1 and "holds a finished run with other settings (training.max_updates: 4 and 3)" in err


def test_a_line_of_a_test_set_is_translated_whole(
    cli: Cli, small_run: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any) -> None:
        raise AssertionError("split into sentences")

    monkeypatch.setattr("nmt.translator.source.sentence_ends", refuse)
    run = tmp_path / "runs" / "a"
    test = [f"data.test.source={tmp_path}/a.en", f"data.test.target={tmp_path}/a.fr"]
    assert train.main([*small_run, *test, "attention=dot", f"run_dir={run}"]) == 0
    assert evaluate.main([f"run={run}", "search.beam_size=1"]) == 0
    assert cli(f"runs={run}", "search.beam_size=1", f"run_dir={tmp_path / 'c'}")[0] == 0
    with pytest.raises(AssertionError, match="split into sentences"):
        translate.main([f"run={run}", f"input={tmp_path}/a.en", f"output={tmp_path}/o"])


def test_overwriting_keeps_what_cannot_be_trained_anew(cli: Cli, variants: list[str], tmp_path: Path) -> None:
    assert cli(*variants, "jobs=2")[0] == 0
    run = RunDirectory.open(tmp_path / "study" / "attention=dot")
    (tmp_path / "a.fr").rename(tmp_path / "b.fr")
    more = ["training.max_updates=3", "overwrite=true", "jobs=2"]
    assert "2 of 2 runs failed" in cli(*variants, *more)[2]
    assert run.status() == "finished" and run.config().training.max_updates == 4
    (tmp_path / "b.fr").rename(tmp_path / "a.fr")
    assert cli(*variants, *more)[0] == 0
    assert run.status() == "finished" and run.config().training.max_updates == 3


def test_a_failed_run_is_named_and_the_others_are_kept(cli: Cli, variants: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.fr").write_text("je\n")
    status, out, err = cli(*variants, "jobs=2")
    assert (status, out) == (1, "")
    assert "2 of 2 runs failed" in err and "a.fr" in err.splitlines()[-1]


def test_killed_at_three_random_moments_it_ends_in_the_same_table(
    variants: list[str], tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "nmt.cli.compare", *variants[:-1], "threads=1", "format=json"]

    def start(folder: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*command, f"run_dir={tmp_path / folder}"],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    begin = time.monotonic()
    whole, _ = start("whole").communicate()
    seconds = time.monotonic() - begin
    for _ in range(3):
        process = start("killed")
        time.sleep(random.uniform(0.2, 0.9) * seconds)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    resumed, _ = start("killed").communicate()
    assert _without_costs(resumed) == _without_costs(whole)


def _without_costs(output: str) -> list[dict[str, Any]]:
    """The rows of a table, without times and memory and where the runs lie."""
    rows = json.loads(output)["rows"]
    for row in rows:
        del row["systems"]
        for name in ("minutes", "tokens_per_second", "sentences_per_second", "peak_memory"):
            row["facts"].pop(name, None)
    return rows


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_of_a_comparison_knows_the_settings_of_its_runs(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    for typed, expected in {
        "attention=additive,dot seeds=1,2 training.max_u": {"training.max_updates="},
        "attention=additive,dot base": {"baseline="},
        "axis=seed attention=lo": {"attention=local_m", "attention=local_p", "attention=location"},
        "optimizer.lr=0.1 dev": {"device="},
    }.items():
        monkeypatch.setenv("COMP_LINE", f"nmt-compare {typed}")
        status, out, err = cli("-sc", f"query={shell}")
        assert (status, err) == (0, "") and set(out.split()) == expected and len(out.split()) == len(expected)
