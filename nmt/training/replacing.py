"""Training anew in the folder of a run: the old run stays until the new one begins to train."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(folder: Path, overwrite: bool) -> Iterator[Callable[[], None]]:
    """Room in `folder` for a new run: with `overwrite`, the run that is there is set aside.

    It comes back at the end unless what this yields was called, which deletes it. If this process is killed
    before either, it lies in ``.NAME.replaced`` beside the folder until the next training there begins, or
    is to overwrite and cannot. Without `overwrite` nothing moves: another process may be at work in `folder`.
    """
    folder = folder.resolve()
    aside = folder.with_name(f".{folder.name}.replaced")
    old = aside / folder.name
    if overwrite and (folder / "config.yaml").is_file():
        if old.exists():
            shutil.rmtree(folder)  # what was to replace the old one never began to train
        else:
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir()
            folder.rename(old)

    def forget() -> None:
        if old.exists():
            old.rename(aside / f"{old.name}~")  # at once, so that no half of it ever comes back
            shutil.rmtree(aside, ignore_errors=True)

    try:
        yield forget
    finally:
        if overwrite and old.exists():
            shutil.rmtree(folder, ignore_errors=True)
            old.rename(folder)
            aside.rmdir()
