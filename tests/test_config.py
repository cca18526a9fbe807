"""Configuration: literal values, defaults that fit the data, mistakes explained, what a config may call."""

import re
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from nmt.config import build, check, compose, config_dir, data_dir, override
from nmt.config.compose import groups, parse
from nmt.config.literal import absolute_paths, quote_literal
from nmt.config.nearest import did_you_mean
from nmt.config.types import describe, fits
from nmt.errors import NMTError

ODD = [
    "",
    "my=odd, file.txt",
    "Don't stop",
    'a "quote"',
    "back\\",
    "back\\'",
    "${seed}",
    "\\${seed}",
    "[a,b]",
    "{a: 1}",
    "~",
    " ",
]


@pytest.mark.parametrize("value", [*ODD, "null", "true", "1e3", "two\nlines"])
def test_texts_are_taken_as_typed(value: str) -> None:
    assert compose("translate", [f"text={value}"]).text == value


@pytest.mark.parametrize("value", ODD)
@pytest.mark.parametrize("key", ["run_dir", "data.train.source"])
def test_paths_are_taken_as_typed(key: str, value: str) -> None:
    assert OmegaConf.select(compose("train", [f"{key}={value}"]), key) == value


@settings(deadline=None)
@given(st.text(st.sampled_from(r"""\'"${},=[]~ a""") | st.characters(exclude_categories=["Cs"])))
def test_any_text_is_taken_as_typed(text: str) -> None:
    read = parse([quote_literal(f"text={text}")])[0].value()
    assert OmegaConf.to_container(OmegaConf.create({"text": read}), resolve=True) == {"text": text}


def test_a_path_can_be_unset() -> None:
    assert compose("train", ["run_dir=null"]).run_dir is None


@pytest.mark.parametrize(
    ("overrides", "data", "experiment"),
    [
        ([], "en_fr", "demo"),
        (["attention=dot"], "en_fr", "demo"),
        (["data=en_fr"], "en_fr", "demo"),
        (["data.reverse=true"], "en_fr", "demo"),
        (["data.train.source=a", "data.train.target=b"], "files", "default"),
        (["data=files"], "files", "default"),
        (["data.train.source=a", "experiment=demo"], "files", "demo"),
        (["model=rnn"], "en_fr", "demo"),
        (["model=transformer"], "en_fr", "transformer_demo"),
        (["model=transformer_base"], "en_fr", "transformer_demo"),
        (["model=birnn_transformer"], "en_fr", "transformer_demo"),
        (["model=transformer", "experiment=default"], "en_fr", "default"),
        (["model=transformer", "data.train.source=a"], "files", "default"),
    ],
)
def test_own_data_drops_the_defaults_of_the_built_in_corpus(
    overrides: list[str], data: str, experiment: str
) -> None:
    expected = compose("train", [f"data={data}", f"experiment={experiment}", *overrides])
    assert compose("train", overrides) == expected


@pytest.mark.parametrize("group", sorted(groups()))
def test_every_option_of_every_group_composes(group: str) -> None:
    for option in groups()[group]:
        compose("train", [f"{group}={option}"])


@pytest.mark.parametrize("experiment", sorted(groups()["experiment"]))
def test_every_experiment_passes_the_check_but_for_what_only_the_user_knows(experiment: str) -> None:
    config = compose("train", [f"experiment={experiment}"])
    try:
        check(config)
    except NMTError as error:
        assert all(fault.endswith("=???: needs a value") for fault in str(error).split("; ")), error


@pytest.mark.parametrize("file", sorted(config_dir().rglob("*.yaml")), ids=lambda file: file.stem)
def test_every_number_and_switch_has_a_comment(file: Path) -> None:
    for line in file.read_text(encoding="utf-8").splitlines():
        is_bare = re.fullmatch(r" *[a-z]\w*: *(null|true|false|-?[.\d]\S*) *", line)
        assert not is_bare, f"{file}: {line}"


