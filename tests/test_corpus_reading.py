"""Every layout gives the same pairs, and every fault of a corpus one clear line."""

import gzip
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt.data.corpus import open_corpus, open_training, split_names
from nmt.errors import NMTError

PAIRS = [("I love you.", "Je t'aime."), ("Yes", "Oui"), ("odd\u2028one \x85", "l'un\xa0!")]


def two_files(folder: Path, pairs: list[tuple[str, str]], name: str = "a") -> dict[str, str]:
    for side, suffix in enumerate(("en", "fr")):
        text = "".join(pair[side] + "\n" for pair in pairs)
        (folder / f"{name}.{suffix}").write_text(text, encoding="utf-8", newline="\n")
    return {"source": str(folder / f"{name}.en"), "target": str(folder / f"{name}.fr")}


def write_layout(layout: str, folder: Path) -> dict[str, Any]:
    if layout == "files":
        return two_files(folder, PAIRS)
    if layout == "gzipped":
        paths = two_files(folder, PAIRS)
        for plain in paths.values():
            Path(plain + ".gz").write_bytes(gzip.compress(Path(plain).read_bytes()))
        return {side: plain + ".gz" for side, plain in paths.items()}
    path = folder / layout
    rows = {
        "tsv": ["\t".join(pair) for pair in PAIRS],
        "tsv columns": ["\t".join(("x", pair[1], pair[0])) for pair in PAIRS],
        "jsonl": [json.dumps({"en": en, "fr": fr}) for en, fr in PAIRS],
        "jsonl translation": [json.dumps({"id": 1, "translation": {"en": en, "fr": fr}}) for en, fr in PAIRS],
        "jsonl columns": [json.dumps({"a": en, "b": fr}) for en, fr in PAIRS],
    }[layout]
    path.write_text("".join(row + "\n" for row in rows), encoding="utf-8", newline="\n")
    columns = {"tsv columns": [3, 2], "jsonl columns": ["a", "b"]}.get(layout)
    return {layout.split()[0]: str(path), "columns": columns}


