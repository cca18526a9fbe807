"""Subtitles and catalogues: what is not to be translated comes out as it went in."""

import logging
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.alignment.alignment import Alignment
from nmt.errors import NMTError
from nmt.translator.documents import broken, open_document
from nmt.translator.markup import put_back, take_off


def translated(source: str, target: str, links: list[tuple[int, int]] | None = None) -> Any:
    """A translation that links word to word, unless told otherwise."""
    words, others = source.split(), target.split()
    if links is None:
        links = [(place, place) for place in range(min(len(words), len(others)))]
    weights = np.full((len(others), len(words)), 0.1)
    return SimpleNamespace(
        source=source, text=target, alignment=Alignment.of(words, others, weights, links=links)
    )


def shouted(text: str) -> Any:
    return translated(text, text.upper())


def filled(name: str, text: str) -> str:
    document = open_document(name, text)
    return document.filled([shouted(request.source) for request in document.requests()])


SUBRIP = """\ufeff1
00:00:01,000 --> 00:00:02,500
I love you.

2
00:00:03,000 --> 00:00:04,000 X1:10 X2:20
- Do you <i>know</i> him?
- He sees
us all.

3
00:00:05,000 --> 00:00:06,000

4
00:00:07,000 --> 00:00:08,000
{\\an8}<font color="red">we see</font>
"""

WEBVTT = """WEBVTT - a film

STYLE
::cue { color: white }

NOTE this --> is no cue

intro
00:01.000 --> 00:04.000 align:start position:10%
<v Ann>we see <b>you</b>
"""


def test_subtitles_keep_all_but_their_text() -> None:
    expected = (
        SUBRIP.replace("I love you.", "I LOVE YOU.")
        .replace("Do you <i>know</i> him?", "DO YOU <i>KNOW</i> HIM?")
        .replace("He sees\nus all.", "HE SEES\nUS ALL.")
        .replace("we see", "WE SEE")
    )
    assert filled("film.srt", SUBRIP) == expected
    assert filled("FILM.SRT", SUBRIP.replace("\n", "\r\n")) == expected.replace("\n", "\r\n")


def test_webvtt_keeps_settings_notes_and_styles() -> None:
    assert filled("film.vtt", WEBVTT) == WEBVTT.replace("we see <b>you</b>", "WE SEE <b>YOU</b>")


def test_webvtt_escapes_what_could_be_a_tag_and_subrip_does_not() -> None:
    text = WEBVTT.replace("you</b>", "R&amp;D &lt;now&gt;</b>&nbsp;!")
    (request,) = open_document("film.vtt", text).requests()
    assert request.source == "we see R&D <now>\xa0!"
    assert filled("film.vtt", text).endswith("WE SEE <b>R&amp;D &lt;NOW&gt;</b>\xa0!\n")
    assert filled("film.srt", SUBRIP.replace("I love", "R&D &amp;")).count("R&D &AMP; YOU.") == 1


def test_a_cue_is_one_text_and_a_speech_is_another() -> None:
    requests = open_document("film.srt", SUBRIP).requests()
    assert [request.source for request in requests] == [
        "I love you.", "Do you know him?", "He sees us all.", "we see",
    ]  # fmt: skip
    assert requests[1].place == "film.srt, line 7"


@pytest.mark.parametrize("count", [1, 2, 3])
def test_lines_break_evenly_and_not_in_tags(count: int) -> None:
    lines = broken('one two <font color="a b c">three</font> four', count)
    assert len(lines) <= count and " ".join(lines) == 'one two <font color="a b c">three</font> four'
    assert not any(line.count("<") != line.count(">") for line in lines)


times = st.integers(0, 359_999_999)
words = st.sampled_from(["I see", "you", "<i>we love</i>", '<font color="red">tea</font>', "- no", "R&D"])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(times, times, st.lists(words, min_size=1, max_size=3)), min_size=1, max_size=4))
def test_pysubs2_reads_the_same_cues_from_what_is_written(cues: list[tuple[int, int, list[str]]]) -> None:
    """Its times are those of the source, and so is the text, but for where lines break."""
    pysubs2 = pytest.importorskip("pysubs2")

    def clock(time: int, point: str) -> str:
        return (
            f"{time // 3_600_000:02}:{time // 60_000 % 60:02}:{time // 1000 % 60:02}{point}{time % 1000:03}"
        )

    def read(ending: str, text: str) -> list[tuple[int, int, str]]:
        found = pysubs2.SSAFile.from_string(text, format_=ending)
        return [(each.start, each.end, " ".join(each.plaintext.split())) for each in found]

    for ending, head, point in (("srt", "", ","), ("vtt", "WEBVTT\n\n", ".")):
        text = head + "\n".join(
            f"{number}\n{clock(start, point)} --> {clock(end, point)}\n" + "\n".join(lines) + "\n"
            for number, (start, end, lines) in enumerate(cues, start=1)
        )
        text = text.replace("&", "&amp;") if ending == "vtt" else text
        document = open_document(f"film.{ending}", text)
        same = [translated(request.source, request.source) for request in document.requests()]
        assert read(ending, document.filled(same)) == read(ending, text)


