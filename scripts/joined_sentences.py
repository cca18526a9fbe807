"""A corpus of all lengths out of one of short sentences: neighbours in a shuffled order, joined by spaces.

    python -m scripts.joined_sentences TATOEBA_FOLDER tatoeba-joined

Each new line is as many pairs as it takes to reach a source length, in words, drawn evenly from 1 to
`--longest`: a model that fails on the long ones fails for their length, not for words it never saw. train,
dev and test stay apart; dev and test are gone through `--rounds` times, in another order each time, since so
few pairs would make few lines. train also holds every pair by itself: then half of its words stand in short
lines, as in most real text.
"""

import argparse
import random
from collections.abc import Iterable, Iterator
from pathlib import Path

from nmt.data.lines import read_lines
from nmt.files import write_atomically

Pair = tuple[str, str]


def joined(pairs: Iterable[Pair], longest: int, lengths: random.Random) -> Iterator[Pair]:
    """`pairs` joined up to lengths drawn by `lengths`; those that no longer fit begin the next line."""
    taken: list[Pair] = []
    words, wanted = 0, lengths.randint(1, longest)
    for pair in pairs:
        size = len(pair[0].split())
        if taken and words + size > wanted:
            yield _line(taken)
            taken, words, wanted = [], 0, lengths.randint(1, longest)
        taken.append(pair)
        words += size
    if taken:
        yield _line(taken)


def _line(pairs: list[Pair]) -> Pair:
    return " ".join(source for source, _ in pairs), " ".join(target for _, target in pairs)


def shuffled(pairs: list[Pair], rounds: int, order: random.Random) -> Iterator[Pair]:
    """All `pairs` in a new order, `rounds` times."""
    for _ in range(rounds):
        yield from order.sample(pairs, len(pairs))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path, help="folder with train, dev and test .en and .fr")
    parser.add_argument("output", type=Path, help="folder to write the same files to")
    parser.add_argument("--longest", type=int, default=50, help="words of a line's source side")
    parser.add_argument("--rounds", type=int, default=3, help="times that dev and test are used")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    for split in ("train", "dev", "test"):
        chance = random.Random(f"{given.seed} {split}")
        sides = [list(read_lines(given.corpus / f"{split}.{language}")) for language in ("en", "fr")]
        pairs = list(zip(*sides, strict=True))
        rounds = 1 if split == "train" else given.rounds
        lines = list(joined(shuffled(pairs, rounds, chance), given.longest, chance))
        if split == "train":
            lines += pairs
        for side, language in enumerate(("en", "fr")):
            with write_atomically(given.output / f"{split}.{language}", "w") as file:
                file.writelines(f"{line[side]}\n" for line in lines)
        print(f"{split}: {len(lines)} pairs")


if __name__ == "__main__":
    main()
