"""nmt-translate as people use it: files in and out, formats, wishes, interruptions."""

# ruff: noqa: F811  (fixtures come by import)

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from test_cli import Cli, cli, own_text, python, run, texts

from nmt.cli import inputs
from nmt.cli.outputs import Output, open_output

__all__ = ["cli", "own_text", "run", "texts"]
LINES = ["I want tea.", "", "you see milk.", "we like bread."]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "a.en"
    file.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return file


def translated(cli: Cli, run: Path, *arguments: str, stdin: bytes = b"") -> str:
    status, out, err = cli("translate", f"run={run}", *arguments, stdin=stdin)
    assert (status, err) == (0, ""), err
    return out


def expected_lines(cli: Cli, run: Path, source: Path) -> str:
    return translated(cli, run, f"input={source}")


def test_gzip_both_ways(cli: Cli, run: Path, source: Path, tmp_path: Path) -> None:
    packed, output = tmp_path / "b.en.gz", tmp_path / "b.fr.gz"
    packed.write_bytes(gzip.compress(source.read_bytes()))
    assert translated(cli, run, f"input={packed}", f"output={output}") == ""
    assert gzip.decompress(output.read_bytes()).decode() == expected_lines(cli, run, source)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.en", "b.en.gz", "b.fr.gz"]


def test_several_files_go_to_one_to_a_list_or_into_a_folder(
    cli: Cli, run: Path, source: Path, tmp_path: Path
) -> None:
    other = tmp_path / "b.en"
    other.write_text("you see milk.", encoding="utf-8")
    first, second = expected_lines(cli, run, source), expected_lines(cli, run, other)
    both = f"input={source},{other}"
    assert translated(cli, run, both) == first + second
    (tmp_path / "out").mkdir()
    for output in ("one", f"x,{tmp_path / 'y'}", "out"):
        translated(cli, run, both, f"output={tmp_path / output}")
    assert (tmp_path / "one").read_text() == first + second
    assert [(tmp_path / name).read_text() for name in ("x", "y")] == [first, second]
    assert [(tmp_path / "out" / name).read_text() for name in ("a.en", "b.en")] == [first, second]


def test_a_dash_is_standard_input_or_output(
    cli: Cli, run: Path, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = translated(cli, run, "input=-", "output=-", stdin=source.read_bytes())
    assert found == expected_lines(cli, run, source)
    assert [file.name for file in tmp_path.iterdir()] == ["a.en"]


def test_translating_waits_for_nothing_that_it_does_not_need(run: Path) -> None:
    program = "import sys; from nmt.cli.translate import main; main(sys.argv[1:]); print(*sys.modules)"
    process = python("-c", program, f"run={run}", "text=I want tea.")
    out, err = process.communicate(timeout=600)
    unneeded = {"datasets", "pyarrow", "pandas", "matplotlib", "sacrebleu", "tensorboard", "polib", "sympy"}
    assert not unneeded & set(out.split()) and "torch" in out.split(), err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["output={source}"], "output={source}: is an input file too, which it would replace"),
        (["output=no/b.fr"], "output=no/b.fr: there is no folder no; make it first"),
        (["input={source},{source}", "output=x,y,z"], "output=x,y,z: 3 names for 2 input files; .*"),
        (["input={source},absent"], "there is no file absent: check the path"),
        (["format=jsn"], r"format=jsn is unknown: did you mean json\?"),
        (["format=npz"], "format=npz is no text for standard output: give output=FILE.npz"),
        (["resume=true"], "resume=true continues a file .*"),
        (["errors=ignore"], r"errors=ignore: choose strict \(an error\) or replace .*"),
        (["columns=target"], "columns=target: needs source, and each name once"),
        (["columns=source,prefx"], "columns=source,prefx: there is no prefx, choose from .*"),
        (["columns=source,target"], "{source}, line 1: has no target; .*"),
        (["split=maybe"], "split=maybe: choose always, long or never"),
        (["workers=0"], "workers=0 threads=None: give a whole number of each, 1 or more"),
        (["threads=many"], "workers=1 threads=many: give a whole number of each, 1 or more"),
        (["lexicon=absent"], "there is no file absent: check the path"),
        (["require=Łódź"], "{source}, line 1: required word 'Łódź': this run's vocabulary cannot spell it"),
    ],
)
def test_a_mistake_is_one_line(cli: Cli, run: Path, source: Path, arguments: list[str], message: str) -> None:
    import re

    given = [text.replace("{source}", str(source)) for text in arguments]
    if not given[0].startswith("input="):
        given.append(f"input={source}")
    status, out, err = cli("translate", f"run={run}", *given)
    assert (status, out) == (1, "")
    assert re.fullmatch(f"nmt-translate: {message.replace('{source}', str(source))}\n", err), err