def test_webvtt_py_reads_the_same_settings_and_notes_from_what_is_written() -> None:
    webvtt = pytest.importorskip("webvtt")

    def read(text: str) -> list[Any]:
        found = webvtt.from_string(text)
        return [*found.header_comments, *(style.lines for style in found.styles)] + [
            (each.identifier, each.start, each.end, each.settings, each.text.upper(), each.comments)
            for each in found
        ]

    assert read(filled("film.vtt", WEBVTT)) == read(WEBVTT)


# --- tags


@pytest.mark.parametrize(
    ("source", "target", "links", "expected"),
    [
        ("<i>a b</i>", "x y", [], "<i>x y</i>"),
        ("a <i>b</i> c", "x y z", [(0, 2), (1, 0), (2, 1)], "<i>x</i> y z"),
        ("a <i>b c</i>", "x y z", [(0, 0), (1, 1), (2, 2)], "x <i>y z</i>"),
        ("<b>a <i>b</i></b>", "x y", [(0, 0), (1, 1)], "<b>x <i>y</i></b>"),
        ("<i>a</i> <b>b</b>", "x y", [(0, 0), (1, 1)], "<i>x</i> <b>y</b>"),
        ("a <i>b</i>", "x y", [(0, 0)], "<i>x y</i>"),
        ("{\\an8}a b", "x y", [], "{\\an8}x y"),
        ("a {\\k5}b", "x y", [(0, 1), (1, 0)], "{\\k5}x y"),
        ("a b<br>", "x y", [(0, 0)], "x y<br>"),
        ("a </i>b", "x y", [(0, 0), (1, 1)], "x </i>y"),
        ("<i>a</i>", "", [], "<i></i>"),
        ("1 < 2 > 0", "1 < 2 > 0", [], "1 < 2 > 0"),
    ],
)
def test_tags_go_where_the_links_say(
    source: str, target: str, links: list[tuple[int, int]], expected: str
) -> None:
    plain, tags = take_off(source)
    assert put_back(translated(" ".join(plain.split()), target, links), tags) == expected


# --- catalogues

CATALOGUE = r"""# A translator's comment
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n > 1);\n"

#: a.c:1
#, c-format
msgid "%s: you see %d cats"
msgstr ""

msgid "you <b>see</b> them\n"
msgstr ""

msgid "done"
msgstr "fait"

msgid "%d man"
msgid_plural "%d men"
msgstr[0] ""
msgstr[1] ""

#~ msgid "old"
#~ msgstr "vieux"
"""


def test_catalogues_are_filled_in_and_placeholders_kept() -> None:
    text = filled("m.po", CATALOGUE.replace("you see %d", "you see"))
    assert 'msgstr "%s: YOU SEE CATS"' in text
    assert 'msgstr "YOU <b>SEE</b> THEM\\n"' in text
    assert 'msgstr[0] "%d MAN"\nmsgstr[1] "%d MEN"' in text
    assert 'msgid "done"\nmsgstr "fait"' in text and '#~ msgstr "vieux"' in text
    assert text.startswith("# A translator's comment\n") and "#, c-format" in text


def test_an_entry_whose_placeholders_would_be_lost_stays_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        text = filled("m.po", CATALOGUE)  # %d becomes %D
    assert 'msgid "%s: you see %d cats"\nmsgstr ""' in text
    assert caplog.messages == ["m.po, line 7: left untranslated, as %d would not have been kept"]


@pytest.mark.parametrize(
    "placeholder", ["%s", "%(name)s", "%1$s", "{name}", "{}", "${x}", "%%", "&amp;", "%5.2f"]
)
def test_placeholders_are_known(placeholder: str) -> None:
    text = f'msgid ""\nmsgstr ""\n\nmsgid "see {placeholder} here"\nmsgstr ""\n'
    document = open_document("m.po", text)
    (request,) = document.requests()
    lost = document.filled([translated(request.source, "voir ici")])
    assert lost.endswith('msgstr ""\n')
    document = open_document("m.po", text)
    kept = document.filled([translated(request.source, f"voir {placeholder} ici")])
    assert kept.endswith(f'msgstr "voir {placeholder} ici"\n')


def test_what_is_no_catalogue_is_one_line() -> None:
    with pytest.raises(NMTError, match="m.po is no gettext catalogue"):
        open_document("m.po", "this is\nno catalogue\n")
