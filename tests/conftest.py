"""What several test files need."""

import os
from pathlib import Path

import pytest
import torch

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
