"""The commands as people type them: results, files, one line for each mistake, and exit statuses."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import nmt
from nmt.cli import align, evaluate, train, translate
from nmt.cli.command import run_command
from nmt.cli.run_folder import Job, default_name, expand, run_folder
from nmt.config import compose
from nmt.evaluation.worked_example import worked_example
from nmt.training.replacing import replacing
from nmt.training.run_directory import RunDirectory

MAINS = {"train": train.main, "translate": translate.main, "evaluate": evaluate.main, "align": align.main}
TINY = [
    *("model.embedding_size=8", "model.hidden_size=8", "tokenizer.vocabulary_size=60", "device=cpu"),
    *(
        "training.max_updates=2",
        "training.max_epochs=null",
        "training.validate_every=1",
        "search.beam_size=2",
    ),
]
Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Run a command within this process: `cli("train", "seed=1")` gives status, stdout and stderr."""

    def call(command: str, *arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        status = MAINS[command](arguments)
        out, err = capsys.readouterr()
        return status, out, err

    return call


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a.en and a.fr, 60 pairs."""
    folder = tmp_path_factory.mktemp("texts")
    people = {"I": "je", "you": "tu", "he": "il", "she": "elle", "we": "nous"}
    things = {"bread": "pain", "milk": "lait", "water": "eau", "tea": "thé"}
    actions = {"want": "veux", "see": "vois", "like": "aime"}
    pairs = [
        (f"{person} {action} {thing}.", f"{people[person]} {actions[action]} {things[thing]}.")
        for person in people
        for action in actions
        for thing in things
    ]
    for name, lines in zip(("a.en", "a.fr"), zip(*pairs, strict=True), strict=True):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def own_text(texts: Path) -> list[str]:
    """The overrides that train a very small model on `texts`."""
    files = [f"data.train.source={texts / 'a.en'}", f"data.train.target={texts / 'a.fr'}"]
    return [*files, *TINY, f"data.cache_dir={texts / 'cache'}"]


@pytest.fixture(scope="session")
def run(texts: Path, own_text: list[str]) -> Path:
    """A finished run."""
    folder = texts / "run"
    assert train.main([*own_text, f"run_dir={folder}"]) == 0
    return folder


# The commands do their work


def test_translates_each_line(cli: Cli, run: Path) -> None:
    status, out, _ = cli(
        "translate", f"run={run}", stdin="I want tea.\n\nyou see\u2028milk.\r\nlast".encode()
    )
    assert status == 0
    assert out.count("\n") == 4
    assert out.split("\n")[1] == ""


def test_translates_files_and_texts_with_odd_names(cli: Cli, run: Path, tmp_path: Path) -> None:
    source, target = tmp_path / "my=odd, 'file'.txt", tmp_path / "an {other} [one].txt"
    source.write_text("Don't stop, = tea", encoding="utf-8")
    assert cli("translate", f"run={run}", f"input={source}", f"output={target}") == (0, "", "")
    _, out, _ = cli("translate", f"run={run}", "text=Don't stop, = tea")
    assert target.read_text(encoding="utf-8") == out


def test_search_settings_change_the_runs_own(cli: Cli, run: Path) -> None:
    _, beam, _ = cli(
        "translate",
        f"run={run}",
        "text=I want tea.",
        "search.max_length_ratio=0",
        "search.max_length_offset=1",
    )
    _, own, _ = cli("translate", f"run={run}", "text=I want tea.")
    assert len(beam.split()) <= 1
    assert own == cli("translate", f"run={run}", "text=I want tea.", "search=beam", "search.beam_size=2")[1]


def test_aligns_pairs(cli: Cli, run: Path, tmp_path: Path) -> None:
    status, out, _ = cli("align", f"run={run}", "format=json", stdin=b"I want tea.\tj'aime.\nyou see\n")
    assert status == 0
    given, translated = map(json.loads, out.splitlines())
    assert given["source"] == ["I", "want", "tea", "."]
    assert given["target"] == ["j'", "aime", "."]
    assert translated["source"] == ["you", "see"]
    assert (
        cli("align", f"run={run}", "text=I want tea.", "translation=j'aime.", f"output={tmp_path / 'm.png'}")[
            0
        ]
        == 0
    )
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")


def test_aligns_files_word_by_word(cli: Cli, run: Path, texts: Path) -> None:
    status, out, _ = cli(
        "align", f"run={run}", f"source={texts / 'a.en'}", f"target={texts / 'a.fr'}", "format=pharaoh"
    )
    assert status == 0 and out.count("\n") == 60
    pair = ["text=tea.", "translation=thé.", "format=json", "words=whitespace"]
    assert json.loads(cli("align", f"run={run}", *pair)[1])["source"] == ["tea."]


def test_explains_each_step(cli: Cli, run: Path, tmp_path: Path) -> None:
    pair = ["text=I want tea.", "translation=j'aime."]
    status, out, _ = cli("align", f"run={run}", *pair, "explain=true")
    assert status == 0
    assert re.findall(r"^writes   (.*)  \(probability", out, re.M)[-1] == "</s>"
    assert out.endswith(cli("align", f"run={run}", *pair)[1])
    cli("align", f"run={run}", *pair, "explain=true", f"output={tmp_path / 'steps'}")
    assert (tmp_path / "steps").read_text(encoding="utf-8") == out


def test_a_worked_example_ends_with_the_published_matrix(run: Path) -> None:
    example = compose("train", ["experiment=textbook_en_fr"]).worked_example
    assert (example.source, example.target, len(example.published)) == ("I love you", "je t'aime", 3)
    translator = nmt.Translator.load(run)
    text = worked_example(translator, example.source, "tu vois thé", example.published)
    assert text.startswith("scores: ") and translator.align(example.source, "tu vois thé").text() in text
    assert re.search(r"largest difference \d.\d\d, mean \d.\d\d\n$", text)


def test_reads_the_attention_as_asked(cli: Cli, run: Path) -> None:
    for text in (["text=I want tea."], ["text=I want tea.", "translation=j'aime le thé."]):
        by_step = [
            cli("align", f"run={run}", *text, f"step={step}", "format=json")[1]
            for step in ("predict", "read")
        ]
        assert by_step[0] != by_step[1]
        links = json.loads(cli("align", f"run={run}", *text, "threshold=0.01", "format=json")[1])["links"]
        assert len(links) > len(json.loads(by_step[0])["links"])


def test_links_of_both_directions(cli: Cli, run: Path, texts: Path) -> None:
    files = [f"source={texts / 'a.en'}", f"target={texts / 'a.fr'}", "format=pharaoh"]

    def links(*more: str) -> list[set[str]]:
        status, out, _ = cli("align", f"run={run}", *files, *more)
        assert status == 0
        return [set(line.split()) for line in out.splitlines()]

    turned = [f"source={texts / 'a.fr'}", f"target={texts / 'a.en'}", "format=pharaoh"]
    back = [
        {"-".join(reversed(link.split("-"))) for link in line.split()}
        for line in cli("align", f"run={run}", *turned)[1].splitlines()
    ]
    both = [f"reverse={run}", "symmetrise=union"]
    assert links(*both) == [one | other for one, other in zip(links(), back, strict=True)]
    assert links(f"reverse={run}") == links(f"reverse={run}", "symmetrise=grow-diag-final-and")


def test_the_explorer_compares_runs(cli: Cli, run: Path, texts: Path, tmp_path: Path) -> None:
    files = [f"source={texts / 'a.en'}", f"gold={tmp_path / 'gold'}", f"output={tmp_path / 'a.html'}"]
    (tmp_path / "gold").write_text("0-0\n" * 60)
    assert cli("align", f"run={run},{run}", *files) == (0, "", "")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert '"runs":2,"secondRun":1,"gold":true' in page and page.count('"matrices":') == 60


def test_evaluates_alignments_as_chosen_on_another_set(
    cli: Cli, run: Path, texts: Path, tmp_path: Path
) -> None:
    (tmp_path / "gold").write_text("0-0 1-1 2-2\n" * 60)
    data = ["data=files", f"data.cache_dir={tmp_path}"]
    for split in ("dev", "test"):
        data += [f"data.{split}.source={texts / 'a.en'}", f"data.{split}.target={texts / 'a.fr'}"]
        data += [f"data.{split}.links={tmp_path / 'gold'}"]
    command = [f"run={run}", *data, "search.beam_size=1"]
    _, chosen, err = cli("evaluate", *command, "choose=gold", "format=json")
    said = re.search(r"chosen on data.dev by gold: (.*) \(AER (.*)\)", err)
    assert said
    _, given, _ = cli(
        "evaluate", *command, "format=json", *said[1].replace("layer=null head=null ", "").split()
    )
    assert json.loads(chosen) == json.loads(given)
    found = json.loads(chosen)["alignment"]
    assert f"{found['aer']:.2f}" == said[2] and set(found["baselines"]) == {"diagonal", "random"}
    assert "  diagonal\n" in cli("evaluate", *command, f"reverse={run}")[1]


def test_evaluates_a_run_and_leaves_its_translations(cli: Cli, run: Path, texts: Path) -> None:
    test = ["data=files", f"data.test.source={texts / 'a.en'}", f"data.test.target={texts / 'a.fr'}"]
    status, out, _ = cli("evaluate", f"run={run}", *test, "format=json")
    assert status == 0 and json.loads(out)["sentences"] == 60
    files = list((run / "evaluation").rglob("test.*"))
    assert {file.suffix for file in files} == {".hyp", ".json"}


def test_evaluates_hypotheses(cli: Cli, texts: Path) -> None:
    status, out, err = cli(
        "evaluate", f"hypotheses={texts / 'a.fr'}", f"references={texts / 'a.fr'},{texts / 'a.en'}"
    )
    assert (status, err) == (0, "")
    assert re.search(r"^BLEU  100.00  nrefs:2\|.*\nchrF  100.00  nrefs:2\|", out)


def test_evaluates_alignments(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "found").write_text("0-0 1-1\n")
    (tmp_path / "gold").write_text("0-0 1?1 2-2\n")
    files = [f"alignments={tmp_path / 'found'}", f"gold={tmp_path / 'gold'}"]
    status, out, _ = cli("evaluate", *files)
    assert status == 0 and out.startswith("AER 25.00  precision 100.00  recall 50.00  F1 66.67")
    assert json.loads(cli("evaluate", *files, "format=json")[1])["aer"] == 25.0
    for side in ("source", "target"):
        (tmp_path / side).write_text("a b c\n")
        files.append(f"{side}={tmp_path / side}")
    assert "AER 0.00" in cli("evaluate", *files)[1].split("\n")[1], "the diagonal, beside"


# Where runs go


def test_a_finished_run_is_kept(cli: Cli, run: Path, own_text: list[str]) -> None:
    status, out, err = cli("train", *own_text, f"run_dir={run}")
    message = "holds a finished run; choose another, or overwrite=true to train anew"
    assert (status, out, err) == (1, "", f"nmt-train: run_dir={run}: {message}\n")


def _weights(run: Path) -> bytes:
    return (run / "checkpoints" / "best.safetensors").read_bytes()


@pytest.fixture
def copied(run: Path, tmp_path: Path) -> Path:
    """A finished run of its own for a test."""
    return shutil.copytree(run, tmp_path / "copied")


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        ("data.train.source=nowhere.en", "there is no file"),
        ("processes=0", "give a whole number"),
        ("source_vectors=nowhere.vec", "nowhere.vec"),
    ],
)
def test_a_run_is_kept_where_what_is_to_overwrite_it_cannot_train(
    cli: Cli, copied: Path, own_text: list[str], mistake: str, message: str
) -> None:
    before = {path: path.read_bytes() for path in copied.rglob("*.*") if path.is_file()}
    status, _, err = cli("train", *own_text, mistake, f"run_dir={copied}", "overwrite=true")
    assert status == 1 and message in err.splitlines()[-1]
    assert {path: path.read_bytes() for path in copied.rglob("*.*") if path.is_file()} == before
    assert [path.name for path in copied.parent.iterdir()] == ["copied"]


def test_a_run_is_overwritten_on_request(cli: Cli, copied: Path, own_text: list[str]) -> None:
    before = _weights(copied)
    status, _, err = cli("train", *own_text, "seed=9", f"run_dir={copied}", "overwrite=true")
    assert status == 0, err
    assert RunDirectory.open(copied).config().seed == 9 and _weights(copied) != before
    assert [path.name for path in copied.parent.iterdir()] == ["copied"]


@pytest.fixture
def killed(copied: Path) -> bytes:
    """The weights of a run that a training was to overwrite when it was killed, half-made in its folder."""
    before = _weights(copied)
    aside = copied.with_name(".copied.replaced")
    aside.mkdir()
    copied.rename(aside / "copied")
    copied.mkdir()
    (copied / "config.yaml").touch()
    return before


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_run_set_aside_goes_when_a_training_begins(copied: Path, killed: bytes, overwrite: bool) -> None:
    with replacing(copied, overwrite) as forget:
        assert copied.exists() is not overwrite, "half-made: to be continued, or replaced"
        copied.mkdir(exist_ok=True)
        forget()
    assert copied.exists() and not (copied / "checkpoints").exists()
    assert [path.name for path in copied.parent.iterdir()] == ["copied"]


def test_a_run_set_aside_comes_back_when_it_cannot_be_overwritten(copied: Path, killed: bytes) -> None:
    with replacing(copied, False):  # as from a second terminal, refused while the first one prepares
        pass
    assert [path.name for path in copied.iterdir()] == ["config.yaml"], "the first's work is left alone"
    with replacing(copied, True):
        copied.mkdir()
    assert _weights(copied) == killed
    assert [path.name for path in copied.parent.iterdir()] == ["copied"]


def test_other_folders_are_left_alone(cli: Cli, own_text: list[str], tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    for more in ([], ["overwrite=true"]):
        status, _, err = cli("train", *own_text, f"run_dir={tmp_path}", *more)
        message = "holds something else than a run; choose a new folder"
        assert (status, err) == (1, f"nmt-train: run_dir={tmp_path}: {message}\n")
    assert (tmp_path / "thesis.tex").exists()


def test_a_multirun_makes_a_folder_a_job_and_finishes_what_is_missing(
    cli: Cli, own_text: list[str], tmp_path: Path
) -> None:
    for seeds, finished in (("1", 0), ("1,2", 2)):
        command = [*own_text, "-m", "attention=dot,general", f"seed={seeds}", f"run_dir={tmp_path / 'all'}"]
        if seeds == "1":
            command[-2] = "seed=range(1,2)"  # one value, and still a sweep over it
        status, _, err = cli("train", *command)
        assert status == 0, err
        assert err.count("is finished already") == finished
    names = {folder.name for folder in (tmp_path / "all").iterdir()}
    assert names == {f"attention={name}+seed={seed}" for name in ("dot", "general") for seed in (1, 2)}


@pytest.mark.parametrize(
    ("overrides", "name"),
    [
        ([], "demo"),
        (["attention=dot", "seed=2"], "demo+attention=dot+seed=2"),
        (["device=cpu", "overwrite=true", "verbose=true"], "demo"),
        (["experiment=bahdanau_multi30k", "data.dir=/x"], "bahdanau_multi30k"),
        (["data.train.source=/x/news.en.gz", "data.train.target=y"], "news"),
    ],
)
def test_a_command_without_run_dir_always_means_the_same_folder(overrides: list[str], name: str) -> None:
    assert default_name(overrides) == name
    assert run_folder(None, Job(overrides, None)) == Path("runs", name)


def test_jobs_of_a_multirun() -> None:
    jobs = expand(["attention=additive,dot", "run_dir=a,b", "data.train.source=x,y", "seed=range(1,3)"])
    assert [job.name for job in jobs] == [
        f"attention={name}+seed={n}" for name in ("additive", "dot") for n in (1, 2)
    ]
    assert jobs[0].overrides == ["attention=additive", "run_dir=a,b", "data.train.source=x,y", "seed=1"]


# Mistakes: the whole of stderr


@pytest.fixture
def odd(texts: Path, tmp_path: Path) -> Path:
    """A folder with files that are empty, binary, too short and not UTF-8."""
    (tmp_path / "empty").touch()
    (tmp_path / "binary").write_bytes(b"a\0b\n" * 60)
    (tmp_path / "short").write_text("a\n")
    (tmp_path / "latin1").write_bytes(b"caf\xe9\n" + b"a\n" * 59)
    (tmp_path / "a.en").write_text("a\n" * 60)
    return tmp_path


MISTAKES = [
    ("train", ["--hepl"], r"--hepl: there is no option --hepl, did you mean --help\?"),
    ("train", ["-x"], r"-x: there is no option -x, .*"),
    ("translate", ["-m"], r"-m: there is no option -m, .*"),
    ("train", ["--cfg=hydra"], "--cfg=hydra: --cfg takes no value hydra"),
    ("train", ["--config-dir", "absent"], "--config-dir absent: needs an existing folder of YAML files"),
    ("train", ["sed=1"], r"sed=1: there is no sed, did you mean seed\?"),
    (
        "train",
        ["attention=addtive"],
        r"attention=addtive: there is no attention addtive, did you mean additive\?",
    ),
    ("train", ["device=gpu"], "device=gpu cannot be used here .*; choose auto, cpu, cuda or mps"),
    ("train", ["model.hidden_size=big"], "model.hidden_size=big: expected a whole number"),
    ("train", ["search.beam_size=0"], "search.beam_size=0: a beam holds at least 1 hypothesis"),
    (
        "train",
        ["model._target_=os.system"],
        r"_target_=os.system: configs may only call nmt, torch.optim; .*",
    ),
    (
        "train",
        ["data.train.source={odd}/absent"],
        "data.train.source: there is no file {odd}/absent: check the path",
    ),
    ("train", ["data.train.source={odd}/empty"], "{odd}/empty is empty: give a file with text"),
    ("train", ["data.train.source={odd}/short"], "{odd}/short has 1 lines, but {odd}/a.en has 60: .*"),
    ("train", ["data.train.source={odd}/binary"], "data.train.source={odd}/binary is no text file .*"),
    ("train", ["data.train.source={odd}/latin1"], "{odd}/latin1, line 1: not UTF-8 .*"),
    ("translate", [], "run= is missing: give the folder of a run, such as run=runs/demo"),
    (
        "translate",
        ["run=absent"],
        "absent: there is no such run directory; give the folder that nmt-train made",
    ),
    ("translate", ["run={odd}"], "{odd}: is no run directory .*"),
    ("translate", ["run={run}", "input={odd}/absent"], "there is no file {odd}/absent: check the path"),
    ("translate", ["run={run}", "input={odd}/latin1"], "{odd}/latin1, line 1: not UTF-8 .*"),
    ("translate", ["run={run}", "text=a", "input=b"], "text=a and input=b: give one of them"),
    (
        "translate",
        ["run={run}", "output={odd}/absent/x", "text=a"],
        "output={odd}/absent/x: there is no folder {odd}/absent; make it first",
    ),
    (
        "translate",
        ["run={run}", "search.bem=1"],
        r"search.bem=1: there is no search.bem here, did you mean search.beam_size\?",
    ),
    ("translate", ["run={run}", "search.beam_size=x"], "search.beam_size=x: expected a whole number"),
    (
        "translate",
        ["run={run}", "checkpoint=7"],
        "checkpoint=7: {run} has none of that name; choose best or last",
    ),
    (
        "translate",
        ["run={run}", "text=\udce9"],
        r"text='\\udce9': not valid UTF-8; set the terminal to UTF-8 or use a file",
    ),
    ("align", ["run={run}", "format=pgn"], "format=pgn is unknown: did you mean png.*"),
    ("align", ["run={run}", "format=png"], "format=png is no text for standard output: give output=FILE.png"),
    ("align", ["run={run}", "target=x"], "target=x: needs its source= too"),
    ("align", ["run={run}", "words=letters"], "words=letters: choose split or whitespace"),
    ("align", ["run={run}", "head=1"], "head=1: needs layer= too, each counts from 1"),
    ("align", ["run={run}", "layer=x"], "layer=x: expected a whole number or null"),
    ("align", ["run={run}", "text=a", "layer=1"], "layer=1: this run's attention has no heads .*"),
    ("align", ["run={run}", "step=write"], "step=write: choose predict, read or posterior"),
    ("align", ["run={run}", "choose=best"], "choose=best: choose gold or agreement"),
    ("align", ["run={run}", "choose=agreement"], "choose=agreement: needs reverse=RUN, .*"),
    ("align", ["run={run}", "symmetrise=union"], "symmetrise=union: needs reverse=RUN, .*"),
    (
        "align",
        ["run={run}", "reverse={run}", "symmetrise=all"],
        "symmetrise=all: choose one of intersection, .*",
    ),
    (
        "align",
        ["run={run}", "explain=true", "format=json"],
        "explain=true and format=json: steps are shown .*",
    ),
    ("align", ["run={run}", "format=html"], "format=html is no text for standard output: .*"),
    (
        "evaluate",
        ["run={run}", "choose=gold", "split=dev"],
        "choose_on=dev and split=dev: choose on another .*",
    ),
    (
        "align",
        ["run={run}", "source={odd}/a.en", "target={odd}/short"],
        "source={odd}/a.en has 60 lines and target={odd}/short has 1; give two files .*",
    ),
    ("evaluate", [], r"give one of run=, hypotheses= and alignments= \(received none of them\)"),
    (
        "evaluate",
        ["run=a", "gold=b", "hypotheses=c"],
        r"give one of run=.* \(received run=a and hypotheses=c\)",
    ),
    ("evaluate", ["hypotheses=a"], r"hypotheses=a: needs references=FILE\[,FILE\] too"),
    (
        "evaluate",
        ["hypotheses={odd}/a.en", "references={odd}/short"],
        "there are 60 hypotheses, but the references has 1 lines: .*",
    ),
    ("evaluate", ["alignments=a"], "alignments=a: needs gold=FILE too"),
    ("evaluate", ["run={run}", "split=tset"], "data.tset names no files: the splits are train"),
    (
        "evaluate",
        ["run={run}", "data.dir=x"],
        "data.dir=x: say which data it holds too, such as data=multi30k",
    ),
    ("evaluate", ["run={run}", "format=xml"], "format=xml: choose text or json"),
]


@pytest.mark.parametrize(("command", "arguments", "message"), MISTAKES)
def test_a_mistake_is_one_line(
    cli: Cli, run: Path, odd: Path, tmp_path: Path, command: str, arguments: list[str], message: str
) -> None:
    places = {"{run}": str(run), "{odd}": str(odd)}

    def fill(text: str) -> str:
        for name, place in places.items():
            text = text.replace(name, place)
        return text

    more = []
    if command == "train" and not arguments[0].startswith("-"):
        more = [
            f"data.train.source={odd}/a.en",
            f"data.train.target={odd}/a.en",
            f"run_dir={tmp_path / 'new'}",
            *TINY,
        ]
        more = [text for text in more if text.partition("=")[0] != arguments[0].partition("=")[0]]
    status, out, err = cli(command, *more, *map(fill, arguments))
    last = err.removesuffix("\n").split("\n")[-1]
    assert (status, out) == (1, "")
    assert re.fullmatch(f"nmt-{command}: {fill(message)}", last), err
    assert all(line.startswith("run directory: ") for line in err.splitlines()[:-1]), err


def test_own_configs_and_modules(
    cli: Cli, own_text: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs" / "attention").mkdir(parents=True)
    (tmp_path / "configs" / "attention" / "mine.yaml").write_text(
        "_target_: my_attention.Mine\n_partial_: true\n"
    )
    (tmp_path / "my_attention.py").write_text(
        "from nmt.attention.dot import DotAttention\nclass Mine(DotAttention): pass\n"
    )
    command = [*own_text, "--config-dir", "configs", "attention=mine", f"run_dir={tmp_path / 'run'}"]
    status, _, err = cli("train", *command)
    assert (
        status == 1
        and "configs may only call nmt, torch.optim; " in err
        and "allow_modules=my_attention" in err
    )
    assert cli("train", *command, "allow_modules=my_attention")[0] == 0


# How commands end


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (KeyboardInterrupt(), 130, "nmt-train: interrupted\n"),
        (OSError(28, "No space left on device", "/x"), 1, "nmt-train: /x: No space left on device\n"),
    ],
)
def test_endings(error: BaseException, status: int, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(arguments: object) -> None:
        raise error

    assert run_command("train", "", fail, []) == status
    assert capsys.readouterr().err == message


def python(*arguments: str, **options: object) -> "subprocess.Popen[str]":
    """A Python process in which this checkout's nmt can be imported."""
    root = str(Path(__file__).resolve().parent.parent)
    environment = {**os.environ, "PYTHONPATH": root, "OMP_NUM_THREADS": "1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "encoding": "utf-8"}
    return subprocess.Popen([sys.executable, *arguments], env=environment, **{**pipes, **options})  # type: ignore[call-overload]


def test_the_reader_of_our_output_may_go(run: Path) -> None:
    process = python("-m", "nmt.cli.translate", f"run={run}", stdin=subprocess.PIPE)
    assert process.stdin and process.stdout and process.stderr
    process.stdout.close()
    process.stdin.write("I want tea.\n" * 300)
    process.stdin.close()
    assert (process.wait(120), process.stderr.read()) == (141, "")


def test_ctrl_c_saves_and_the_same_command_continues(own_text: list[str], tmp_path: Path, cli: Cli) -> None:
    folder, metrics = tmp_path / "run", tmp_path / "run" / "metrics.jsonl"
    command = [*own_text, f"run_dir={folder}", "training.max_updates=100000", "training.validate_every=1000"]
    for expected in (f"run directory: {folder}\n", f"run directory: {folder} (unfinished: continuing)\n"):
        measured = metrics.read_bytes() if metrics.exists() else b""
        process = python("-m", "nmt.cli.train", *command, "training.log_every=1")
        while process.poll() is None and (not metrics.exists() or metrics.read_bytes() == measured):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
        assert process.returncode == 130
        assert (
            err.startswith(expected) and err.endswith("nmt-train: interrupted\n") and "Traceback" not in err
        )
    status, _, err = cli("train", *command, "training.log_every=1", "seed=2")
    assert status == 1 and "holds an unfinished run with other settings (seed: 1, now 2); " in err


@pytest.mark.parametrize("command", sorted(MAINS))
def test_help_is_fast_and_names_every_setting(command: str) -> None:
    code = f"""if True:
        import sys
        from nmt.cli.{command} import main
        status = main(["--help"])
        heavy = {{"torch", "hydra", "omegaconf", "numpy", "datasets"}} & set(sys.modules)
        sys.exit(status or ", ".join(heavy) or 0)
    """
    start = time.perf_counter()
    out, err = (process := python("-c", code)).communicate()
    assert (process.returncode, err) == (0, "")
    assert time.perf_counter() - start < 5  # about 0.1 s on a machine that does nothing else
    from nmt.config import compose

    for key in compose(command):
        assert re.search(rf"^  {key}[=.]", out, re.MULTILINE) or key in ("data", "search"), key


def test_version_and_config(cli: Cli) -> None:
    assert re.fullmatch(r"nmt-train \d+\.\d+\.\d+\n", cli("train", "--version")[1])
    for spelling in (["--cfg"], ["--cfg", "job"], ["-c", "job"], ["--cfg=job"]):
        assert "\nseed: 7\n" in cli("train", *spelling, "seed=7")[1]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize("command", sorted(MAINS))
def test_completion(
    cli: Cli, command: str, shell: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [f"/usr/bin/nmt-{command}"])
    status, out, err = cli(command, "-sc", f"install={shell}")
    assert (status, err) == (0, "") and f"nmt-{command}" in out
    for typed, expected in [
        ("devi", "device="),
        ("search.beam", "search.beam_size="),
        ("search=", "search=beam"),
    ]:
        monkeypatch.setenv("COMP_LINE", f"nmt-{command} {typed}")
        status, out, err = cli(command, "-sc", f"query={shell}")
        assert (status, err) == (0, "") and expected in out.split()


def test_completion_follows_what_was_typed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for typed, expected in {
        "atten": ["attention.", "attention="],
        "attention=local_": ["attention=local_m", "attention=local_p"],
        "-m attention=local_p attention.win": ["attention.window="],
        "data.train.source=my, file training.max_u": ["training.max_updates="],
        "seed=[1 training.max_u": [""],
    }.items():
        monkeypatch.setenv("COMP_LINE", f"nmt-train {typed}")
        assert cli("train", "-sc", "query=bash") == (0, " ".join(expected) + "\n", "")


def test_commands_do_not_need_hydras_own_parser(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hydra's argparse parser cannot be made on Python 3.14."""
    import hydra._internal.utils as internal

    def broken(*arguments: object) -> None:
        raise ValueError("badly formed help string")

    monkeypatch.setattr(internal, "get_args_parser", broken)
    monkeypatch.setenv("COMP_LINE", "nmt-train seed=")
    for arguments in (["--help"], ["--cfg"], ["--version"], ["-sc", "query=bash"]):
        assert cli("train", *arguments)[0] == 0
