"""Alignment matrices: folding pieces into words, renormalising, showing, writing and scoring them."""

import io
import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.alignment import Alignment, alignment_error_rate, fold_pieces, score_link_files
from nmt.alignment.formats import FORMATS, LINE_FORMATS, format_alignments, write_alignments
from nmt.alignment.plot import figure
from nmt.alignment.text import display_width
from nmt.data.links import Links, parse_links, read_links, sure_links
from nmt.errors import NMTError

SOURCE, TARGET = ["I", "love", "you", "."], ["je", "t'", "aime", "."]
WEIGHTS = np.array(
    [[0.94, 0.02, 0.03, 0.01], [0.11, 0.01, 0.87, 0.01], [0.03, 0.93, 0.03, 0.01], [0, 0, 0, 0.9]]
)


@pytest.fixture
def textbook() -> Alignment:
    return Alignment.of(SOURCE, TARGET, WEIGHTS, np.array([0, 0, 0, 0.1]))


@st.composite
def pieces(draw_: st.DrawFn) -> tuple[np.ndarray, list[int], int, list[int], int]:
    """Attention between pieces with end-of-sentence, and each piece's word (words may lack pieces)."""

    def side() -> tuple[list[int], int]:
        count = draw_(st.integers(1, 5))
        return sorted(draw_(st.lists(st.integers(0, count - 1), max_size=8))), count

    (source_words, num_source), (target_words, num_target) = side(), side()
    rng = np.random.default_rng(draw_(st.integers(0, 2**32 - 1)))
    weights = rng.dirichlet(np.ones(len(source_words) + 1), size=len(target_words) + 1)
    return weights, source_words, num_source, target_words, num_target


@given(pieces(), st.sampled_from(["mean", "first", "max"]))
def test_folding_equals_brute_force(case: tuple, fold: str) -> None:
    weights, source_words, num_source, target_words, num_target = case
    folded = fold_pieces(weights, source_words, num_source, target_words, num_target, fold)  # type: ignore[arg-type]
    combine = {"mean": np.mean, "first": lambda values: values[0], "max": np.max}[fold]
    for target in range(num_target):
        rows = [t for t, word in enumerate(target_words) if word == target]
        for source in range(num_source):
            columns = [s for s, word in enumerate(source_words) if word == source]
            sums = [sum(weights[t, s] for s in columns) for t in rows]
            assert np.isclose(folded.weights[target, source], combine(sums) if sums else 0)
        assert np.isclose(folded.eos[target], combine([weights[t, -1] for t in rows]) if rows else 0)


@given(pieces())
def test_rows_sum_to_one_beside_the_share_of_the_end(case: tuple) -> None:
    weights, source_words, num_source, target_words, num_target = case
    folded = fold_pieces(weights, source_words, num_source, target_words, num_target)
    alignment = Alignment.of(["s"] * num_source, ["t"] * num_target, folded.weights, folded.eos)
    for target in range(num_target):
        if target in target_words:
            words = 1.0 if source_words else 0.0
            assert np.isclose(alignment.weights[target].sum(), words)
            assert np.isclose(alignment.eos[target], folded.eos[target])
        else:
            assert alignment.weights[target].sum() == alignment.eos[target] == 0


def test_folding_refuses_weights_of_another_shape() -> None:
    with pytest.raises(ValueError, match=r"\(3, 3\) for pieces that need \(3, 4\)"):
        fold_pieces(np.zeros((3, 3)), [0, 0, 1], 2, [0, 1], 2)


def test_a_row_that_only_looked_at_the_end_is_zeros_without_a_link() -> None:
    alignment = Alignment.of(["a", "b"], ["x", "y"], np.array([[0, 0], [0.2, 0.2]]), np.array([1, 0.6]))
    assert alignment.weights.tolist() == [[0, 0], [0.5, 0.5]]
    assert np.allclose(alignment.eos, [1, 0.6])
    assert alignment.links == [(0, 1)]


def test_links_are_each_rows_argmax_unless_given(textbook: Alignment) -> None:
    assert textbook.links == [(0, 0), (1, 2), (2, 1), (3, 3)]
    assert Alignment.of(SOURCE, TARGET, WEIGHTS, links=[(2, 1), (0, 0)]).links == [(0, 0), (2, 1)]


