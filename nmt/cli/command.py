"""What all commands share: options, where logs go, and how a run of the command ends.

Results go to stdout, everything else to stderr. Exit status: 0 done; 1 a user's mistake, told in one line;
130 after Ctrl-C; 141 when the reader of our output has gone.
"""

import io
import logging
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import nmt
from nmt.cli.help import help_text
from nmt.config.literal import quote_literal, split_override
from nmt.config.nearest import did_you_mean
from nmt.errors import NMTError

if TYPE_CHECKING:
    from omegaconf import DictConfig


class Arguments(NamedTuple):
    """A command line, sorted."""

    overrides: list[str]  # key=value, as typed
    folders: list[Path]  # further folders of YAML files
    multirun: bool = False
    action: str = "run"  # run | help | version | cfg | completion


_ACTIONS = {"-h": "help", "--help": "help", "--version": "version", "-c": "cfg", "--cfg": "cfg"}
_ACTIONS |= {"-sc": "completion", "--shell-completion": "completion"}
_FOLDER_OPTIONS = ("-cd", "--config-dir")
_MULTIRUN_OPTIONS = ("-m", "--multirun")


def run_command(
    name: str,
    usage: str,
    run: Callable[[Arguments], None],
    argv: Sequence[str] | None,
    multirun: bool = False,
) -> int:
    """Run the command `nmt-NAME` on `argv` (without the program's name) and return its exit status."""
    log_to_stderr()
    if isinstance(sys.stdout, io.TextIOWrapper):  # whatever the locale
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    try:
        arguments = read_arguments(sys.argv[1:] if argv is None else argv, multirun)
        if arguments.action == "run":
            run(arguments)
        else:
            _inform(name, usage, arguments)
        sys.stdout.flush()
        return 0
    except NMTError as error:
        return _complain(name, str(error))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
        return 141  # as a process that SIGPIPE ends
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _complain(name, f"{where}{error.strerror or error}")
    except KeyboardInterrupt:
        _complain(name, "interrupted")
        return 130


def read_arguments(argv: Sequence[str], multirun: bool = False) -> Arguments:
    """Sort `argv` into overrides and options; `multirun` says whether the command knows `-m`."""
    overrides: list[str] = []
    folders: list[Path] = []
    several, action = False, "run"
    words = list(argv)
    while words:
        word = words.pop(0)
        option, _, value = word.partition("=")
        if not word.startswith("-"):
            overrides.append(_decodable(word))
        elif option in _FOLDER_OPTIONS:
            folders.append(_folder(option, value or (words.pop(0) if words else "")))
        elif word in _MULTIRUN_OPTIONS and multirun:
            several = True
        elif option in _ACTIONS:
            action = _ACTIONS[option]
            if action == "cfg" and not value and words and words[0] == "job":
                value = words.pop(0)  # Hydra's spelling: --cfg job
            if value and (action, value) != ("cfg", "job"):
                raise NMTError(f"{word}: {option} takes no value {value}")
        else:
            valid = [*_ACTIONS, *_FOLDER_OPTIONS, *(_MULTIRUN_OPTIONS if multirun else ())]
            raise NMTError(f"{word}: there is no option {option}, {did_you_mean(option, valid)}")
    return Arguments(overrides, folders, several, action)


def _folder(option: str, text: str) -> Path:
    folder = Path(text)
    if not text or not folder.is_dir():
        raise NMTError(f"{option} {text}: needs an existing folder of YAML files")
    return folder


def _decodable(word: str) -> str:
    """`word`, unless it is a text and not UTF-8 (the name of a file may be anything)."""
    key, value = split_override(word)
    if key in ("text", "translation") and value and re.search("[\udc80-\udcff]", value):
        raise NMTError(f"{key}={ascii(value)}: not valid UTF-8; set the terminal to UTF-8 or use a file")
    return word


def _inform(name: str, usage: str, arguments: Arguments) -> None:
    """Print the help, the version, the composed config or what a shell asks for."""
    if arguments.action == "help":
        print(help_text(name, usage), end="")
    elif arguments.action == "version":
        print(f"nmt-{name} {nmt.__version__}")
    elif arguments.action == "cfg":
        from omegaconf import OmegaConf

        from nmt.config import compose

        print(OmegaConf.to_yaml(compose(name, arguments.overrides, arguments.folders)), end="")
    else:
        from nmt.cli.completion import complete

        complete(name, [quote_literal(override) for override in arguments.overrides])


def _complain(name: str, message: str) -> int:
    print(f"nmt-{name}: {' '.join(message.split())}", file=sys.stderr)
    return 1


class _StderrHandler(logging.Handler):
    """Writes to whatever stderr is now, between progress bars and not into them."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self.format(record)
            if "tqdm" in sys.modules:
                sys.modules["tqdm"].tqdm.write(text, file=sys.stderr)
            else:
                print(text, file=sys.stderr)
        except (OSError, ValueError):
            self.handleError(record)


class _Format(logging.Formatter):
    """The message alone, with its level before it from warnings on."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        return f"{record.levelname.lower()}: {text}" if record.levelno >= logging.WARNING else text


def log_to_stderr() -> None:
    """Our own logs from INFO, others' from WARNING on, to stderr; nothing else configures logging."""
    root = logging.getLogger()
    if not any(isinstance(handler, _StderrHandler) for handler in root.handlers):
        handler = _StderrHandler()
        handler.setFormatter(_Format())
        root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("nmt").setLevel(logging.INFO)


def adopt(config: "DictConfig") -> None:
    """Put in force what every command's `config` holds: how much is logged, what configs may call.

    Also what PyTorch needs of the process before it starts.
    """
    from nmt.allocator import keep_freed_memory
    from nmt.config import allow

    keep_freed_memory()
    logging.getLogger("nmt").setLevel(logging.DEBUG if config.verbose else logging.INFO)
    if config.allow_modules:
        allow(*(module.strip() for module in config.allow_modules.split(",")))
        sys.path.append(os.getcwd())  # a console command does not look for modules here by itself
