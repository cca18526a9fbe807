"""N lines in, N lines out, in order, whatever is in them: arbitrary text, and every oddity by name."""

import io
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_translator import ENGLISH, NASTY, make_translator

from nmt.data.lines import read_lines
from nmt.decoding.search import SearchSettings
from nmt.errors import NMTError
from nmt.translator import Translator
from nmt.translator.formats import FORMATS

_LINES_AT_ONCE, _EXAMPLES = 40, 55  # 2,200 generated lines
_SHORT = SearchSettings(beam_size=2, n_best=2, max_length_ratio=0, max_length_offset=4)
_MARKS = ("<unk>", "<pad>", "<s>", "</s>", "⁇", "▁", "￭", "￮")

lines = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=20)


@pytest.fixture(scope="module")
def translator() -> Translator:
    return make_translator(search=_SHORT, max_source_length=60)


def out_of(translator: Translator, given_lines: list[str], format: str = "text") -> list[str]:
    """What the command makes of a file of these lines, as lines."""
    file = io.BytesIO("".join(f"{line}\n" for line in given_lines).encode())
    found = translator.translations(read_lines(file))
    text = "".join(FORMATS[format](number, translation) for number, translation in enumerate(found))
    assert text.endswith("\n") or not given_lines
    return text.split("\n")[:-1]


def test_arbitrary_lines(translator: Translator) -> None:
    count = 0

    @settings(max_examples=_EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(
        st.lists(
            lines | st.sampled_from(NASTY) | st.sampled_from(ENGLISH),
            min_size=_LINES_AT_ONCE,
            max_size=_LINES_AT_ONCE,
        )
    )
    def check(given_lines: list[str]) -> None:
        nonlocal count
        count += len(given_lines)
        found = out_of(translator, given_lines)
        assert len(found) == len(given_lines)
        for line, text in zip(given_lines, found, strict=True):
            assert not any(mark in text and mark not in line for mark in _MARKS)
            assert line.strip("\ufeff \t") or not text
        place = count % _LINES_AT_ONCE  # alone, a line is what it is among others
        assert out_of(translator, [given_lines[place]]) == [found[place]]
        assert out_of(translator, given_lines[::-1]) == found[::-1]

    check()
    assert count >= 2000


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(lines | st.sampled_from(NASTY), max_size=8), st.sampled_from(sorted(set(FORMATS) - {"nbest"}))
)
def test_every_format_has_a_line_for_a_line(
    translator: Translator, given_lines: list[str], format: str
) -> None:
    assert len(out_of(translator, given_lines, format)) == len(given_lines)


ODDITIES = {
    "blank": "",
    "spaces": "     ",
    "white space of every kind": " \t\u00a0\u202f\u2003\u3000",
    "one repeated letter": "a" * 3000,
    "one repeated full stop": "." * 3000,
    "one repeated combining mark": "\u0301" * 500,
    "ten thousand words": "I love you " * 3334,
    "ten thousand sentences": "I see. " * 5000,
    "emoji": "I love 👍🏽 and 👨\u200d👩\u200d👧.",
    "right to left": "I see مرحبا and שלום.",
    "bidirectional controls": "\u202eI see\u202c you.",
    "combining marks": "e\u0301t e\u0323\u0302",
    "no-break space before punctuation": "Chat\u00a0! Oui\u00a0?",
    "narrow no-break space before punctuation": "Chat\u202f! Oui\u202f?",
    "line separator": "I love\u2028you.",
    "paragraph separator": "I love\u2029you.",
    "next line": "I love\u0085you.",
    "carriage return at the end": "I love you.\r",
    "carriage return inside": "I love\ryou.",
    "vertical tab": "I love\x0byou.",
    "form feed": "I love\x0cyou.",
    "file separators": "I\x1clove\x1dyou\x1e.\x1f",
    "NUL": "I love\x00you.",
    "byte order mark": "\ufeffI love you.",
    "byte order mark inside": "I love\ufeff you.",
    "tab": "I\tlove you.",
    "escape sequence": "\x1b[31mI love you.",
    "private use": "\ue000\uf8ff",
    "no character": "\ufffe\uffff\U0010ffff",
    "replacement character": "I \ufffd you.",
    "only <unk>": "<unk>",
    "only </s>": "</s>",
    "only <s> and <pad>": "<s> <pad>",
    "only ▁": "▁",
    "only @@": "@@",
    "a joiner": "I￭ love ￭you￭.",
    "our escape": "￮j ￮",
    "a byte piece": "<0x41>",
    "what unknown words show": "I ⁇ you ⁇",
    "markup": "<b>I</b> &amp; you {0} %s",
    "an n-best separator": "I ||| you",
    "a lone surrogate escape, typed": "I \\ud83d see \\udce9",
    "only a joiner": "￭",
}


@pytest.mark.parametrize("name", ODDITIES)
def test_an_oddity_is_one_line_and_its_neighbours_do_not_notice(translator: Translator, name: str) -> None:
    line = ODDITIES[name]
    one, odd, two = out_of(translator, [ENGLISH[0], line, ENGLISH[1]])
    assert (one, two) == tuple(out_of(translator, [ENGLISH[0], ENGLISH[1]]))
    assert not any(mark in odd and mark not in line for mark in _MARKS)
    if len(line) < 1000:
        assert [odd] == out_of(translator, [line])
    if not line.strip():
        assert odd == ""


def test_nothing_of_a_long_line_is_dropped(translator: Translator) -> None:
    (translation,) = translator.translations([ODDITIES["ten thousand words"]])
    (best, _) = translation.hypotheses
    spans = [span for part in best.parts for span in part.segment.spans]
    assert sum(len(part.segment.ids) for part in best.parts) == len(best.source.ids)
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
    assert len(best.source_words) == 10_002


@pytest.mark.parametrize(
    ("odd", "first", "replaced"),
    [(b"\xe9\xff", "e9", 2), (b"\xed\xa0\xbd", "ed", 3), (b"\xf0\x9f\x91", "f0", 1), (b"\xc0\x80", "c0", 2)],
    ids=["Latin-1", "half a surrogate pair", "half an emoji", "NUL in two bytes"],
)
def test_bytes_that_are_no_text_are_an_error_that_names_the_line_or_are_replaced(
    translator: Translator, odd: bytes, first: str, replaced: int
) -> None:
    data = b"I love you.\nI %s you.\nI see.\n" % odd
    with pytest.raises(NMTError, match=rf"the input, line 2: not UTF-8 \(byte 0x{first} at position 3\)"):
        list(translator.translations(read_lines(io.BytesIO(data), name="the input")))
    found = translator.translations(read_lines(io.BytesIO(data), "replace"))
    assert [each.source for each in found] == ["I love you.", f"I {chr(0xFFFD) * replaced} you.", "I see."]


@pytest.mark.parametrize("text", ["\udce9", "I \ud83d you"])
def test_half_a_surrogate_pair_is_an_error(translator: Translator, text: str) -> None:
    with pytest.raises(NMTError, match="half a surrogate pair"):
        translator.translate([text])


def test_end_of_file_without_a_newline_and_an_empty_file(translator: Translator) -> None:
    def count(data: bytes) -> int:
        return len(list(translator.translations(read_lines(io.BytesIO(data)))))

    assert [count(data) for data in (b"", b"\n", b"a", b"a\n", b"a\nb", b"\n\n")] == [0, 1, 1, 1, 2, 2]
