"""What translations do to single words: say them again, leave them out, and get the rare ones.

Words are runs of letters and digits, and punctuation marks one by one; in lower case, but for frequencies.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from nmt.comparison.lexicon import Lexicon
from nmt.evaluation.scores import References

FREQUENCIES = (0, 1, 10, 100, 1000)  # lower ends of the buckets: occurrences in the training data

_WORD = re.compile(r"\w+|[^\w\s]")


def words(text: str) -> list[str]:
    """The words of `text`."""
    return _WORD.findall(text)


def repeated(translations: Sequence[str], references: References) -> float:
    """Repetitions that the references do not have, after the REP-score of Malaviya et al. 2018.

    Of each pair of words that a translation says at least twice, how often it does so beyond what a reference
    says; and twice that of a word that directly follows itself. In percent of the first references' words.
    Over-translation shows here.
    """
    surplus = length = 0
    for translation, *targets in zip(translations, *references, strict=True):
        known: Counter[tuple[str, str]] = Counter()
        for target in targets:
            known |= _bigrams(target or "")
        for pair, count in _bigrams(translation).items():
            surplus += max(0, count - known[pair]) * ((count > 1) + 2 * (pair[0] == pair[1]))
        length += len(words(targets[0] or ""))
    return 100 * surplus / max(length, 1)


def _bigrams(text: str) -> Counter[tuple[str, str]]:
    return Counter(pairwise(words(text.lower())))


class Omissions:
    """Words that the references translate and a system does not (DROP-score of Malaviya et al. 2018).

    What translates what, a `lexicon` says: the same for all systems, and no system's own attention.
    """

    def __init__(self, sources: Sequence[str], references: Sequence[str], lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._sources = [words(source.lower()) for source in sources]
        self._wanted = [
            lexicon.covered(source, words(reference.lower()))
            for source, reference in zip(self._sources, references, strict=True)
        ]

    def rate(self, translations: Sequence[str]) -> float:
        """The percentage of source words that are linked to a word of the reference and to none of the
        translation. Under-translation shows here.
        """
        lost = 0
        for source, wanted, translation in zip(self._sources, self._wanted, translations, strict=True):
            lost += len(wanted - self._lexicon.covered(source, words(translation.lower())))
        return 100 * lost / max(sum(map(len, self._sources)), 1)


def f1_by_frequency(
    translations: Sequence[str], references: Sequence[str], counts: Counter[str]
) -> list[float | None]:
    """F1 (percent) of the target words of each bucket of training frequency; None without such words.

    Occurrences of a word match as often as it stands in both, as compare-mt counts them (Neubig et al. 2019).
    """
    matches, said, wanted = ([0] * len(FREQUENCIES) for _ in range(3))
    for translation, reference in zip(translations, references, strict=True):
        ours, theirs = Counter(words(translation)), Counter(words(reference))
        for word in ours.keys() | theirs.keys():
            bucket = sum(counts[word] >= low for low in FREQUENCIES) - 1
            matches[bucket] += min(ours[word], theirs[word])
            said[bucket] += ours[word]
            wanted[bucket] += theirs[word]
    return [
        200 * match / (found + there) if there else None
        for match, found, there in zip(matches, said, wanted, strict=True)
    ]