LAYOUTS = ["files", "gzipped", "tsv", "tsv columns", "jsonl", "jsonl translation", "jsonl columns"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_pairs(layout: str, tmp_path: Path) -> None:
    data = {"train": write_layout(layout, tmp_path), "dev": None}
    corpus = open_corpus(data, "train")
    assert list(corpus) == list(corpus) == list(corpus.lines()) == PAIRS
    assert len(corpus) == corpus.num_lines == 3
    assert list(open_corpus(data | {"reverse": True}, "train")) == [(fr, en) for en, fr in PAIRS]


@pytest.mark.parametrize("columns", ["translation", "languages", "named"])
@pytest.mark.parametrize("splits", [False, True])
def test_saved_datasets_are_read(columns: str, splits: bool, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    rows = {
        "translation": {"translation": [{"en": en, "fr": fr} for en, fr in PAIRS]},
        "languages": {"fr": [fr for _, fr in PAIRS], "en": [en for en, _ in PAIRS]},
        "named": {"x": [en for en, _ in PAIRS], "y": [fr for _, fr in PAIRS]},
    }[columns]
    dataset = datasets.Dataset.from_dict(rows)
    (datasets.DatasetDict({"train": dataset}) if splits else dataset).save_to_disk(str(tmp_path / "saved"))
    split = {"dataset": str(tmp_path / "saved"), "columns": ["x", "y"] if columns == "named" else None}
    assert list(open_corpus({"train": split}, "train")) == PAIRS


def test_a_folder_of_data_files_is_a_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("datasets")
    import datasets.config

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "corpus").mkdir()
    rows = [json.dumps({"translation": {"en": en, "fr": fr}}) for en, fr in PAIRS]
    (tmp_path / "corpus" / "train.jsonl").write_text("\n".join(rows))
    assert list(open_corpus({"train": {"dataset": str(tmp_path / "corpus")}}, "train")) == PAIRS
    with pytest.raises(NMTError, match="data.dev.dataset=.*cannot load split 'dev'"):
        open_corpus({"dev": {"dataset": str(tmp_path / "corpus")}}, "dev")


def failing(tmp_path: Path, english: bytes, french: bytes) -> str:
    """The message of opening two files with these contents."""
    (tmp_path / "a.en").write_bytes(english)
    (tmp_path / "a.fr").write_bytes(french)
    split = {"source": str(tmp_path / "a.en"), "target": str(tmp_path / "a.fr")}
    with pytest.raises(NMTError) as caught:
        open_training({"train": split, "dev": None})
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("english", "french", "message"),
    [
        (b"a\nb\nc\n", b"x\n", "a.en has 3 lines, but {}/a.fr has 1"),
        (b"a\n", b"x\n\ny\n", "a.en has 1 lines, but {}/a.fr has 3"),
        (b"", b"x\n", "a.en is empty"),
        (b"a\n", b"", "a.fr is empty"),
        (b"a\n\xffb\n", b"x\ny\n", "a.en, line 2: not UTF-8 (byte 0xff at position 1)"),
        (b"\x7fELF\0\0", b"x\n", "source={}/a.en is no text file"),
        (b"a\nb\n", b"\n \xc2\xa0\n", "every pair has a blank side"),
        (b"a\n", b"x\n", "one pair only"),
        (b"a\na\n", b"x\nx\n", "one pair only"),
    ],
)
def test_faulty_files_are_named(tmp_path: Path, english: bytes, french: bytes, message: str) -> None:
    assert message.format(tmp_path) in failing(tmp_path, english, french)


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (None, "data.train names no files: give data.train.source"),
        ({"source": None, "target": None}, "data.train names no files"),
        ({"source": "a.en"}, "data.train.source=a.en stands alone: give data.train.target too"),
        ({"target": "a.fr"}, "data.train gives target without source"),
        ({"source": "a", "target": "b", "tsv": "c"}, "data.train gives source and tsv"),
        ({"sorce": "a.en"}, "data.train has no key 'sorce': did you mean 'source'?"),
        ({"tsv": "a", "columns": [1]}, r"data.train.columns=\[1\]: give two"),
        ({"tsv": "nowhere.tsv"}, "data.train.tsv: there is no file nowhere.tsv"),
        (
            {"source": "builtin:en-fr/nothing.en", "target": "x"},
            "data.train.source: there is no file .*nothing.en",
        ),
    ],
)
def test_faulty_settings_are_named(split: dict[str, Any] | None, message: str) -> None:
    with pytest.raises(NMTError, match=message):
        open_corpus({"train": split}, "train")


@pytest.mark.parametrize(
    ("kind", "line", "message"),
    [
        ("tsv", "no tab", r"line 2: 1 column\(s\), but columns 1 and 2"),
        ("jsonl", "{", "line 2: no JSON"),
        ("jsonl", "[1]", "line 2: .* is no JSON object"),
        ("jsonl", '{"en": "a"}', r"line 2: no 'en' and 'fr' among \['en'\]"),
        ("jsonl", '{"en": "a", "fr": null}', "line 2: 'en' and 'fr' are not both text"),
    ],
)
def test_faulty_rows_name_file_and_line(kind: str, line: str, message: str, tmp_path: Path) -> None:
    first = {"tsv": "a\tb", "jsonl": '{"en": "a", "fr": "b"}'}[kind]
    (tmp_path / "a").write_text(f"{first}\n{line}\n")
    with pytest.raises(NMTError, match=message):
        open_corpus({"train": {kind: str(tmp_path / "a")}}, "train")


