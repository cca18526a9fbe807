"""What the README shows in Python runs as it stands there."""

import re
from pathlib import Path

import pytest

from nmt.config import compose
from nmt.experiment import train

TEXT = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("code", BLOCKS, ids=range(len(BLOCKS)))
def test_python_blocks_run(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_run: list[str]
) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.chdir(tmp_path)
    if "runs/demo" in code:
        train(compose("train", small_run), tmp_path / "runs" / "demo")
    exec(compile(code, "README.md", "exec"), {})
    if "savefig" in code:
        assert list(tmp_path.glob("*.png"))