def test_formats(cli: Cli, run: Path, source: Path, tmp_path: Path) -> None:
    def of(format: str, *more: str) -> list[str]:
        return translated(cli, run, f"input={source}", f"format={format}", *more).split("\n")[:-1]

    text = of("text")
    assert of("tsv") == [f"{line}\t{found}" for line, found in zip(LINES, text, strict=True)]
    best = of("nbest", "search.n_best=2")
    assert [line.split(" ||| ")[0] for line in best] == ["0", "0", "1", "2", "2", "3", "3"]
    assert best[0].split(" ||| ")[1] == text[0]
    objects = [json.loads(line) for line in of("json")]
    assert [each["translation"] for each in objects] == text
    scores = [list(map(float, line.split("\t"))) for line in of("score")]
    pieces = [[cell.split(" ") for cell in line.split("\t") if cell] for line in of("tokens")]
    for each, (log_probability, perplexity), tokens in zip(objects, scores, pieces, strict=True):
        (found,) = each["hypotheses"]
        assert found["log_probability"] == pytest.approx(log_probability)
        assert found["perplexity"] == pytest.approx(perplexity)
        assert [[piece, pytest.approx(float(value))] for piece, value in tokens] == found["tokens"]
        assert sum(float(value) for _, value in tokens) == pytest.approx(log_probability, abs=1e-4)
    for line, matrix, each in zip(of("pharaoh"), of("attention"), objects, strict=True):
        words, others, links = line.split(" ||| ") if line.strip("| ") else ("", "", "")
        assert json.loads(matrix) == each["hypotheses"][0]["alignment"]
        assert (words.split(), others.split()) == (json.loads(matrix)["source"], json.loads(matrix)["target"])
        assert [link.split("-") for link in links.split()] == [
            [str(place) for place in link] for link in json.loads(matrix)["links"]
        ]
    translated(cli, run, f"input={source}", "format=npz", f"output={tmp_path / 'm.npz'}")
    with np.load(tmp_path / "m.npz") as arrays:
        assert arrays["source_2"].tolist() == ["you", "see", "milk", "."]
        assert arrays["weights_2"].shape == (len(arrays["target_2"]), 4)


def test_pairs_are_scored(cli: Cli, run: Path) -> None:
    pairs = "I want tea.\tje veux thé.\n\t\nyou see milk.\t\n".encode()
    rows = [
        line.split("\t") for line in translated(cli, run, "columns=source,target", stdin=pairs).splitlines()
    ]
    assert len(rows) == 3 and all(float(score) < 0 < float(perplexity) for score, perplexity in rows)


def test_wishes_of_a_line_and_of_all_lines(cli: Cli, run: Path) -> None:
    begun = translated(cli, run, "columns=source,prefix", stdin=b"I want tea.\telle aime\nwe see milk.\n")
    assert begun.startswith("elle aime")
    wishes = b"I want tea.\tpain\nI want tea.\nwe see milk.\t\tpain,lait\n"
    columns = ("columns=source,require,forbid", "search.beam_size=8")
    first, _, last = translated(cli, run, *columns, stdin=wishes).splitlines()
    assert "pain" in first.replace(".", " ").split() and not {"pain", "lait"} & set(last.split())
    assert translated(cli, run, "text=I want tea.", "prefix=elle", "require=pain").startswith("elle")


def test_bytes_that_are_not_utf8_are_replaced_on_request(cli: Cli, run: Path) -> None:
    assert translated(cli, run, "errors=replace", stdin=b"I \xe9 tea.\nyou see.\n").count("\n") == 2


@pytest.mark.parametrize("search", ["sampling", "mbr", "diverse"])
def test_other_searches(cli: Cli, run: Path, search: str) -> None:
    more = {"sampling": ["search.top_k=5"], "mbr": ["search.num_samples=4"], "diverse": []}[search]
    arguments = [f"search={search}", "search.max_length=8", *more]
    assert translated(cli, run, *arguments, stdin=b"I want tea.\n\n").count("\n") == 2


