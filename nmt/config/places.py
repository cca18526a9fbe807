"""Where the files that travel with the package lie: inside it when installed, beside it in a checkout."""

from pathlib import Path

from nmt.errors import NMTError

_PACKAGE = Path(__file__).resolve().parent.parent


def config_dir() -> Path:
    """The folder of the YAML files: `nmt/configs` of an installed wheel, `configs` of a checkout."""
    return _first_folder(_PACKAGE / "configs", _PACKAGE.parent / "configs")


def data_dir() -> Path:
    """The folder of the built-in corpora (`en-fr` in it): `nmt/corpora` of a wheel, `data` of a checkout."""
    return _first_folder(_PACKAGE / "corpora", _PACKAGE.parent / "data")


def _first_folder(*candidates: Path) -> Path:
    for folder in candidates:
        if folder.is_dir():
            return folder
    raise NMTError(f"{candidates[0]} is missing: this installation is incomplete, install nmt again")
