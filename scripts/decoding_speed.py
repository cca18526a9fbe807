"""Decoding speed beside `transformers` and CTranslate2: sentences a second with the same weights.

    python -m scripts.decoding_speed RUN test_2016_flickr.en
    python -m scripts.decoding_speed RUN FILE --beams 5 1 --threads 2 --sizes 32 64 128

RUN is a Transformer whose weights a model of `transformers` (see `scripts.twin_model`) and, through its
converter's maps, a CTranslate2 model get in float32. All decode the same ids, sorted by length, at most
`--longest` tokens, hypotheses ranked by log-probability over length to the power of `--length-penalty` (0
means the same in all three). Each takes the fastest of the batch `--sizes`, found in a first round; loading
is not counted. Then they take turns, and the fastest round of each counts. *The same* is the share of
sentences with exactly our ids: what is compared does the same work. A run of another kind is measured alone.

The second table says where our time goes on one thread: encoder and decoder; log-softmax and top-k; search
bookkeeping, which is all the rest of the search; and everything else, such as making batches.
"""

import argparse
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import torch

import nmt.decoding.search
from nmt.allocator import keep_freed_memory
from nmt.data.batches import make_source_batch
from nmt.data.pieces import BOS_ID, EOS_ID, PAD_ID
from nmt.decoding.search import SearchSettings
from nmt.errors import NMTError
from nmt.translator import Translator
from nmt.translator.lanes import side_by_side
from nmt.translator.source import Source
from scripts import twin_model
from scripts.attention_table import table

Ids = list[int]


class Search(NamedTuple):
    """What all are asked."""

    beam_size: int
    length_penalty: float
    longest: int  # tokens of a translation, the end of sentence not counted


Decode = Callable[[list[Ids], Search, int], list[Ids]]  # of sources, with batches of so many sentences


def in_batches(sources: Sequence[Ids], size: int) -> Iterator[list[int]]:
    """Positions of like lengths, longest first, `size` at a time."""
    order = sorted(range(len(sources)), key=lambda position: -len(sources[position]))
    for start in range(0, len(order), size):
        yield order[start : start + size]


def ours(model: Any) -> Decode:
    """Our search, as `Translator` does it: on the CPU a batch a thread."""

    def decode(sources: list[Ids], search: Search, size: int) -> list[Ids]:
        settings = SearchSettings(
            search.beam_size,
            length_penalty=search.length_penalty,
            max_length_ratio=0.0,
            max_length_offset=search.longest,
        )

        @torch.inference_mode()
        def search_batch(positions: list[int]) -> list[Ids]:
            batch = [sources[position] for position in positions]
            results = settings.search(model.decoder, model.encode(*make_source_batch(batch)), batch)
            return [hypotheses[0].tokens for hypotheses in results]

        found: dict[int, Ids] = {}
        batches = list(in_batches(sources, size))
        for positions, texts in zip(
            batches, side_by_side(search_batch, batches, torch.device("cpu")), strict=True
        ):
            found |= zip(positions, texts, strict=True)
        return [found[position] for position in range(len(sources))]

    return decode


def of_transformers(twin: Any) -> Decode:
    """`generate` of the `twin`."""

    @torch.inference_mode()
    def decode(sources: list[Ids], search: Search, size: int) -> list[Ids]:
        found: dict[int, Ids] = {}
        for positions in in_batches(sources, size):
            src, mask = make_source_batch([sources[position] for position in positions])
            rows = twin.generate(
                input_ids=src,
                attention_mask=mask.long(),
                num_beams=search.beam_size,
                do_sample=False,
                max_new_tokens=search.longest + 1,
                **({"length_penalty": search.length_penalty} if search.beam_size > 1 else {}),
            )
            texts = [[id_ for id_ in row if id_ not in (PAD_ID, BOS_ID, EOS_ID)] for row in rows.tolist()]
            found |= zip(positions, texts, strict=True)
        return [found[position] for position in range(len(sources))]

    return decode


def of_ctranslate2(twin: Any, pieces: list[str], threads: int) -> dict[str, Decode]:
    """CTranslate2's search with all `threads` on a batch, and with a batch on each; it has the weights of
    `twin` and `pieces` for its ids.
    """
    import ctranslate2
    from ctranslate2.converters.transformers import BartLoader

    # Its loader for Marian begins with a zero vector in place of an embedded <s>; Bart's is the same else.
    twin.config.normalize_before, twin.config.normalize_embedding = twin_model.is_pre_norm(twin), False
    spec = BartLoader().get_model_spec(twin)
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    spec.config.decoder_start_token = pieces[BOS_ID]
    spec.config.bos_token, spec.config.eos_token = pieces[BOS_ID], pieces[EOS_ID]
    with tempfile.TemporaryDirectory() as folder:
        spec.validate()
        spec.optimize()
        spec.save(folder)
        together, beside = (
            ctranslate2.Translator(
                folder,
                device="cpu",
                compute_type="float32",
                inter_threads=lanes,
                intra_threads=threads // lanes,
            )
            for lanes in (1, threads)
        )
    torch.set_num_threads(threads)  # each of them has set that to its own
    ids = {piece: number for number, piece in enumerate(pieces)}

    def decode(translator: Any, sources: list[Ids], search: Search, size: int) -> list[Ids]:
        results = translator.translate_batch(
            [[pieces[number] for number in (*source, EOS_ID)] for source in sources],
            beam_size=search.beam_size,
            length_penalty=search.length_penalty,
            max_batch_size=size,
            max_decoding_length=search.longest,
            max_input_length=0,
        )
        return [[ids[piece] for piece in result.hypotheses[0]] for result in results]

    return {
        "CTranslate2": partial(decode, together),
        "CTranslate2, a batch a thread": partial(decode, beside),
    }


