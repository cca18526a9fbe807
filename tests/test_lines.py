"""Lines end at \\n only, and whatever cannot be read is one clear line."""

import gzip
import io
import os
from pathlib import Path

import pytest

from nmt.data.lines import existing_file, read_lines
from nmt.errors import NMTError

ODD = "a\u2028b\x85c\rd\0e\x0cf\u2029g\x1ch"


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        ("", []),
        ("\n", [""]),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\n\nb", ["a", "", "b"]),
        ("a\r\n", ["a\r"]),
        (ODD + "\n" + ODD, [ODD, ODD]),
        ("\ufeffa\n", ["\ufeffa"]),
    ],
)
def test_lines_end_at_newlines_only(data: str, lines: list[str], tmp_path: Path) -> None:
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    plain.write_bytes(data.encode())
    packed.write_bytes(gzip.compress(data.encode()))
    assert (
        list(read_lines(plain))
        == list(read_lines(packed))
        == list(read_lines(io.BytesIO(data.encode())))
        == lines
    )


def test_invalid_utf8_names_file_and_line_or_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "latin1.fr"
    path.write_bytes("un\nd\xe9j\xe0\n".encode("latin1"))
    with pytest.raises(NMTError, match=r"latin1.fr, line 2: not UTF-8 \(byte 0xe9 at position 2\)"):
        list(read_lines(path))
    assert list(read_lines(path, errors="replace")) == ["un", "d\ufffdj\ufffd"]
    with pytest.raises(NMTError, match="standard input, line 1"):
        list(read_lines(io.BytesIO(b"\xff"), name="standard input"))


def test_a_missing_file_suggests_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "train.en").write_text("a\n")
    with pytest.raises(NMTError, match="no file .*trian.en: did you mean .*train.en"):
        existing_file(tmp_path / "trian.en")
    with pytest.raises(NMTError, match="folder .*nowhere does not exist"):
        existing_file(tmp_path / "nowhere" / "a")
    with pytest.raises(NMTError, match="is a folder"):
        list(read_lines(tmp_path))


def test_damaged_gzip_is_a_users_error(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    whole = gzip.compress(os.urandom(3000).hex().encode())
    path.write_bytes(whole[:-500])
    with pytest.raises(NMTError, match="damaged gzip"):
        list(read_lines(path))


def test_a_stream_is_read_as_it_arrives() -> None:
    read, write = os.pipe()
    with os.fdopen(read, "rb") as reader, os.fdopen(write, "wb", buffering=0) as writer:
        lines = read_lines(reader)
        for text in ("one", "two"):
            writer.write(text.encode() + b"\n")
            assert next(lines) == text


def test_watch_sees_every_byte(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"a\n\nb\r\nc")
    seen: list[bytes] = []
    list(read_lines(path, watch=seen.append))
    assert b"".join(seen) == path.read_bytes()
