"""Time per decoding step as the target grows: what a step of beam search costs at each length.

    python -m scripts.step_cost RUN
    python -m scripts.step_cost RUN --longest 400 --sentences 16 --beam 5 --source-length 20

Random sources are translated with the end of sentence forbidden up to the last step, so that every step
has all hypotheses. A step is all that happens between one call of the decoder and the next, search included.
The table gives the median, over each stretch of lengths, of what the fastest of some rounds took: where costs
grow linearly, each row adds about as much as the one before.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nmt.allocator import keep_freed_memory
from nmt.data.batches import make_source_batch
from nmt.decoding.search import SearchSettings
from nmt.models.state import DecoderState, Memory
from nmt.training.run_directory import RunDirectory
from scripts.attention_table import table


class Clocked:
    """A decoder that writes down when each of its steps begins."""

    def __init__(self, decoder: Any) -> None:
        self.decoder = decoder
        self.starts: list[float] = []

    def init_state(self, memory: Memory) -> DecoderState:
        return self.decoder.init_state(memory)

    def step(self, tokens: Tensor, state: DecoderState) -> Any:
        self.starts.append(time.perf_counter())
        return self.decoder.step(tokens, state)


@torch.inference_mode()
def step_times(model: Any, memory: Memory, beam_size: int, longest: int) -> Tensor:
    """Seconds (`longest` - 1) of the steps of one search."""
    settings = SearchSettings(beam_size, max_length_ratio=0.0, max_length_offset=longest, min_length=longest)
    clocked = Clocked(model.decoder)
    settings.search(clocked, memory, [])
    return torch.tensor(clocked.starts, dtype=torch.float64).diff()[: longest - 1]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("--longest", type=int, default=400)
    parser.add_argument("--every", type=int, default=50, help="steps of a row")
    parser.add_argument("--sentences", type=int, default=16)
    parser.add_argument("--source-length", type=int, default=20)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()
    keep_freed_memory()
    torch.set_num_threads(arguments.threads)
    model: Any = RunDirectory.open(arguments.run).load_model()
    generator = torch.Generator().manual_seed(1)
    size = (arguments.sentences, arguments.source_length)
    sources = torch.randint(4, model.encoder.embedding.num_embeddings, size, generator=generator)
    with torch.inference_mode():
        memory = model.encode(*make_source_batch(sources.tolist()))
    rounds = [step_times(model, memory, arguments.beam, arguments.longest) for _ in range(arguments.rounds)]
    fastest = torch.stack(rounds).amin(0)
    stretches = fastest.split(arguments.every)
    rows = [
        [f"{arguments.every * (number + 1)}", f"{1000 * stretch.median():.2f}"]
        for number, stretch in enumerate(stretches)
    ]
    print(f"{arguments.sentences} sentences, beam {arguments.beam}, {arguments.threads} threads:\n")
    print(table(["target length up to", "ms a step"], rows))


if __name__ == "__main__":
    main()
