"""What a growing file of translations is made with, so that nothing else goes on with it."""

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nmt.cli.run_settings import Settings, runs_of, search_config
from nmt.errors import NMTError
from nmt.files import write_atomically

_OWN = ("checkpoint", "text", "columns", "prefix", "require", "forbid", "format", "split", "errors")

Recipe = Mapping[str, Any]


def recipe_of(settings: Settings) -> dict[str, Any]:
    """All settings, but for the input, that a translation depends on; files count by their contents.

    How many processes or threads work, and on what device, changes nothing.
    """
    from nmt.config.flat import flat

    own = settings.own
    runs = runs_of(settings)
    recipe = {key: own[key] for key in _OWN}
    recipe["run"] = [
        f"{run.path.resolve().name} ({_checksum(run.weights_path(str(own['checkpoint'])))})" for run in runs
    ]
    recipe["lexicon"] = own["lexicon"] and named(own["lexicon"])
    search = flat(search_config(settings, runs[0]))
    return recipe | {f"search.{key}": value for key, value in search.items()}


def named(path: str) -> str:
    """The file's name, and a checksum of what is in it where it can be read twice."""
    return f"{Path(path).name} ({_checksum(Path(path))})" if Path(path).is_file() else path


def _checksum(path: Path) -> str:
    value = 0
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            value = zlib.crc32(block, value)
    return f"{value:08x}"


def write_recipe(part: Path, recipe: Recipe) -> None:
    """Write beside the unfinished file `part` what it is made with."""
    with write_atomically(recipe_path(part), "w") as file:
        json.dump(recipe, file, ensure_ascii=False, indent=1)


def check_recipe(part: Path, recipe: Recipe) -> None:
    """Raise unless the unfinished file `part` was made with `recipe`."""
    try:
        before = json.loads(recipe_path(part).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise NMTError(
            f"{part}: {recipe_path(part).name}, which says what it was made with, is not beside it; "
            "leave out resume=true to begin anew"
        ) from None
    now = json.loads(json.dumps(recipe))
    keys = [key for key in sorted({*before, *now}) if before.get(key) != now.get(key)]
    if keys:
        raise NMTError(
            f"{part} was made with {_shown(before, keys)}, and this command says {_shown(now, keys)}; give "
            "the same settings, or leave out resume=true to begin anew"
        )


def _shown(recipe: Recipe, keys: list[str]) -> str:
    def text(value: Any) -> str:
        if isinstance(value, list):
            return ",".join(map(str, value))
        return json.dumps(value) if value is None or isinstance(value, bool) else str(value)

    return " ".join(f"{key}={text(recipe.get(key))}" for key in keys)


def recipe_path(part: Path) -> Path:
    """Where it stands what the unfinished file `part` is made with."""
    return part.with_name(part.name + ".json")
