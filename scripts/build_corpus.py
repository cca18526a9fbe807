"""Build the English–French corpus of data/en-fr from its lexicon and grammar.

    python scripts/build_corpus.py                # write data/en-fr/{train,dev,test,…}.{en,fr,align,tags}
    python scripts/build_corpus.py --output DIR   # write them elsewhere
    python scripts/build_corpus.py --check        # exit status 1 if the files are not what a build gives

The result depends on nothing but the files of the lexicon and grammar and this code.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import sys
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from corpus.grammar import Choice, Sentence, generate, joinable, parse_line, read_grammar  # noqa: E402
from corpus.lexicon import Lexicon  # noqa: E402

DATA = ROOT / "data" / "en-fr"
SEED = 1
SPLITS = ("train", "dev", "test", "test_unseen", "test_long")
SIZES = {"train": 30000, "dev": 1000, "test": 1000, "test_unseen": 1000}
LONG_SHARES = [
    ((14, 18), 1300),
    ((19, 25), 1200),
    ((26, 50), 1350),
]  # English words in a train sentence, sentences
BUCKETS = [(10, 19), (20, 29), (30, 39), (40, 50)]
BUCKET_SIZE = 150
OBJECT_YOU = 60  # sentences like `she sees you` in test
BARE_SHARE = 0.1  # sentences without final punctuation
UNSEEN_SHARE = 0.1  # of the verb-object and adjective-noun combinations
ENOUGH = 8  # a word that fewer sentences of a first draft of train have is not used at all
# The textbook sentence is for generalisation to show: it stands in test and nowhere else.
TEXTBOOK = "1 | object_pronoun | {a:clause subj=i frame=obj verb=love obj=you tense=present neg= modal=0} | ="
RESERVED = ("i love you", "je t'aime")


@cache
def held_out(combination: tuple[str, str]) -> bool:
    """Whether a combination of verb and object or adjective and noun is kept for test_unseen."""
    return zlib.crc32("+".join(combination).encode()) % 1000 < UNSEEN_SHARE * 1000


def is_unseen(sentence: Sentence) -> bool:
    return any(map(held_out, sentence.combinations))


def is_short(sentence: Sentence) -> bool:
    return sentence.length <= 25


def is_reserved(sentence: Sentence) -> bool:
    return any(text in side.lower() for text in RESERVED for side in (sentence.english, sentence.french))


def is_object_you(sentence: Sentence) -> bool:
    """`she sees you`, `Paul knows you`, `my brother helps you`: one verb and nothing else."""
    plain = not sentence.tags & {
        "negation",
        "question",
        "vocative",
        "imperative",
        "infinitive",
        "coordination",
    }
    return "object_you" in sentence.tags and plain and sentence.key.endswith(" you") and sentence.length <= 6


@dataclass
class Builder:
    """Draws sentences until every set has its size; no English sentence is drawn twice."""

    folder: Path
    rng: random.Random = field(default_factory=lambda: random.Random(SEED))
    french_of: dict[str, str] = field(default_factory=dict)  # by the key of the English sentence
    taken: set[str] = field(default_factory=set)  # keys of the sentences in any set
    unseen: list[Sentence] = field(default_factory=list)  # with a combination that is held out
    known: tuple[set[str], set[str]] | None = None  # English and French; None while train decides
    sets: dict[str, list[Sentence]] = field(default_factory=lambda: {split: [] for split in SPLITS})

    def __post_init__(self) -> None:
        self.lexicon = Lexicon(self.folder / "lexicon")
        templates = read_grammar(self.folder / "grammar" / "sentences.txt")
        self.simple, self.inner = Choice(templates), joinable(templates)
        self.to_you = Choice([template for template in templates if "object_you" in template.tags])
        self.long = Choice(read_grammar(self.folder / "grammar" / "long.txt"))

    def draw(self, templates: Choice, punctuated: bool | None = None) -> Sentence:
        """A random sentence; its French must be that of any equal English sentence before it."""
        template = templates.draw(self.rng)
        if punctuated is None:
            punctuated = self.rng.random() >= BARE_SHARE
        sentence = generate(template, self.lexicon, self.rng, punctuated, self.inner, self._accepts)
        french = sentence.french.rstrip(" .?!").lower()
        known = self.french_of.setdefault(sentence.key, french)
        if known != french:
            raise ValueError(f"two French sentences for {sentence.english!r}: {known!r} and {french!r}")
        return sentence

    def collect(self) -> dict[str, list[Sentence]]:
        """All sets."""
        short = SIZES["train"] - sum(size for _, size in LONG_SHARES)
        self._reserve()
        self._fill("test", OBJECT_YOU, self.to_you, is_object_you)
        self._fill("train", short, self.simple, is_short)
        # From here on nothing has a word that was rare in train; train itself loses its rare words.
        self._know(ENOUGH)
        self._fill("train", short, self.simple, is_short)
        self._fill_long(train=True)
        self._know(ENOUGH)
        self._fill("train", SIZES["train"], self.simple, is_short)
        self._fill_long(train=False)
        self._fill("dev", SIZES["dev"], self.simple, is_short)
        self._fill("test", SIZES["test"], self.simple, is_short)
        self._fill_unseen()
        for split in SPLITS:
            self.rng.shuffle(self.sets[split])
        return self.sets

    def _know(self, enough: int) -> None:
        """Restrict all sets, drawn and to be drawn, to the words that train has often enough."""
        self.known = frequent_words(self.sets["train"], enough)
        for split in SPLITS:
            self.sets[split] = [sentence for sentence in self.sets[split] if self._uses_known(sentence)]

    def _add(self, split: str, sentence: Sentence) -> None:
        self.taken.add(sentence.key)
        self.sets[split].append(sentence)

    def _fill(self, split: str, size: int, templates: Choice, accept: Callable[[Sentence], bool]) -> None:
        """Draw sentences until the set has `size`."""
        for _ in range(100 * size):
            if len(self.sets[split]) >= size:
                return
            sentence = self.draw(templates)
            if is_unseen(sentence):
                self.unseen.append(sentence)
            elif self._is_free(sentence) and accept(sentence):
                self._add(split, sentence)
        raise ValueError(f"too few sentences for {split}")

    def _fill_unseen(self) -> None:
        """Take test_unseen from what the other sets could not have."""
        while len(self.sets["test_unseen"]) < SIZES["test_unseen"]:
            sentence = self.unseen.pop() if self.unseen else self.draw(self.simple)
            if is_unseen(sentence) and self._is_free(sentence) and is_short(sentence):
                self._add("test_unseen", sentence)

    def _fill_long(self, train: bool) -> None:
        """Draw long sentences into whichever quota (set, bounds of length, size) still has room."""
        quotas = [("train", bounds, size, in_range) for bounds, size in LONG_SHARES] if train else []
        quotas += [("test_long", bounds, BUCKET_SIZE, in_bucket) for bounds in BUCKETS]
        room = [size for _, _, size, _ in quotas]
        for index, (split, (low, high), _, accept) in enumerate(quotas):
            if split == "test_long":
                room[index] -= sum(accept(sentence, low, high) for sentence in self.sets[split])
        while any(room):
            sentence = self.draw(self.long)
            if is_unseen(sentence) or not self._is_free(sentence):
                continue
            for index, (split, (low, high), _, accept) in enumerate(quotas):
                if room[index] and accept(sentence, low, high):
                    room[index] -= 1
                    self._add(split, sentence)
                    break

    def _is_free(self, sentence: Sentence) -> bool:
        return sentence.key not in self.taken and not is_reserved(sentence) and self._uses_known(sentence)

    def _accepts(self, part: Sentence) -> bool:
        """Whether a sentence may be part of a longer one."""
        return not is_unseen(part) and self._uses_known(part)

    def _uses_known(self, sentence: Sentence) -> bool:
        if self.known is None:
            return True
        english, french = sentence.words
        return self.known[0].issuperset(english) and self.known[1].issuperset(french)

    def _reserve(self) -> None:
        """Put `I love you` with and without full stop into test."""
        for punctuated in (True, False):
            self._add("test", self.draw(Choice([parse_line(TEXTBOOK)]), punctuated))


def in_bucket(sentence: Sentence, low: int, high: int) -> bool:
    """By both ways of counting: with punctuation and clitics as words, and by white space."""
    return low <= len(sentence.english.split()) and sentence.length <= high


def in_range(sentence: Sentence, low: int, high: int) -> bool:
    return low <= sentence.length <= high


def frequent_words(sentences: list[Sentence], enough: int) -> tuple[set[str], set[str]]:
    """The words of either language that at least `enough` of the sentences have."""
    frequent = []
    for side in (0, 1):
        counts = Counter(chain.from_iterable(sentence.words[side] for sentence in sentences))
        frequent.append({word for word, count in counts.items() if count >= enough})
    return frequent[0], frequent[1]


def build(folder: Path = DATA) -> dict[str, str]:
    """The name and text of every file."""
    gc.disable()  # nothing here is cyclic, and there are a million small objects to look through
    files = {}
    for split, sentences in Builder(folder).collect().items():
        files[f"{split}.en"] = [sentence.english for sentence in sentences]
        files[f"{split}.fr"] = [sentence.french for sentence in sentences]
        files[f"{split}.align"] = [sentence.alignment for sentence in sentences]
        files[f"{split}.tags"] = [",".join(sorted(sentence.tags)) for sentence in sentences]
    return {name: "".join(line + "\n" for line in lines) for name, lines in files.items()}


def write(path: Path, text: str) -> None:
    """Write a file all at once."""
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(text, encoding="utf-8", newline="\n")
    os.replace(temporary, path)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--output", type=Path, default=DATA, help="folder of the corpus (default: data/en-fr)"
    )
    parser.add_argument("--check", action="store_true", help="only compare the files with a fresh build")
    options = parser.parse_args(arguments)
    files = build()
    if not options.check:
        options.output.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            write(options.output / name, text)
        return 0
    stale = [
        name
        for name, text in files.items()
        if not (options.output / name).is_file() or (options.output / name).read_bytes() != text.encode()
    ]
    for name in stale:
        print(f"{options.output / name} is not what the lexicon and grammar give", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
