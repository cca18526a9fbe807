"""Installed as a wheel, editable, or not at all: the same commands work from any folder."""

import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
COMMANDS = sorted(PROJECT["project"]["scripts"])


def output(*command: str | Path, cwd: Path, **environment: str) -> str:
    """What `command` writes to stdout; it must succeed and write nothing to stderr."""
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=cwd, env={**clean, **environment}, capture_output=True, text=True, encoding="utf-8"
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheel and the editable wheel of this checkout, built without a network."""
    backend = pytest.importorskip("hatchling.build", reason="needs hatchling (in the extra dev)")
    folder = tmp_path_factory.mktemp("wheels")
    before = os.getcwd()
    os.chdir(ROOT)
    try:
        for name in ("wheel", "editable"):
            (folder / name).mkdir()
        return {
            "wheel": folder / "wheel" / backend.build_wheel(str(folder / "wheel")),
            "editable": folder / "editable" / backend.build_editable(str(folder / "editable")),
        }
    finally:
        os.chdir(before)


@pytest.fixture(scope="module", params=["wheel", "editable"])
def installed(
    request: pytest.FixtureRequest, wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The folder of the console commands in an environment that has the wheel, and all else from this one."""
    environment = tmp_path_factory.mktemp(request.param)
    venv.create(environment, symlinks=os.name != "nt")
    binaries = environment / ("Scripts" if os.name == "nt" else "bin")
    pip = [sys.executable, "-m", "pip", "--python", str(binaries / "python"), "--disable-pip-version-check"]
    wheel = str(wheels[request.param])
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", wheel], check=True)
    site = Path(
        output(
            binaries / "python", "-c", "import site; print(site.getsitepackages()[0])", cwd=environment
        ).strip()
    )
    ours = [path for path in sys.path if path.endswith("site-packages")]
    (site / "rest.pth").write_text("\n".join(ours) + "\n")
    return binaries


@pytest.mark.parametrize("command", COMMANDS)
def test_installed_commands_work_from_any_folder(installed: Path, command: str, tmp_path: Path) -> None:
    assert output(installed / command, "--help", cwd=tmp_path).startswith(command)
    assert "seed: 5" in output(installed / "nmt-train", "--cfg", "seed=5", cwd=tmp_path)
    assert not list(tmp_path.iterdir())


def test_installed_files_are_found(installed: Path, tmp_path: Path) -> None:
    code = (
        "import nmt, nmt.config as c; print(nmt.__file__, c.config_dir(), *c.data_dir().iterdir(), sep='\\n')"
    )
    package, configs, *corpora = output(installed / "python", "-c", code, cwd=tmp_path).splitlines()
    assert Path(configs).is_dir() and "en-fr" in {Path(corpus).name for corpus in corpora}
    if "editable" not in str(installed):
        assert Path(configs).is_relative_to(Path(package).parent)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_work_in_a_bare_checkout(command: str, tmp_path: Path) -> None:
    module = f"nmt.cli.{command.removeprefix('nmt-')}"
    assert output(sys.executable, "-m", module, "--help", cwd=ROOT).startswith(command)
    assert output(sys.executable, "-m", module, "--version", cwd=tmp_path, PYTHONPATH=str(ROOT)).startswith(
        command
    )


def test_the_wheel_holds_all_that_travels_and_nothing_else(wheels: dict[str, Path]) -> None:
    names = set(zipfile.ZipFile(wheels["wheel"]).namelist())
    for file in (ROOT / "configs").rglob("*.yaml"):
        assert f"nmt/configs/{file.relative_to(ROOT / 'configs').as_posix()}" in names
    for file in (ROOT / "nmt").rglob("*.py"):
        assert file.relative_to(ROOT).as_posix() in names
    assert all(re.match(r"nmt/|nmt-[^/]+\.dist-info/", name) for name in names)
    assert any(name.startswith("nmt/corpora/en-fr/") for name in names)


def test_importing_the_package_is_light(tmp_path: Path) -> None:
    code = "import sys, nmt; print({'torch', 'numpy', 'hydra', 'omegaconf'} & set(sys.modules) or 'light')"
    assert output(sys.executable, "-c", code, cwd=ROOT) == "light\n"


def test_constraints_pin_every_dependency() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {line.partition("==")[0] for line in lines if not line.startswith("#")}
    assert all("==" in line for line in lines if not line.startswith("#"))
    wanted = PROJECT["project"]["dependencies"]
    wanted += [name for extra in PROJECT["project"]["optional-dependencies"].values() for name in extra]
    names = {re.split(r"[\[<>=]", name)[0] for name in wanted} - {"nmt"}
    assert names <= pinned


def test_the_readme_shows_commands_that_exist() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^ {4}(nmt-\w+)", text, re.MULTILINE)) == set(COMMANDS)


def test_the_license_is_the_whole_apache_license() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Version 2.0, January 2004" in text and "END OF TERMS AND CONDITIONS" in text