def test_weights_that_do_not_sum_to_one_are_renormalised() -> None:
    alignment = Alignment.of(["a", "b"], ["x"], np.array([[0.3, 0.1]]), np.array([0.1]))
    assert np.allclose(alignment.weights, [[0.75, 0.25]])
    assert np.allclose(alignment.eos, [0.2])


# --- the terminal


def test_the_textbook_matrix_in_the_terminal(textbook: Alignment) -> None:
    assert textbook.text() == (
        "           I    love     you       .  end\n"
        "je    ██ .94     .02     .03     .01   ·\n"
        "t'    ░░ .11     .01  ██ .87     .01   ·\n"
        "aime     .03  ██ .93     .03     .01   ·\n"
        ".         ·       ·       ·   ██ 1.0  .10\n"
    )


WORDS = [
    "I",
    "understandably",
    "北京",
    "مرحبا",
    "👍🏽",
    "e\u0301te\u0301",
    "❤️",
    "a\x1b[31mb",
    "\u202e",
    "ｗｉｄｅ",
]


def test_columns_stand_under_each_other_whatever_the_words() -> None:
    rng = np.random.default_rng(1)
    text = Alignment.of(WORDS, WORDS, rng.random((len(WORDS), len(WORDS)))).text()
    lines = text.rstrip("\n").split("\n")
    assert len({display_width(line) for line in lines}) == 1
    assert "\x1b" not in text and "\u202e" not in text


@pytest.mark.parametrize("width", [1, 20, 40, 80])
def test_a_wide_matrix_is_broken_into_blocks(width: int) -> None:
    words = [f"word{n}" for n in range(20)]
    text = Alignment.of(words, ["x", "y"], np.ones((2, 20))).text(width)
    blocks = [block.split("\n") for block in text.rstrip("\n").split("\n\n")]
    assert [word for block in blocks for word in block[0].split()] == words
    assert all(block[1].startswith("x") and block[2].startswith("y") for block in blocks)
    if width >= 20:
        assert max(display_width(line) for block in blocks for line in block) <= width


@pytest.mark.parametrize(
    ("text", "width"),
    [("", 0), ("abc", 3), ("e\u0301", 1), ("北京", 4), ("👍🏽", 2), ("❤️", 2), ("a\u200bb", 2)],
)
def test_display_width(text: str, width: int) -> None:
    assert display_width(text) == width


@pytest.mark.parametrize(("source", "target"), [([], []), (["a"], []), ([], ["x"])])
@pytest.mark.parametrize("format", FORMATS)
def test_an_empty_side_can_be_written(
    tmp_path: Path, source: list[str], target: list[str], format: str
) -> None:
    empty = Alignment.of(source, target, np.zeros((len(target), len(source))))
    write_alignments([empty], format, tmp_path / "file", io.StringIO())
    assert (tmp_path / "file").exists()


# --- formats


def written(alignments: list[Alignment], format: str) -> str:
    return "".join(format_alignments(alignments, format))


def test_json_is_one_object_a_line(textbook: Alignment) -> None:
    odd = Alignment.of(["\u2028", "\x85"], ['"\\'], np.array([[1, 3]]))
    lines = written([textbook, odd], "json").splitlines()
    first, second = map(json.loads, lines)
    assert list(first) == ["source", "target", "weights", "eos", "links"]
    assert (first["source"], first["target"]) == (SOURCE, TARGET)
    assert np.allclose(first["weights"], textbook.weights) and np.allclose(first["eos"], [0, 0, 0, 0.1])
    assert first["links"] == [[0, 0], [1, 2], [2, 1], [3, 3]]
    assert second["source"] == ["\u2028", "\x85"] and second["weights"] == [[0.25, 0.75]]


def test_tsv_is_the_matrix_with_its_words(textbook: Alignment) -> None:
    first, second = written([textbook, textbook], "tsv").rstrip("\n").split("\n\n")
    assert first == second
    rows = [line.split("\t") for line in first.split("\n")]
    assert rows[0] == ["", *SOURCE] and [row[0] for row in rows[1:]] == TARGET
    assert np.allclose(np.array([row[1:] for row in rows[1:]], dtype=float), textbook.weights, atol=1e-6)


@pytest.mark.parametrize("format", ["pharaoh", "talp", "naacl"])
def test_link_formats_read_back(tmp_path: Path, textbook: Alignment, format: str) -> None:
    other = Alignment.of(["a"], ["x", "y"], np.ones((2, 1)))
    path = tmp_path / "links"
    write_alignments([textbook, other], format, path, io.StringIO())
    assert read_links(path).sentences == [sure_links(each.links) for each in (textbook, other)]
    if format == "pharaoh":
        assert path.read_text() == "0-0 1-2 2-1 3-3\n0-0 0-1\n"


