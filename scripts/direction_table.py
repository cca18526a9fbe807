"""How well two runs of opposite directions align, each by itself and both together: a Markdown table.

    python -m scripts.direction_table runs/en-fr runs/fr-en
    python -m scripts.direction_table runs/en-fr runs/fr-en --more 'another text=a.en,a.fr,a.talp'

A row a set of links: those of either direction, and what each way of symmetrising makes of both. Step, fold
and threshold are chosen for each row on `dev`, the error rates (percent) are those of `test` and of further
texts (source, target, gold links). The newest weights are read: a checkpoint chosen for its translations need
not align best.
"""

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from nmt.alignment.choice import THRESHOLDS
from nmt.alignment.error_rate import ErrorRate, alignment_error_rate
from nmt.alignment.reading import PieceAttention, Reading, places
from nmt.alignment.symmetrise import METHODS, symmetrise
from nmt.data.corpus import open_corpus
from nmt.data.lines import read_lines
from nmt.data.links import Link, Links, read_links, sure_links
from nmt.translator import Translator
from nmt.translator.runs import open_runs
from scripts.attention_table import table

Combine = Callable[[frozenset[Link], frozenset[Link]], frozenset[Link]]
WAYS: dict[str, Combine] = {
    "forward": lambda forward, backward: forward,
    "backward": lambda forward, backward: backward,
    **{name: lambda there, back, name=name: symmetrise(there, back, name) for name in METHODS},  # type: ignore[misc]
}


class Text(NamedTuple):
    """Pairs as both runs attend to them, and their gold links."""

    forward: list[PieceAttention]
    backward: list[PieceAttention]
    gold: list[Links]

    def links(self, reading: Reading) -> list[tuple[frozenset[Link], frozenset[Link]]]:
        """Each pair's links (source, target) of both directions."""
        return [
            (
                frozenset(reading.align(there).links),
                frozenset((source, target) for target, source in reading.align(back).links),
            )
            for there, back in zip(self.forward, self.backward, strict=True)
        ]

    def error_rate(
        self, links: Iterable[tuple[frozenset[Link], frozenset[Link]]], combine: Combine
    ) -> ErrorRate:
        return alignment_error_rate([sure_links(combine(*each)) for each in links], self.gold)


def attend(runs: Sequence[Translator], pairs: Sequence[tuple[str, str]], gold: Iterable[Links]) -> Text:
    turned = [(target, source) for source, target in pairs]
    return Text(list(runs[0].attend_pairs(pairs)), list(runs[1].attend_pairs(turned)), list(gold))


def readings(attention: PieceAttention) -> list[Reading]:
    """What is tried on `dev`: every step, and every threshold."""
    return [
        Reading(step=place.step, threshold=threshold)
        for place in places(attention)
        for threshold in (None, *THRESHOLDS)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("forward", help="a run from source to target")
    parser.add_argument("backward", help="a run from target to source")
    parser.add_argument("--more", action="append", default=[], metavar="NAME=SOURCE,TARGET,GOLD")
    given = parser.parse_args()
    runs = [Translator.load(path, checkpoint="last") for path in (given.forward, given.backward)]
    data = open_runs(given.forward)[0].config().data
    texts = {}
    for split in ("dev", "test"):
        corpus = open_corpus(data, split)
        texts[split] = attend(runs, list(corpus.lines()), corpus.links(every=True) or ())
    for name, _, files in (each.partition("=") for each in given.more):
        source, target, gold = files.split(",")
        pairs = list(zip(read_lines(source), read_lines(target), strict=True))
        texts[name] = attend(runs, pairs, read_links(gold).sentences)
    dev = texts.pop("dev")
    tried = {reading: dev.links(reading) for reading in readings(dev.forward[0])}
    head = ["links", "chosen on dev", "dev", *(f"{name} (precision, recall)" for name in texts)]
    rows = []
    for name, combine in WAYS.items():
        rates = {reading: dev.error_rate(links, combine).aer for reading, links in tried.items()}
        best = min(rates, key=lambda reading: rates[reading])
        cells = [text.error_rate(text.links(best), combine) for text in texts.values()]
        found = [f"{rate.aer:.2f} ({rate.precision:.1f}, {rate.recall:.1f})" for rate in cells]
        rows.append([name, best.text(), f"{rates[best]:.2f}", *found])
    print(table(head, rows))


if __name__ == "__main__":
    main()
