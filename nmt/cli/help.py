"""`--help`, put together from the YAML files themselves: their values and the comments that explain them."""

import re
from pathlib import Path

from nmt.config.places import config_dir

_SETTING = re.compile(r"^(?P<key>[a-z]\w*): *(?P<value>[^#]*?) *(?:# *(?P<comment>.*))?$")
_DEFAULT = re.compile(r"^ +- (?:override )?/?(?P<group>[a-z]\w*): *(?P<option>\w+)")
_WITH_KEYS = ("training", "search")  # groups whose keys people turn most

_OPTIONS = """\
Options
  -h, --help              this text
  -c, --cfg               print the composed config instead of running
  -cd, --config-dir DIR   a folder with your own YAML files (DIR/attention/mine.yaml for attention=mine)
  -sc install=bash        print the code for completion in bash (or zsh, fish), for your shell to evaluate
      --version           print the version
"""
_MULTIRUN = """\
  -m, --multirun          one run for each combination of comma-separated values; run_dir is their parent
"""


def help_text(name: str, usage: str) -> str:
    """The help of `nmt-NAME`: its `usage`, its settings, the groups it composes and the options."""
    lines = (config_dir() / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    parts = [usage.strip("\n") + "\n", "Settings (key=default)\n" + _settings(lines, "")]
    defaults = {match["group"]: match["option"] for line in lines if (match := _DEFAULT.match(line))}
    if name == "train":
        parts.append("Groups (group=default: its options)\n" + _groups(defaults))
    for group in _WITH_KEYS:
        if group in defaults:
            file = config_dir() / group / f"{defaults[group]}.yaml"
            whose = "" if name == "train" else "; the run's own unless given"
            lines = file.read_text(encoding="utf-8").splitlines()
            title = f"{group.capitalize()} ({group}.key=default{whose})"
            parts.append(f"{title}\n{_settings(lines, f'{group}.')}")
    return "\n".join(parts) + "\n" + _OPTIONS.format(name=name) + (_MULTIRUN if name == "train" else "")


def _settings(lines: list[str], prefix: str) -> str:
    """One line a setting: key, default, comment; a comment's further lines below it."""
    text = ""
    for line in lines:
        if (match := _SETTING.match(line)) and match["key"] != "defaults":
            setting = f"{prefix}{match['key']}={match['value']}"
            text += f"  {setting:<32}  {match['comment'] or ''}".rstrip() + "\n"
        elif re.match(r"^ {8,}# ", line) and text:
            text += f"{'':<36}{line.partition('# ')[2]}\n"
    return text


def _groups(defaults: dict[str, str]) -> str:
    text = ""
    for group, option in defaults.items():
        options = sorted(file.stem for file in _files(group))
        text += f"  {group + '=' + option:<24}  {' '.join(options)}\n"
    return text


def _files(group: str) -> list[Path]:
    return list((config_dir() / group).glob("*.yaml"))