def test_npz_holds_all_sentences_without_pickles(tmp_path: Path, textbook: Alignment) -> None:
    other = Alignment.of(["été"], ["summer", "!"], np.ones((2, 1)), links=[])
    write_alignments([textbook, other], "npz", tmp_path / "all.npz", io.StringIO())
    with np.load(tmp_path / "all.npz", allow_pickle=False) as arrays:
        assert np.array_equal(arrays["weights_0"], textbook.weights)
        assert np.array_equal(arrays["eos_0"], textbook.eos)
        assert arrays["links_0"].tolist() == [list(link) for link in textbook.links]
        assert arrays["source_1"].tolist() == ["été"] and arrays["target_1"].tolist() == ["summer", "!"]
        assert arrays["links_1"].shape == (0, 2)


@pytest.mark.parametrize("format", LINE_FORMATS)
def test_line_formats_stream(textbook: Alignment, format: str) -> None:
    stream = io.StringIO()

    def alignments():
        yield textbook
        assert stream.getvalue(), "the first alignment is written before the second is asked for"
        yield textbook

    write_alignments(alignments(), format, None, stream)


@pytest.mark.parametrize(
    ("format", "output", "message"),
    [
        ("jsn", None, "format=jsn is unknown: did you mean json? choose one of text, tsv, json, pharaoh, "),
        ("htm", "a.htm", "format=htm is unknown: did you mean html? choose one of text, tsv, json, "),
        ("html", None, "format=html is no text for standard output: give output=FILE.html"),
        ("png", None, "format=png is no text for standard output: give output=FILE.png"),
        ("png", "a.png", "a.png can hold one picture and there are several sentence pairs: put {n} into "),
    ],
)
def test_format_mistakes(textbook: Alignment, format: str, output: str | None, message: str) -> None:
    with pytest.raises(NMTError) as error:
        write_alignments([textbook, textbook], format, output, io.StringIO())
    assert str(error.value).startswith(message)


# --- pictures


