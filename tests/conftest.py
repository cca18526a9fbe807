"""What several test files need."""

import os
import signal
from pathlib import Path

import pytest
import torch

# A shell's background jobs ignore Ctrl-C, and so would the commands that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

torch.set_num_threads(1)  # the models of the tests are too small to share

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real corpora beside the checkout (or at NMT_SHARED_DATA); tests that need it skip without
    it.
    """
    folder = Path(os.environ.get("NMT_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"needs the real corpora, and there is no folder {folder} (set NMT_SHARED_DATA)")
    return folder


@pytest.fixture
def small_run(tmp_path: Path) -> list[str]:
    """The overrides of a run of a few updates on a few pairs."""
    (tmp_path / "a.en").write_text(
        "I see you.\nyou see me.\nhe sees her.\nshe sleeps.\n" * 5, encoding="utf-8"
    )
    (tmp_path / "a.fr").write_text(
        "je te vois.\ntu me vois.\nil la voit.\nelle dort.\n" * 5, encoding="utf-8"
    )
    files = [f"data.{split}.{side}={tmp_path}/a.{end}" for split in ("train", "dev") for side, end in
             (("source", "en"), ("target", "fr"))]  # fmt: skip
    return [
        *files,
        f"data.cache_dir={tmp_path}/cache",
        "model.embedding_size=8",
        "model.hidden_size=8",
        "tokenizer.vocabulary_size=60",
        "training.max_updates=4",
        "training.validate_every=2",
        "device=cpu",
    ]