def test_blank_sides_are_left_out_of_training_and_kept_for_evaluation(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pairs = [("a", "x"), (" \u2003", "y"), ("c", ""), ("d", "z")]
    data = {"train": two_files(tmp_path, pairs), "dev": two_files(tmp_path, PAIRS, "dev")}
    train, _ = open_training(data)
    assert list(train) == [pairs[0], pairs[3]]
    assert train.numbers.tolist() == [0, 3]
    assert list(train.lines()) == pairs
    assert "2 of 4 pairs have a blank side and are left out (the first is line 2" in caplog.text


def test_carriage_returns_and_byte_order_marks_belong_to_the_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a.en").write_bytes(b"\xef\xbb\xbfa\r\nb\rc\r\n")
    (tmp_path / "a.fr").write_bytes(b"x\ny\n")
    split = {"source": str(tmp_path / "a.en"), "target": str(tmp_path / "a.fr")}
    corpus = open_corpus({"train": split}, "train")
    assert list(corpus) == [("a", "x"), ("b\rc", "y")]
    assert caplog.text.count("the carriage return at the end of 2 lines is left out") == 1


def numbered_pairs(count: int) -> list[tuple[str, str]]:
    return [(f"sentence {number}", f"phrase {number}") for number in range(count)]


@pytest.mark.parametrize(("count", "held_out"), [(2, 1), (99, 1), (1000, 10), (60_000, 500)])
def test_one_percent_is_held_out(
    count: int, held_out: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pairs = numbered_pairs(count)
    with caplog.at_level(logging.INFO):
        train, dev = open_training({"train": two_files(tmp_path, pairs), "dev": None})
    assert len(dev) == held_out and len(train) == count - held_out
    assert set(train) | set(dev) == set(pairs)
    assert f"{held_out} of the {count} pairs" in caplog.text
    assert train.fingerprint != dev.fingerprint


def test_what_is_held_out_depends_on_text_alone_and_its_copies_go(tmp_path: Path) -> None:
    pairs = numbered_pairs(500)
    _, dev = open_training({"train": two_files(tmp_path, pairs)})
    shuffled = [pairs[row] for row in np.random.default_rng(1).permutation(500)]
    train, again = open_training({"train": two_files(tmp_path, shuffled + shuffled, "b")})
    assert sorted(dev) == sorted(again)
    assert not set(train) & set(again)
    assert len(train) == 2 * (500 - len(again))


def test_what_stands_beside_a_split(tmp_path: Path) -> None:
    split = two_files(tmp_path, PAIRS)
    for key, text in {"tags": "a b\n\nc\n", "links": "0-0\n\n1-0\n", "references_tsv": "".join(
        f"{en}\t{fr}\tencore\n" for en, fr in PAIRS
    )}.items():  # fmt: skip
        (tmp_path / key).write_text(text, encoding="utf-8", newline="\n")
        split[key] = str(tmp_path / key)
    corpus = open_corpus({"test": split}, "test")
    assert corpus.tags() == [["a", "b"], [], ["c"]]
    assert corpus.link_lines() == ["0-0", "", "1-0"]
    assert corpus.references() == [[fr, "encore"] for _, fr in PAIRS]
    (tmp_path / "tags").write_text("a\n")
    with pytest.raises(NMTError, match="data.test.tags=.* has 1 lines, but .* has 3 pairs"):
        corpus.tags()


def test_split_names_are_those_with_files(tmp_path: Path) -> None:
    data = {
        "train": {"tsv": "a"},
        "dev": {"tsv": None},
        "test": None,
        "test_long": {"tsv": "b"},
        "reverse": False,
    }
    assert split_names(data) == ["train", "test_long"]
    with pytest.raises(NMTError, match="data.dev names no files: the splits are train, test_long"):
        open_corpus(data, "dev")


def test_fingerprints_tell_contents_apart(tmp_path: Path) -> None:
    splits = [
        two_files(tmp_path, PAIRS, "a"),
        two_files(tmp_path, PAIRS, "b"),
        two_files(tmp_path, PAIRS[:2], "c"),
    ]
    first, same, other = (open_corpus({"train": split}, "train").fingerprint for split in splits)
    reverse = open_corpus({"train": splits[0], "reverse": True}, "train").fingerprint
    assert first == same
    assert len({first, other, reverse}) == 3


@pytest.mark.parametrize("name", ["multi30k", "tatoeba"])
def test_the_shipped_settings_read_real_corpora(name: str, shared_data: Path) -> None:
    from omegaconf import OmegaConf

    from nmt.config import config_dir

    config = OmegaConf.create({"data": OmegaConf.load(config_dir() / "data" / f"{name}.yaml")})
    config.data.dir = str(shared_data / name)
    corpus = open_corpus(config.data, "test")
    references = corpus.references()
    assert corpus.num_lines in (1000, 1500)
    assert references is None or all(
        fr in found for found, (_, fr) in zip(references, corpus.lines(), strict=True)
    )
