"""nmt-train: make a run directory."""

import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.cli.command import Arguments, adopt, run_command
from nmt.cli.run_folder import Job, claim, expand, run_folder
from nmt.config import check, compose
from nmt.config.literal import absolute_paths
from nmt.device import choose_device

if TYPE_CHECKING:
    from omegaconf import DictConfig

USAGE = """
nmt-train trains a model and keeps everything about it in one folder, the run directory.

  nmt-train                                  the demo model on the built-in English-French corpus
  nmt-train attention=local_p seed=2         the same with another attention and another seed
  nmt-train data.train.source=a.en data.train.target=a.fr run_dir=runs/mine      your own text, line by line
  nmt-train ... data.dev.source=b.en data.dev.target=b.fr                        with a validation set
  nmt-train ... data.reverse=true            the other direction
  nmt-train ... training.max_minutes=30      stop after half an hour
  nmt-train -m attention=additive,dot seed=1,2 run_dir=runs/study                four runs in runs/study

Ctrl-C saves; the same command continues. A finished run is only replaced with overwrite=true.
"""

log = logging.getLogger(__name__)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return run_command("train", USAGE, _train, argv, multirun=True)


def _train(arguments: Arguments) -> None:
    overrides = absolute_paths(arguments.overrides)
    jobs = expand(overrides) if arguments.multirun else [Job(overrides, None)]
    for number, job in enumerate(jobs, start=1):
        if len(jobs) > 1:
            log.info("run %d of %d: %s", number, len(jobs), job.name)
        _train_one(job, arguments.folders)


def _train_one(job: Job, folders: Sequence[Path]) -> None:
    config = compose("train", job.overrides, folders)
    adopt(config)
    check(config)
    choose_device(config.device)  # an error now rather than after the data
    path = run_folder(config.run_dir, job)
    if claim(path, config, skip_finished=job.name is not None):
        from nmt.experiment import train

        train(config, path)
        if config.worked_example is not None:
            _work_example(config, path)


def _work_example(config: "DictConfig", path: Path) -> None:
    """Print the finished run's attention to the configured pair, step by step."""
    from nmt.evaluation.worked_example import worked_example
    from nmt.translator import Translator

    example = config.worked_example
    translator = Translator.load(path, device=config.device)
    print(worked_example(translator, example.source, example.target, example.get("published")), end="")


if __name__ == "__main__":
    sys.exit(main())