@pytest.mark.parametrize(("format", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_pictures_are_written_and_the_same_every_time(
    tmp_path: Path, textbook: Alignment, format: str, start: bytes
) -> None:
    for name in ("a", "b"):
        write_alignments([textbook], format, tmp_path / name, io.StringIO())
    first, second = ((tmp_path / name).read_bytes() for name in ("a", "b"))
    assert first.startswith(start) and len(first) > 2000
    assert first == second
    if format == "svg":
        assert all(f">{word}<" in first.decode() for word in ["love", "aime", ".94"])


def test_many_pictures_are_numbered_and_a_pdf_has_pages(tmp_path: Path, textbook: Alignment) -> None:
    write_alignments([textbook] * 3, "png", tmp_path / "pair-{n}.png", io.StringIO())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pair-1.png", "pair-2.png", "pair-3.png"]
    write_alignments([textbook] * 3, "pdf", tmp_path / "all.pdf", io.StringIO())
    assert (tmp_path / "all.pdf").read_bytes().count(b"/Type /Page ") == 3


def test_a_plot_has_the_words_the_weights_and_the_links(textbook: Alignment) -> None:
    axes = figure(textbook).axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == SOURCE
    assert [label.get_text() for label in axes.get_yticklabels()] == TARGET
    assert np.array_equal(axes.images[0].get_array(), textbook.weights)
    assert {".94", ".87", ".93", "1.0"} <= {text.get_text() for text in axes.texts}
    assert len(axes.collections[-1].get_paths()) == len(textbook.links)


def test_words_are_no_mathematics(tmp_path: Path) -> None:
    words = ["$x^2$", "$", "a_b", "\\frac{", "$\\oops$"]
    write_alignments([Alignment.of(words, words, np.eye(5))], "png", tmp_path / "a.png", io.StringIO())
    assert figure(Alignment.of(words, words, np.eye(5))).axes[0].get_xticklabels()[0].get_text() == "$x^2$"


@pytest.mark.parametrize("count", [1, 4, 12, 30, 80])
def test_labels_do_not_overlap_and_the_figure_follows_the_sentence(count: int) -> None:
    words = [f"reasonably{n}" for n in range(count)]
    drawn = figure(Alignment.of(words, words, np.eye(count)))
    width, height = drawn.get_size_inches()
    assert width == height and 0.24 * count <= width <= 0.5 * count
    boxes = [label.get_window_extent() for label in drawn.axes[0].get_yticklabels()]
    assert all(upper.y0 >= lower.y1 - 1 for upper, lower in zip(boxes, boxes[1:], strict=False))


def test_a_plot_on_axes_of_the_users(textbook: Alignment) -> None:
    from matplotlib.figure import Figure

    left, right = Figure(figsize=(6, 3), layout="constrained").subplots(1, 2)
    textbook.plot(left)
    textbook.plot(right, numbers=False)
    assert left.texts and not right.texts


def test_unknown_glyphs_warn_once_in_our_words(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    odd = Alignment.of(["\U000f0000"], ["x"], np.ones((1, 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_alignments([odd], "png", tmp_path / "a.png", io.StringIO())
    assert [record.message for record in caplog.records if record.name.startswith("nmt")] == [
        "no installed font has some of the characters in the picture: install the Noto fonts"
    ]


# --- error rate

links = st.frozensets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8)


@given(st.lists(st.tuples(links, links, links), min_size=1, max_size=4))
def test_the_error_rate_is_the_papers_formula(sentences: list[tuple]) -> None:
    found, sure, possible = (
        {(n, link) for n, sentence in enumerate(sentences) for link in sentence[part]} for part in range(3)
    )
    possible |= sure
    rate = alignment_error_rate(
        [sure_links(each[0]) for each in sentences], [Links(each[1], each[1] | each[2]) for each in sentences]
    )
    if found and sure:
        assert np.isclose(
            rate.aer, 100 * (1 - (len(found & sure) + len(found & possible)) / (len(found) + len(sure)))
        )
        assert np.isclose(rate.precision, 100 * len(found & possible) / len(found))
        assert np.isclose(rate.recall, 100 * len(found & sure) / len(sure))
    assert 0 <= rate.aer <= 100 and min(rate.precision, rate.recall) - 1e-9 <= rate.f1


def test_perfect_and_empty_alignments() -> None:
    gold = [parse_links("0-0 1?1")]
    assert alignment_error_rate([parse_links("0-0")], gold).aer == 0
    assert alignment_error_rate([parse_links("0-0 1-1")], gold).aer == 0
    assert alignment_error_rate([parse_links("")], gold)[:4] == (100, 100, 0, 0)
    assert alignment_error_rate([parse_links("")], [parse_links("")])[:4] == (0, 100, 100, 100)


def test_files_about_different_sentences_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("0-0\n")
    (tmp_path / "gold").write_text("0-0\n0-0\n")
    with pytest.raises(NMTError, match="a has links for 1 sentences and .*gold for 2"):
        score_link_files(tmp_path / "a", tmp_path / "gold")
    with pytest.raises(NMTError, match="a has links for 1 sentences and .*gold for 2"):
        score_link_files(tmp_path / "gold", tmp_path / "gold", reverse=tmp_path / "a")
    (tmp_path / "naacl").write_text("1 1 1\n")
    assert score_link_files(tmp_path / "naacl", tmp_path / "gold").recall == 50


def test_files_of_both_directions_are_scored_as_one(tmp_path: Path) -> None:
    for name, text in {"there": "0-0 1-1\n", "back": "0-0 2-2\n", "gold": "0-0\n"}.items():
        (tmp_path / name).write_text(text)

    def links(method: str) -> int:
        files = tmp_path / "there", tmp_path / "gold"
        return score_link_files(*files, reverse=tmp_path / "back", method=method).num_links

    assert [links(method) for method in ("intersection", "union", "grow-diag-final-and")] == [1, 3, 3]


@pytest.mark.parametrize("gold", ["test.gold0.talp", "test.wa.nonullalign"])
@pytest.mark.parametrize(
    ("peer", "aer"),
    [("peer.awesome-align.out", 4.07), ("peer.giza.gdf.talp", 6.16), ("peer.fastalign.gdf.talp", 12.09)],
)
def test_known_error_rates_of_other_aligners(shared_data: Path, gold: str, peer: str, aer: float) -> None:
    folder = shared_data / "hansards-gold"
    assert round(score_link_files(folder / peer, folder / gold).aer, 2) == aer