def test_settings_that_came_after_the_run_can_be_changed(cli: Cli, run: Path) -> None:
    config = run / "config.yaml"
    kept = config.read_text()
    try:
        config.write_text("".join(line for line in kept.splitlines(True) if "no_repeat_ngram" not in line))
        assert translated(cli, run, "text=I want tea.", "search.no_repeat_ngram=1")
    finally:
        config.write_text(kept)


def test_workers_give_what_one_process_gives(cli: Cli, run: Path, tmp_path: Path) -> None:
    many = tmp_path / "many.en"
    many.write_text("".join(f"{line}\n" for line in LINES * 60), encoding="utf-8")
    assert translated(cli, run, f"input={many}", "workers=2", "threads=1") == expected_lines(cli, run, many)


def test_documents(cli: Cli, run: Path, tmp_path: Path) -> None:
    film = tmp_path / "film.srt"
    film.write_text("1\n00:00:01,000 --> 00:00:02,000\n<i>I want tea.</i>\n", encoding="utf-8")
    head, text, _ = translated(cli, run, f"input={film}").rsplit("\n", 2)
    assert head == "1\n00:00:01,000 --> 00:00:02,000"
    assert text.startswith("<i>") and text.endswith("</i>")
    status, _, err = cli("translate", f"run={run}", f"input={film}", "format=json")
    assert status == 1 and "keeps its own format" in err


# --- interruptions


