"""Shell completion, which is Hydra's: `eval "$(nmt-train -sc install=bash)"`, likewise for zsh and fish."""

import argparse
from collections.abc import Sequence

from nmt.config.compose import prepare
from nmt.config.places import config_dir
from nmt.errors import NMTError


def complete(command: str, arguments: list[str]) -> None:
    """Answer `install=SHELL`, `uninstall=SHELL` or, asked by the shell's hook, `query=SHELL`."""
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra

    def words(line: Sequence[str] | None = None) -> argparse.Namespace:
        line = line or []
        plain = [word for word in line if not word.startswith("-")]
        multirun = any(word in ("-m", "--multirun") for word in line)
        finished = prepare(command, plain[:-1])[: len(plain)] if plain else []
        return argparse.Namespace(overrides=[*finished, *plain[-1:]], multirun=multirun)

    import hydra._internal.utils as internal

    internal.get_args = words  # Hydra's own argparse parser cannot be made on Python 3.14
    with initialize_config_dir(str(config_dir()), version_base="1.3"):
        hydra = GlobalHydra.instance().hydra
        assert hydra is not None
        try:
            hydra.shell_completion(config_name=command, overrides=arguments)
        except ValueError as error:
            raise NMTError(
                "-sc needs install=SHELL or uninstall=SHELL; SHELL is bash, zsh or fish"
            ) from error
