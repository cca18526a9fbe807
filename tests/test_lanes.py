"""Batches side by side: what comes out is that of one after the other."""

import threading
from collections.abc import Iterator

import pytest
import torch
from small_models import DECODERS, VOCABULARY_SIZE, small_model

from nmt.data.batches import make_source_batch
from nmt.decoding.sampling import SamplingSettings
from nmt.decoding.search import SearchSettings
from nmt.translator.lanes import side_by_side

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def threads_kept() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_results_come_in_order_and_threads_are_shared_out(threads: int, count: int) -> None:
    torch.set_num_threads(threads)
    found = list(side_by_side(lambda item: (item, torch.get_num_threads()), range(count), CPU))
    assert [item for item, _ in found] == list(range(count))
    lanes = max(1, min(threads, count))
    assert all(each == threads // lanes for _, each in found)
    assert torch.get_num_threads() == threads


def test_batches_are_worked_on_together() -> None:
    torch.set_num_threads(3)
    meeting = threading.Barrier(3, timeout=60)  # passed only by three at once
    assert len(list(side_by_side(lambda _: meeting.wait(), range(3), CPU))) == 3


def test_an_error_leaves_out_the_rest_and_restores_the_threads() -> None:
    torch.set_num_threads(2)
    begun = []

    def work(item: int) -> int:
        begun.append(item)
        if item == 0:
            raise KeyboardInterrupt
        return item

    started = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        list(side_by_side(work, range(10_000), CPU))
    assert len(begun) < 10_000
    assert threading.active_count() == started
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize("search", [SearchSettings(beam_size=3), SamplingSettings(num_samples=3)])
@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("encoder", ["birnn", "transformer"])
def test_searches_do_not_disturb_each_other(
    encoder: str, decoder: str, search: SearchSettings | SamplingSettings
) -> None:
    model = small_model(decoder=decoder, encoder=encoder)
    torch.manual_seed(1)
    batches = [torch.randint(4, VOCABULARY_SIZE, (3, length)).tolist() for length in (9, 7, 8, 3, 2, 5)]

    def translate(batch: list[list[int]]) -> list[list[list[int]]]:
        with torch.inference_mode():
            found = search.search(model.decoder, model.encode(*make_source_batch(batch)), batch)
        return [[hypothesis.tokens for hypothesis in hypotheses] for hypotheses in found]

    torch.set_num_threads(3)
    assert list(side_by_side(translate, batches, CPU)) == list(map(translate, batches))