@pytest.fixture
def interrupted(cli: Cli, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Begins to translate into a file, is killed amid the third line, and returns the part."""

    def begin(*arguments: str) -> Path:
        write = Output.write

        def killed(output: Output, text: str) -> None:
            write(output, text[:2] if output.num_there == 2 else text)
            output.num_there += 1
            if output.num_there == 3:
                raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(Output, "write", killed)
            status, _, err = cli("translate", f"run={run}", *arguments)
        assert status == 130 and "add resume=true to go on from there" in err
        return tmp_path / "a.fr.part"

    return begin


def test_a_killed_translation_goes_on_where_it_stopped(
    cli: Cli, run: Path, source: Path, tmp_path: Path, interrupted: Callable[..., Path]
) -> None:
    whole = expected_lines(cli, run, source)
    output = tmp_path / "a.fr"
    files = (f"input={source}", f"output={output}")
    part = interrupted(*files)
    lines = whole.splitlines(keepends=True)
    assert part.read_text(encoding="utf-8") == lines[0] + lines[1] + lines[2][:2]
    part.write_text("elle" + part.read_text(encoding="utf-8"), encoding="utf-8")
    assert translated(cli, run, *files, "resume=true", "workers=2", "threads=1") == ""
    assert output.read_text(encoding="utf-8") == "elle" + whole  # the first lines were not translated again
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.en", "a.fr"]
    interrupted(*files)
    translated(cli, run, *files)  # not asked to go on: from the beginning
    assert output.read_text(encoding="utf-8") == whole
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.en", "a.fr"]
    status, out, err = cli("translate", f"run={run}", *files, "resume=true")
    assert (status, out, err) == (0, "", f"{output} is finished already\n")


@pytest.mark.parametrize(
    ("begun_with", "resumed_with", "differs"),
    [
        ([], ["search.beam_size=1"], ("search.beam_size=2", "search.beam_size=1")),
        (["prefix=je"], [], ("prefix=je", "prefix=null")),
        (
            [],
            ["format=tsv", "split=never"],
            ("format=text split=always", "format=tsv split=never"),
        ),
        ([], ["checkpoint=last"], None),
    ],
)
def test_only_the_same_settings_go_on(
    cli: Cli,
    run: Path,
    source: Path,
    tmp_path: Path,
    interrupted: Callable[..., Path],
    begun_with: list[str],
    resumed_with: list[str],
    differs: tuple[str, str] | None,
) -> None:
    files = (f"input={source}", f"output={tmp_path / 'a.fr'}")
    part = interrupted(*files, *begun_with)
    before = part.read_bytes()
    status, out, err = cli("translate", f"run={run}", *files, *resumed_with, "resume=true")
    assert (status, out, err.count("\n"), part.read_bytes()) == (1, "", 1, before)
    assert err.startswith(f"nmt-translate: {part} was made with ")
    if differs:
        assert f" made with {differs[0]}, and this command says {differs[1]}; give the same settings" in err
    translated(cli, run, *files, *begun_with, "resume=true")
    assert not part.exists()


def test_only_the_same_files_go_on(
    cli: Cli, run: Path, source: Path, tmp_path: Path, interrupted: Callable[..., Path]
) -> None:
    lexicon, output = tmp_path / "lexicon", tmp_path / "a.fr"
    lexicon.write_text("tea\tthé\n", encoding="utf-8")
    arguments = (f"input={source}", f"output={output}", f"lexicon={lexicon}")
    part = interrupted(*arguments)
    for file in (source, lexicon):
        kept = file.read_text(encoding="utf-8")
        file.write_text(f"{kept}milk\tlait\n", encoding="utf-8")
        status, _, err = cli("translate", f"run={run}", *arguments, "resume=true")
        assert status == 1 and err.count(f"{file.name} (") == 2
        file.write_text(kept, encoding="utf-8")
    part.with_name("a.fr.part.json").unlink()
    status, _, err = cli("translate", f"run={run}", *arguments, "resume=true")
    assert status == 1 and "a.fr.part.json, which says what it was made with, is not beside it" in err


def test_what_cannot_be_continued_leaves_nothing(run: Path, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), open_output(str(tmp_path / "a.nbest")) as out:
        out.write("0 ||| one ||| -1\n")
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


def test_ctrl_c_leaves_no_half_file_under_the_final_name(run: Path, tmp_path: Path) -> None:
    output, part = tmp_path / "a.fr", tmp_path / "a.fr.part"
    command = ["-m", "nmt.cli.translate", f"run={run}", f"output={output}"]
    process = python(*command, stdin=subprocess.PIPE)
    assert process.stdin and process.stderr
    process.stdin.write("I want tea.\n" * 3000)  # more than a buffer holds, and no end
    process.stdin.flush()
    while process.poll() is None and not (part.exists() and part.stat().st_size):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(120) == 130
    process.stdin.close()
    assert not output.exists() and part.stat().st_size
    assert process.stderr.read().endswith("add resume=true to go on from there\nnmt-translate: interrupted\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_one_line(run: Path, source: Path) -> None:
    with open("/dev/full", "w") as full:
        process = python("-m", "nmt.cli.translate", f"run={run}", f"input={source}", stdout=full)
        assert process.stderr and process.wait(120) == 1
        assert process.stderr.read() == "nmt-translate: standard output: No space left on device\n"


def test_an_error_of_the_disk_names_the_file_and_keeps_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "a.fr"
    with pytest.raises(OSError, match=r"a\.fr"), open_output(str(path), {}) as out:
        out.write("one\n")
        raise OSError(28, "No space left on device")
    assert not path.exists() and (tmp_path / "a.fr.part").read_text() == "one\n"


def test_devices_are_written_and_never_replaced() -> None:
    with open_output(os.devnull) as out:
        out.write("one\n")
    assert not Path(os.devnull).is_file()


# --- at a terminal


def test_somebody_at_a_terminal_is_answered_line_by_line(
    cli: Cli, run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = iter(["I want tea.", "I \udce9", "you see milk."])

    def answer(prompt: str = "") -> str:
        try:
            return next(typed)
        except StopIteration:
            raise EOFError from None

    expected = translated(cli, run, stdin=b"I want tea.\nyou see milk.\n")
    monkeypatch.setattr("nmt.cli.translate.is_prompt", lambda own: True)
    monkeypatch.setattr("builtins.input", answer)
    status, out, err = cli("translate", f"run={run}")
    assert (status, out) == (0, expected)
    assert err.startswith("Type a sentence; Ctrl-D ends.\n") and "half a surrogate pair" in err


def test_only_a_terminal_without_anything_to_do_is_a_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    assert inputs.is_prompt({"text": None, "input": None})
    assert not inputs.is_prompt({"text": "a", "input": None})
    assert not inputs.is_prompt({"text": None, "input": "a"})
    monkeypatch.setattr(sys, "stdin", None)
    assert not inputs.is_prompt({"text": None, "input": None})
