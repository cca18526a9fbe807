"""Shell completion, which is Hydra's: `eval "$(nmt-train -sc install=bash)"`, likewise for zsh and fish."""

import argparse
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from io import StringIO

from nmt.config import compose
from nmt.config.compose import prepare
from nmt.config.literal import split_override
from nmt.config.places import config_dir
from nmt.errors import NMTError


def complete(command: str, arguments: list[str]) -> None:
    """Answer `install=SHELL`, `uninstall=SHELL` or, asked by the shell's hook, `query=SHELL`."""
    if command != "compare" or not any(each.startswith("query=") for each in arguments):
        _ask_hydra(command, arguments)
        return
    own = set(compose(command))  # the other settings of nmt-compare are nmt-train's
    words: list[str] = []
    for config, belongs in ((command, own.__contains__), ("train", lambda key: key not in own)):
        with redirect_stdout(StringIO()) as answer:
            _ask_hydra(config, arguments, belongs, sweeps=True)
        words += answer.getvalue().split()
    print(("\n" if "query=fish" in arguments else " ").join(dict.fromkeys(words)))


def _ask_hydra(
    command: str,
    arguments: list[str],
    belongs: Callable[[str], bool] = lambda key: True,
    sweeps: bool = False,
) -> None:
    """Print what Hydra says for the config of `command`.

    What was typed counts where its key `belongs`; with `sweeps` keys may have several values.
    """
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from hydra.errors import HydraException

    def words(args: Sequence[str] | None = None) -> argparse.Namespace:
        """What `args` holds; all but the last word, which is still being typed, as Hydra must get it."""
        plain = [word for word in args or () if not word.startswith("-")]
        finished = [word for word in plain[:-1] if "=" in word]  # a text with spaces comes in pieces
        finished = [word for word in finished if belongs(split_override(word)[0])]
        multirun = sweeps or not {"-m", "--multirun"}.isdisjoint(args or ())
        return argparse.Namespace(overrides=[*prepare(command, finished), *plain[-1:]], multirun=multirun)

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
        except HydraException:
            print()  # a line with a mistake in it has no completions