def systems(translator: Translator, threads: int) -> dict[str, Decode]:
    """Ours and, where they are installed and can hold the model, the others."""
    found = {"nmt": ours(translator.model)}
    if not twin_model.installed():
        print("transformers is not installed (pip install transformers): only our search is measured\n")
        return found
    try:
        twin = twin_model.twin_of(translator.model)
    except NMTError as error:
        print(f"only our search is measured: {error}\n")
        return found
    twin_model.forbid_special(twin)
    found["transformers"] = of_transformers(twin)
    tokenizer = translator.tokenizers.target
    pieces = [tokenizer.id_to_piece(number) for number in range(tokenizer.vocabulary_size)]
    try:
        found |= of_ctranslate2(twin, pieces, threads)
    except ImportError:
        print("CTranslate2 is not installed (pip install ctranslate2) and not measured\n")
    return found


def seconds(decode: Decode, sources: list[Ids], search: Search, size: int) -> float:
    started = time.perf_counter()
    decode(sources, search, size)
    return time.perf_counter() - started


def compare(
    found: dict[str, Decode], sources: list[Ids], search: Search, sizes: list[int], rounds: int
) -> tuple[list[list[str]], int]:
    """A row for each of the systems `found`, and our best batch size."""
    best: dict[str, int] = {}
    times: dict[str, float] = {}
    for name, decode in found.items():
        tried = {size: seconds(decode, sources, search, size) for size in sizes}
        best[name] = min(tried, key=lambda size: tried[size])
        times[name] = tried[best[name]]
    for _ in range(rounds):
        for name, decode in found.items():
            times[name] = min(times[name], seconds(decode, sources, search, best[name]))
    written = {name: decode(sources, search, best[name]) for name, decode in found.items()}
    rows = []
    for name, output in written.items():
        same = sum(map(list.__eq__, output, written["nmt"])) / len(sources)
        speed, ratio = len(sources) / times[name], times[name] / times["nmt"]
        row = [name, str(search.beam_size), str(best[name]), f"{speed:,.0f}"]
        rows.append([*row, f"{ratio:.2f}", f"{100 * same:.1f} %"])
    return rows, best["nmt"]


class Stopwatch:
    """Seconds within wrapped functions, by name."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def around(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function`, whose time counts as that of `name`."""

        def timed(*arguments: Any, **named: Any) -> Any:
            started = time.perf_counter()
            result = function(*arguments, **named)
            self.seconds[name] += time.perf_counter() - started
            return result

        return timed


def shares(model: Any, sources: list[Ids], search: Search, size: int) -> list[str]:
    """How our time on one thread divides: model, log-softmax and top-k, bookkeeping, everything else; in
    percent.
    """
    watch = Stopwatch()
    parts = [
        (model, "encode", "encoder"),
        (model.decoder, "init_state", "decoder"),
        (model.decoder, "step", "decoder"),
        (torch.Tensor, "log_softmax", "choice"),
        (nmt.decoding.search, "best_continuations", "choice"),
        (SearchSettings, "search", "search"),
    ]
    with ExitStack() as stack:
        for owner, name, part in parts:
            stack.enter_context(patch.object(owner, name, watch.around(part, getattr(owner, name))))
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        total = seconds(ours(model), sources, search, size)
        torch.set_num_threads(threads)
    within = watch.seconds
    bookkeeping = within["search"] - within["decoder"] - within["choice"]
    else_ = total - within["search"] - within["encoder"]
    divided = (within["encoder"] + within["decoder"], within["choice"], bookkeeping, else_)
    return [f"{100 * part / total:.1f} %" for part in divided]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("file", type=Path, help="sentences to translate, one a line")
    parser.add_argument("--beams", nargs="+", type=int, default=[5, 1])
    parser.add_argument("--sizes", nargs="+", type=int, default=[32, 64, 128, 256])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--length-penalty", type=float, default=0.0)
    parser.add_argument("--longest", type=int, default=100)
    arguments = parser.parse_args()
    keep_freed_memory()
    torch.set_num_threads(arguments.threads)
    translator = Translator.load(arguments.run, device="cpu")
    lines = arguments.file.read_text(encoding="utf-8").split("\n")
    sources = [ids for line in lines if (ids := Source(line, translator.tokenizers.source).ids)]
    found = systems(translator, arguments.threads)
    rows, parts = [], []
    for beam_size in arguments.beams:
        search = Search(beam_size, arguments.length_penalty, arguments.longest)
        compared, size = compare(found, sources, search, arguments.sizes, arguments.rounds)
        rows += compared
        parts.append([str(beam_size), *shares(translator.model, sources, search, size)])
    print(f"{len(sources)} sentences, {arguments.threads} threads, float32:\n")
    head = ["system", "beam", "batch", "sentences/s", "time, ours = 1", "the same"]
    print(table(head, rows))
    print("\nWhere our time goes, on one thread:\n")
    print(table(["beam", "model", "log-softmax and top-k", "bookkeeping", "everything else"], parts))


if __name__ == "__main__":
    main()
