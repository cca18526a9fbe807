"""Imports go down only: who may know whom, read from the source."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent / "nmt"
FLOORS = [
    {"errors"},
    {"config", "files", "device", "allocator"},
    {"data", "attention", "models"},
    {"training", "decoding"},
    {"translator", "evaluation", "alignment", "experiment"},
    {"comparison"},
    {"cli"},
]
FLOOR = {part: number for number, parts in enumerate(FLOORS) for part in parts}
# Within a floor: the models know the attention, text comes first; nothing else may know its neighbour.
NEIGHBOURS = {("models", "attention"), ("experiment", "translator"), ("experiment", "evaluation")}
NEIGHBOURS |= {("experiment", "alignment"), ("translator", "alignment"), ("evaluation", "translator")}
NEIGHBOURS |= {("evaluation", "alignment")}


def part_of(file: Path) -> str:
    return file.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_parts(file: Path) -> set[str]:
    """The parts of nmt that `file` imports, also inside functions and for types only."""
    names = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return {parts[1] for name in names if (parts := name.split("."))[0] == "nmt" and len(parts) > 1}


FILES = sorted(file for file in ROOT.rglob("*.py") if file != ROOT / "__init__.py")


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_imports_go_down_only(file: Path) -> None:
    part = part_of(file)
    for other in imported_parts(file) - {part, "__version__", "Translator"}:
        assert FLOOR[other] < FLOOR[part] or (part, other) in NEIGHBOURS, f"{part} must not import {other}"


def test_every_function_lives_with_its_subject() -> None:
    drawers = {"utils", "helpers", "common", "misc", "util", "helper"}
    assert not [file for file in FILES if drawers & set(file.with_suffix("").parts)]
