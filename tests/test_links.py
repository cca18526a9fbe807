"""Files of word links: three formats, recognised from content, with errors that name file and line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.data.links import (
    Links,
    naacl_lines,
    parse_links,
    pharaoh_line,
    read_links,
    sure_links,
    talp_line,
)
from nmt.errors import NMTError

pairs = st.frozensets(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=12)
links = st.builds(lambda sure, more: Links(sure, sure | more), pairs, pairs)


def write(folder: Path, text: str) -> Path:
    path = folder / "links"
    path.write_text(text, encoding="utf-8")
    return path


def read_error(folder: Path, text: str, **options: object) -> str:
    path = write(folder, text)
    with pytest.raises(NMTError) as error:
        read_links(path, **options)  # type: ignore[arg-type]
    message = str(error.value)
    assert "\n" not in message
    return message.replace(str(path), "FILE")


@given(st.lists(links, max_size=5))
def test_talp_round_trip(tmp_path_factory: pytest.TempPathFactory, sentences: list[Links]) -> None:
    path = write(tmp_path_factory.mktemp("talp"), "".join(talp_line(each) + "\n" for each in sentences))
    assert read_links(path) == (sentences, False)


@given(
    st.lists(links, min_size=1, max_size=5).filter(lambda sentences: any(each.possible for each in sentences))
)
def test_naacl_round_trip(tmp_path_factory: pytest.TempPathFactory, sentences: list[Links]) -> None:
    lines = [line for number, each in enumerate(sentences) for line in naacl_lines(number, each)]
    path = write(tmp_path_factory.mktemp("naacl"), "".join(line + "\n" for line in lines))
    assert read_links(path, lengths=[(31, 31)] * len(sentences)) == (sentences, True)


@given(pairs)
def test_pharaoh_round_trip(found: frozenset[tuple[int, int]]) -> None:
    assert parse_links(pharaoh_line(sure_links(found))) == sure_links(found)


@pytest.mark.parametrize("line", ["0-1 2?0 1p1", "  0-1\t2p0  1?1 "])
def test_possible_links_include_the_sure_ones(line: str) -> None:
    assert parse_links(line) == Links(frozenset({(0, 1)}), frozenset({(0, 1), (2, 0), (1, 1)}))


def test_the_same_gold_in_both_formats(tmp_path: Path) -> None:
    expected = [parse_links("0-0 1?1"), parse_links(""), parse_links("2-1")]
    assert read_links(write(tmp_path, "0-0 1?1\n\n2-1\n")).sentences == expected
    assert read_links(write(tmp_path, "0001 1 1 S\n0001 2 2 P\n3 3 2\n")).sentences == expected
    assert read_links(write(tmp_path, "1 1 1 S 0.9\n1 2 2 P\n\n3 3 2 S\n")).sentences == expected


def test_base_overrides_the_format(tmp_path: Path) -> None:
    assert read_links(write(tmp_path, "1-1 2?3\n"), base=1).sentences == [parse_links("0-0 1?2")]
    assert read_links(write(tmp_path, "1 0 0\n"), base=0).sentences == [parse_links("0-0")]


def test_a_numbered_file_is_filled_up_to_the_text(tmp_path: Path) -> None:
    file = read_links(write(tmp_path, "2 1 1\n"), lengths=[(1, 1)] * 4)
    assert [len(each.sure) for each in file.sentences] == [0, 1, 0, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0-0\n0-0 1_1\n", "FILE, line 2: '1_1' is no word link: write i-j (sure), i?j or ipj (possible)"),
        ("0-0 -1-2\n", "FILE, line 1: '-1-2' is no word link: write i-j (sure), i?j or ipj (possible)"),
        ("hello\n", "FILE, line 1: 'hello' is no word link: write i-j (sure), i?j or ipj (possible)"),
        ("1 1 1\n1 2 X\n", "FILE, line 2: '1 2 X' is no word link: write sentence source target [S|P]"),
        ("0 1 1\n", "FILE, line 1: sentence 0: sentences count from 1"),
        (
            "1 1 1\n1 0 1\n",
            "FILE, line 2: position 0 in '1 0 1', but positions count from 1: give base=0 if they do not",
        ),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, text: str, message: str) -> None:
    assert read_error(tmp_path, text) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "0-0\n1-2\n",
            "FILE, line 2: target position 2 is out of range: the sentence has 2 words, counted from 0",
        ),
        (
            "0-0\n3?1\n",
            "FILE, line 2: source position 3 is out of range: the sentence has 3 words, counted from 0",
        ),
        (
            "1 1 1\n2 4 1\n",
            "FILE, line 2: source position 4 is out of range: the sentence has 3 words, counted from 1",
        ),
        ("3 1 1\n", "FILE, line 1: there is no sentence 3: the text has 2"),
        ("0-0\n", "FILE has links for 1 sentences, but the text has 2"),
    ],
)
def test_an_index_out_of_range_names_its_line(tmp_path: Path, text: str, message: str) -> None:
    assert read_error(tmp_path, text, lengths=[(1, 1), (3, 2)]) == message


def test_a_position_below_the_base_names_its_line(tmp_path: Path) -> None:
    message = "FILE, line 1: the link '0-1' has a position below 1, where counting starts"
    assert read_error(tmp_path, "0-1\n", base=1) == message


def test_another_base_is_refused(tmp_path: Path) -> None:
    assert read_error(tmp_path, "0-0\n", base=2).startswith("base=2 is not a first position")


def test_both_gold_files_of_the_hansards_say_the_same(shared_data: Path) -> None:
    folder = shared_data / "hansards-gold"
    for split, count in (("test", 447), ("dev", 37)):
        english, french = (
            (folder / f"{split}.{side}").read_text("utf-8").split("\n") for side in ("en", "fr")
        )
        lengths = [(len(e.split()), len(f.split())) for e, f in zip(english, french, strict=True)][:count]
        talp = read_links(folder / f"{split}.gold0.talp", lengths)
        naacl = read_links(folder / f"{split}.wa.nonullalign", lengths)
        assert talp.sentences == naacl.sentences