MISTAKES = {
    "seeed=1": "seeed=1: there is no seeed, did you mean seed?",
    "modl=rnn": "modl=rnn: there is no modl, did you mean model?",
    "model.hiden_size=1": "model.hiden_size=1: there is no model.hiden_size, did you mean model.hidden_size?",
    "hiden_size=1": "hiden_size=1: there is no hiden_size, did you mean model.hidden_size?",
    "attention=addtive": "attention=addtive: there is no attention addtive, did you mean additive?",
    "seed=1,2": "seed=1,2: takes one value; for a run each: nmt-train -m seed=1,2",
    "attention=[additive,dot]": "attention=[additive,dot]: takes one option, not a list",
    "seed=abc": "seed=abc: expected a whole number",
    "overwrite=perhaps": "overwrite=perhaps: expected true or false",
    "hydra.run.dir=x": "hydra.run.dir=x: Hydra's own settings are fixed here; a run's folder is run_dir",
    "demo": "demo: an argument must be key=value or an option such as --help",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_explained(mistake: str) -> None:
    with pytest.raises(NMTError) as caught:
        compose("train", [mistake])
    assert str(caught.value) == MISTAKES[mistake]


def test_all_mistakes_are_named_at_once() -> None:
    with pytest.raises(NMTError, match="seeed.*hiden_size"):
        compose("train", ["seeed=1", "model.hiden_size=1"])
    config = compose("train", ["model.hidden_size=many", "search.beam_size=1.5"])
    with pytest.raises(
        NMTError, match="search.beam_size=1.5: expected a whole number; model.hidden_size=many: expected"
    ):
        check(config)


def test_values_in_a_runs_config_are_changed_by_key() -> None:
    config = compose("train")
    assert override(config, ["search.beam_size=7"]).search.beam_size == 7
    assert config.search.beam_size != 7
    with pytest.raises(
        NMTError, match=r"search.beam=7: there is no search.beam here, did you mean search.beam_size\?"
    ):
        override(config, ["search.beam=7"])


def test_relative_files_of_the_data_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.en").touch()
    given = ["data.train.source=a.en", "data.train.target=absent", "run_dir=runs", "seed=1"]
    assert absolute_paths(given) == [f"data.train.source={tmp_path / 'a.en'}", *given[1:]]


@pytest.mark.parametrize(
    "target",
    [
        "os.system",
        "nmt.config.places.Path.unlink",
        "nmt.cli.command.os.system",
        "nmt.files.os.system",
        "nmt.files.write_atomically",
        "nmt.config.allow",
        "nmt.cli.train.main",
        "nmt.errors.NMTError.__init__",
        "nmt.errors.NMTError.mro",
        "nmt.evaluation.warnings.re.compile",
        "torch.optim.optimizer.torch.load",
        "builtins.eval",
        "nmtfake.f",
        "nmt",
        "",
    ],
)
def test_what_a_config_must_not_call(target: str) -> None:
    for fails in (build, check):
        with pytest.raises(NMTError, match="configs may only call|no such module"):
            fails({"_target_": target})
        with pytest.raises(NMTError, match="configs may only call|no such module"):
            fails({"_target_": "torch.optim.Adam", "_partial_": True, "inner": [{"_target_": target}]})


@pytest.mark.parametrize(
    ("node", "fault"),
    [
        ({"_target_": "torch.optim.Adm"}, "torch.optim has no Adm, did you mean Adam?"),
        (
            {"_target_": "torch.optim.Adam", "lrr": 1},
            "optimizer.lrr: torch.optim.Adam takes no lrr, did you mean lr?",
        ),
        ({"_target_": "torch.optim.Adam", "lr": "fast"}, "optimizer.lr=fast: expected a number"),
        ({"_target_": "torch.optim.Adam", "lr": "???"}, "optimizer.lr=???: needs a value"),
    ],
)
def test_check_names_the_fault(node: dict[str, object], fault: str) -> None:
    with pytest.raises(NMTError) as caught:
        check({"optimizer": node})
    assert fault in str(caught.value)


def test_build_hands_over_values_and_parts() -> None:
    node = {"_target_": "nmt.errors.NMTError", "_partial_": True}
    made = build(node)
    assert isinstance(made, partial) and made.func is NMTError
    adam = build({"_target_": "torch.optim.Adam", "lr": 0.5, "_partial_": True})
    assert adam.keywords == {"lr": 0.5}
    assert build({"_target_": "torch.optim.Adam", "_partial_": True}, lr=0.25).keywords == {"lr": 0.25}


@pytest.mark.parametrize(
    ("value", "annotation", "right"),
    [
        (1, int, True),
        (True, int, False),
        (1.0, int, False),
        (1, float, True),
        ("1", float, False),
        (None, int | None, True),
        ("x", int | None, False),
        ([1], list[int], True),
        ("a", bool, False),
        ("b", Path, True),
    ],
)
def test_types(value: object, annotation: object, right: bool) -> None:
    assert fits(value, annotation) == right


def test_types_are_described_in_words() -> None:
    assert describe(int | None) == "a whole number or null"


@pytest.mark.parametrize(("name", "nearest"), [("aditive", "additive"), ("loc", "local"), ("zzz", None)])
def test_the_nearest_name(name: str, nearest: str | None) -> None:
    text = did_you_mean(name, ["additive", "dot", "local"])
    assert text == (f"did you mean {nearest}?" if nearest else "choose from additive, dot, local")


def test_the_files_that_travel_are_there() -> None:
    assert (config_dir() / "train.yaml").is_file()
    assert data_dir().is_dir()
