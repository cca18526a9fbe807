"""Configuration: where the YAML files lie, how a command composes them, and how a part is built from one."""

from nmt.config.compose import compose, override
from nmt.config.places import config_dir, data_dir
from nmt.config.targets import allow, build, check

__all__ = ["allow", "build", "check", "compose", "config_dir", "data_dir", "override"]
