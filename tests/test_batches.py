"""Encoded corpora equal their text, batches hold every pair once; both depend on their inputs alone."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.data.batches import TrainBatches, make_batch, make_source_batch
from nmt.data.corpus import Corpus, open_corpus
from nmt.data.encoded import EncodedCorpus, prepare
from nmt.data.tokenizer import BOS_ID, EOS_ID, PAD_ID, TokenizerPair, TokenizerTrainer
from nmt.errors import NMTError

ROOT = Path(__file__).resolve().parent.parent


class Toy:
    """Pairs of the given lengths; the ids tell which pair they are of."""

    def __init__(self, lengths: list[tuple[int, int]]) -> None:
        self.src_lengths, self.tgt_lengths = (
            np.array(side, dtype=np.int32) for side in zip(*lengths, strict=True)
        )

    def __getitem__(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        lengths = self.src_lengths, self.tgt_lengths
        src, tgt = (np.full(int(each[row]), 4 + row, dtype=np.int32) for each in lengths)
        return src, tgt


def random_toy(count: int, seed: int = 0) -> Toy:
    random = np.random.default_rng(seed)
    src = random.integers(1, 40, count)
    return Toy(list(zip(src.tolist(), (src + random.integers(0, 8, count)).tolist(), strict=True)))


LENGTHS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=60)


@settings(deadline=None, max_examples=100)
@given(lengths=LENGTHS, budget=st.integers(1, 200), epoch=st.integers(0, 5), start=st.integers(0, 70))
def test_an_epoch_holds_every_pair_once_within_the_budget(
    lengths: list[tuple[int, int]], budget: int, epoch: int, start: int
) -> None:
    batches = TrainBatches(Toy(lengths), budget, seed=1)
    found = list(batches.epoch(epoch))
    assert len(found) == len(batches)
    assert sorted(row for batch in found for row in batch.indices) == list(range(len(lengths)))
    for batch in found:
        assert len(batch.indices) == 1 or max(batch.src.numel(), batch.tgt_in.numel()) <= budget
    rest = list(batches.epoch(epoch, start))
    assert [batch.indices for batch in rest] == [batch.indices for batch in found[start:]]


def test_order_is_a_function_of_seed_and_epoch() -> None:
    corpus = random_toy(2000)

    def order(seed: int, epoch: int) -> list[list[int]]:
        return [batch.indices for batch in TrainBatches(corpus, 300, seed).epoch(epoch)]

    assert order(1, 2) == order(1, 2)
    assert len({str(order(seed, epoch)) for seed in (1, 2) for epoch in (0, 1)}) == 4
    composed = [{frozenset(rows) for rows in order(1, epoch)} for epoch in (0, 1)]
    assert len(composed[0] & composed[1]) < len(composed[0]) / 4, "batches are composed anew"


def test_padding_is_small() -> None:
    corpus = random_toy(5000)
    batches = list(TrainBatches(corpus, 2000, seed=1).epoch(0))
    real = sum(int(batch.src_mask.sum() + batch.tgt_mask.sum()) for batch in batches)
    assert real / sum(batch.src.numel() + batch.tgt_in.numel() for batch in batches) > 0.9


def test_a_batch_by_hand() -> None:
    batch = make_batch([([5, 6], [7]), ([], [8, 9, 10])], indices=[3, 1])
    assert batch.src.tolist() == [[5, 6, EOS_ID], [EOS_ID, PAD_ID, PAD_ID]]
    assert batch.src_mask.tolist() == [[True, True, True], [True, False, False]]
    assert batch.tgt_in.tolist() == [[BOS_ID, 7, PAD_ID, PAD_ID], [BOS_ID, 8, 9, 10]]
    assert batch.tgt_out.tolist() == [[7, EOS_ID, PAD_ID, PAD_ID], [8, 9, 10, EOS_ID]]
    assert batch.tgt_mask.tolist() == [[True, True, False, False], [True] * 4]
    assert (batch.indices, batch.num_target_tokens) == ([3, 1], 6)
    assert batch.src.dtype == batch.tgt_in.dtype == torch.int64 and batch.src_mask.dtype == torch.bool
    moved = batch.to("cpu")
    assert type(moved) is type(batch) and moved.src.equal(batch.src)
    src, mask = make_source_batch([[5, 6], []])
    assert src.equal(batch.src) and mask.equal(batch.src_mask)


@pytest.mark.parametrize("number", [1, 2, 3, 7])
def test_the_parts_of_a_batch_are_batches_of_its_sentences(number: int) -> None:
    random = np.random.default_rng(number)
    pairs = [
        (random.integers(4, 9, source), random.integers(4, 9, target), random.integers(0, 2, (links, 2)))
        for source, target, links in random.integers(1, 6, (5, 3))
    ]
    for first, part in enumerate(make_batch(pairs, range(10, 15)).split(number)):
        expected = make_batch(pairs[first::number], range(10 + first, 15, number))
        if not expected.indices:
            assert len(part.src) == part.num_target_tokens == 0
            continue
        assert part.indices == expected.indices
        assert part.num_target_tokens == expected.num_target_tokens
        for tensor, own in zip((*part[:5], part.links), (*expected[:5], expected.links), strict=True):
            assert own is not None and tensor is not None and tensor.equal(own)


def make_corpus(folder: Path, count: int = 50) -> tuple[Corpus, TokenizerPair]:
    pairs = [(f"I see {row} cats.", f"Je vois {row} chats, j'en vois {row}.") for row in range(count)]
    pairs[3] = ("", "vide")
    pairs[7] = ("long " * 80, "long " * 80)
    for side, name in enumerate(("en", "fr")):
        (folder / f"a.{name}").write_text("".join(pair[side].strip() + "\n" for pair in pairs), newline="\n")
    return open_toy(folder)


def open_toy(folder: Path) -> tuple[Corpus, TokenizerPair]:
    corpus = open_corpus({"train": {"source": str(folder / "a.en"), "target": str(folder / "a.fr")}}, "train")
    return corpus, TokenizerTrainer("bpe", 80, joint=False).train(corpus)


@pytest.fixture
def prepared(tmp_path: Path) -> tuple[Corpus, TokenizerPair, EncodedCorpus]:
    corpus, tokenizers = make_corpus(tmp_path)
    return corpus, tokenizers, prepare(corpus, tokenizers, tmp_path / "cache", max_length=60)


def test_an_encoded_corpus_equals_its_text(
    prepared: tuple[Corpus, TokenizerPair, EncodedCorpus], caplog: pytest.LogCaptureFixture
) -> None:
    corpus, tokenizers, encoded = prepared
    assert len(encoded) == 48 and encoded.num_left_out == 1
    lines = list(corpus.lines())
    for row in range(len(encoded)):
        src, tgt = encoded[row]
        assert (tokenizers.source.decode(src), tokenizers.target.decode(tgt)) == lines[encoded.number(row)]
        assert (len(src), len(tgt)) == (encoded.src_lengths[row], encoded.tgt_lengths[row])
    assert encoded.dataset[0]["src"] == encoded[0][0].tolist()
    batch = next(TrainBatches(encoded, 400, seed=1).epoch(0))
    for row, index in enumerate(batch.indices):
        assert batch.src[row][batch.src_mask[row]].tolist() == [*encoded[index][0].tolist(), EOS_ID]


def test_blocks_of_rows_are_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt.data.encoded._ROWS_AT_ONCE", 7)
    corpus, tokenizers = make_corpus(tmp_path)
    encoded = prepare(corpus, tokenizers, tmp_path / "cache", max_length=60)
    lines = list(corpus.lines())
    assert [tokenizers.source.decode(encoded[row][0]) for row in range(48)] == [
        lines[encoded.number(row)][0] for row in range(48)
    ]


def test_the_cache_is_used_and_knows_its_inputs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    corpus, tokenizers = make_corpus(tmp_path)
    cache = tmp_path / "cache"

    def entries() -> int:
        return len(list((cache / "encoded").iterdir()))

    for _ in range(2):
        prepare(corpus, tokenizers, cache, max_length=60)
        assert entries() == 1
        assert "1 of 49 pairs have a side of more than 60 pieces" in caplog.text
        caplog.clear()
    prepare(corpus, tokenizers, cache, max_length=61)
    prepare(corpus, TokenizerTrainer("char").train(corpus), cache, max_length=300)
    prepare(
        open_corpus({"train": corpus._split, "reverse": True}, "train"), tokenizers, cache, max_length=300
    )
    assert entries() == 4


def test_a_damaged_cache_is_made_anew(tmp_path: Path) -> None:
    corpus, tokenizers = make_corpus(tmp_path)
    first = prepare(corpus, tokenizers, tmp_path, max_length=60)[0][0].tolist()
    (folder,) = (tmp_path / "encoded").iterdir()
    (folder / "pairs.arrow").write_bytes(b"half a file")
    assert prepare(corpus, tokenizers, tmp_path, max_length=60)[0][0].tolist() == first
    (folder / "facts.json").unlink()
    assert prepare(corpus, tokenizers, tmp_path, max_length=60)[0][0].tolist() == first


def test_the_cache_folder_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus, tokenizers = make_corpus(tmp_path)
    monkeypatch.setenv("NMT_CACHE", str(tmp_path / "here"))
    prepare(corpus, tokenizers)
    assert (tmp_path / "here" / "encoded").is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(NMTError, match="cannot write to the cache .*set data.cache_dir or NMT_CACHE"):
        prepare(corpus, tokenizers, tmp_path / "file")


@pytest.mark.parametrize(
    ("length", "message"), [(0, "data.max_length=0"), (1, "every pair has a side of more than")]
)
def test_impossible_lengths_are_named(length: int, message: str, tmp_path: Path) -> None:
    corpus, tokenizers = make_corpus(tmp_path)
    with pytest.raises(NMTError, match=message):
        prepare(corpus, tokenizers, tmp_path / "cache", max_length=length)


LINKS = ["0-0 1-1 2?2 3-4 3-5", "0-0", "", "0?0 1-1"]


def linked_corpus(folder: Path, links: list[str], reverse: bool = False) -> Corpus:
    """Four pairs, the second of which is blank on one side."""
    lines = {
        "en": ["Unthinkable cats see.", "one", "two", "three four"],
        "fr": ["Chats impensables voient, vite.", "", "deux", "trois quatre"],
    }
    for name, values in {**lines, "links": links}.items():
        (folder / f"l.{name}").write_text("".join(f"{value}\n" for value in values))
    split = {"source": f"{folder}/l.en", "target": f"{folder}/l.fr", "links": f"{folder}/l.links"}
    return open_corpus({"train": split, "reverse": reverse}, "train")


@pytest.mark.parametrize("reverse", [False, True])
def test_word_links_become_links_of_pieces(tmp_path: Path, reverse: bool) -> None:
    corpus = linked_corpus(tmp_path, LINKS, reverse)
    tokenizers = TokenizerTrainer("char", 60, joint=True).train(corpus)
    encoded = prepare(corpus, tokenizers, tmp_path / "cache", links=True)
    for row, words in enumerate(corpus.links() or ()):
        number = encoded.number(row)
        source, target = (
            tokenizer.encode(text)
            for tokenizer, text in zip(tokenizers, list(corpus.lines())[number], strict=False)
        )
        sure_targets = {word for _, word in words.sure}
        expected = {
            (t, s)
            for t, target_word in enumerate(target.word_of_piece)
            for s, source_word in enumerate(source.word_of_piece)
            if (source_word, target_word) in (words.sure if target_word in sure_targets else words.possible)
        }
        assert {tuple(link) for link in encoded[row][2].tolist()} == expected
    assert [encoded.number(row) for row in range(3)] == [0, 2, 3]


def test_links_reach_the_batch_and_leave_the_order_alone(tmp_path: Path) -> None:
    corpus = linked_corpus(tmp_path, LINKS)
    tokenizers = TokenizerTrainer("char", 60).train(corpus)
    plain, linked = (prepare(corpus, tokenizers, tmp_path, links=links) for links in (False, True))
    for without, batch in zip(*(TrainBatches(each, 60, 1).epoch(0) for each in (plain, linked)), strict=True):
        assert without.links is None and batch.links is not None
        assert all(a.equal(b) for a, b in zip(without[:5], batch[:5], strict=True))
        found = {tuple(link) for link in batch.links.T.tolist()}
        assert found == {
            (sentence, *link)
            for sentence, row in enumerate(batch.indices)
            for link in linked[row][2].tolist()
        }
        assert batch.to("cpu").links.equal(batch.links)


def test_a_cache_of_links_knows_the_links(tmp_path: Path) -> None:
    corpus = linked_corpus(tmp_path, LINKS)
    tokenizers = TokenizerTrainer("char", 60).train(corpus)
    prepare(corpus, tokenizers, tmp_path, links=True)
    other = prepare(linked_corpus(tmp_path, ["", "", "0-0", ""]), tokenizers, tmp_path, links=True)
    assert len(other[0][2]) == 0 and len(other[1][2]) > 0


@pytest.mark.parametrize(
    ("links", "message"),
    [
        (
            ["", "", "0-1", ""],
            r"data.train.links, line 3: target position 1 is out of range: the sentence has 1",
        ),
        (["", "", "0-0", "x"], "data.train.links, line 4: 'x' is no word link"),
    ],
)
def test_links_that_do_not_fit_name_their_line(tmp_path: Path, links: list[str], message: str) -> None:
    corpus = linked_corpus(tmp_path, links)
    with pytest.raises(NMTError, match=message):
        prepare(corpus, TokenizerTrainer("char", 60).train(corpus), tmp_path, links=True)


def test_guiding_without_links_is_an_error(tmp_path: Path) -> None:
    corpus, tokenizers = make_corpus(tmp_path)
    with pytest.raises(NMTError, match="data.train.links is missing"):
        prepare(corpus, tokenizers, tmp_path / "cache", max_length=60, links=True)


def test_two_processes_may_prepare_at_once(tmp_path: Path) -> None:
    corpus, tokenizers = make_corpus(tmp_path)
    tokenizers.save(tmp_path / "tokenizers")
    code = (
        "import sys, json; from nmt.data.corpus import open_corpus; from nmt.data.encoded import prepare\n"
        "from nmt.data.tokenizer import TokenizerPair; folder = sys.argv[1]\n"
        "corpus = open_corpus({'train': {'source': folder + '/a.en', 'target': folder + '/a.fr'}}, 'train')\n"
        "print(len(prepare(corpus, TokenizerPair.load(folder + '/tokenizers'), folder + '/cache', 60)))"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    started = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    assert [process.communicate()[0] for process in started] == ["48\n"] * 2
    assert len(list((tmp_path / "cache" / "encoded").iterdir())) == 1, "nothing half-made is left"


def test_memory_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    """300,000 pairs of 60 pieces a side (some 150 MB) are encoded and opened in a fraction of that."""
    code = (
        "import pathlib, resource, sys, nmt.data.encoded as encoded, datasets\n"
        "from nmt.data.batches import TrainBatches; import numpy as np\n"
        "def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "row = [5] * 60\n"
        "block = encoded._Block(np.arange(10_000), [row] * 10_000, [row] * 10_000, None)\n"
        "folder = pathlib.Path(sys.argv[1]); before = peak()\n"
        "encoded._write((block for _ in range(30)), 100, folder); corpus = encoded.EncodedCorpus(folder)\n"
        "next(TrainBatches(corpus, 4096, 1).epoch(0))\n"
        "print((peak() - before) * (1 if sys.platform == 'darwin' else 1024))"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    size = (tmp_path / "pairs.arrow").stat().st_size
    assert size > 140e6
    assert int(done.stdout) < size / 2


def test_batch_tokens_must_be_positive() -> None:
    with pytest.raises(NMTError, match="training.batch_tokens=0"):
        TrainBatches(random_toy(3), 0, seed=1)
