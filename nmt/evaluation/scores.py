"""BLEU and chrF of whole files, as sacreBLEU computes them (Papineni et al. 2002; Popović 2015; Post 2018).

Hypotheses and references are text as people write it: detokenised, cased, untouched by any vocabulary.
"""

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple, cast

from nmt.errors import NMTError

References = Sequence[
    Sequence[str | None]
]  # one line a sentence, for each set; None where a sentence has fewer


class Score(NamedTuple):
    """A score in percent and the signature that says how it was computed."""

    value: float
    signature: str

    def to_json(self) -> dict[str, Any]:
        """The score as an object for JSON."""
        return {"score": self.value, "signature": self.signature}


class Scores(NamedTuple):
    """What a set of translations scores; `multi30k` and `constructions` where they were asked for."""

    bleu: Score
    chrf: Score
    num_sentences: int
    multi30k: Score | None = None  # BLEU
    constructions: dict[str, "Scores"] | None = None

    def text(self) -> str:
        """The scores for people: one a line with its signature, then a table of the constructions."""
        lines = [_line("BLEU", self.bleu), _line("chrF", self.chrf)]
        if self.multi30k is not None:
            lines.append(_line("BLEU", self.multi30k) + "  (Multi30k's protocol: lower case, Moses tokens)")
        lines.append(f"over {_count(self.num_sentences)}")
        if self.constructions:
            lines += ["", *_table(self.constructions), "(signatures as above)"]
        return "\n".join(lines) + "\n"

    def to_json(self) -> dict[str, Any]:
        """The scores as an object for JSON: bleu, chrf, sentences, and what else was asked for."""
        result: dict[str, Any] = {
            "bleu": self.bleu.to_json(),
            "chrf": self.chrf.to_json(),
            "sentences": self.num_sentences,
        }
        if self.multi30k is not None:
            result["bleu_multi30k_protocol"] = self.multi30k.to_json()
        if self.constructions is not None:
            result["constructions"] = {name: part.to_json() for name, part in self.constructions.items()}
        return result


def score(
    hypotheses: Sequence[str],
    references: References,
    constructions: Sequence[Sequence[str]] | None = None,
    multi30k_language: str | None = None,
) -> Scores:
    """Score `hypotheses` against one or more sets of `references`, each with a line for every hypothesis.

    `constructions` names those of each sentence, and each name gets scores of its own. `multi30k_language`
    (the target language, such as ``fr``) adds BLEU under Multi30k's protocol, which needs sacremoses.
    """
    _check_lengths(hypotheses, references, constructions)
    scores = _bleu_and_chrf(hypotheses, references)
    if multi30k_language is not None:
        scores = scores._replace(multi30k=multi30k_bleu(hypotheses, references, multi30k_language))
    if constructions is not None:
        scores = scores._replace(constructions=_score_constructions(hypotheses, references, constructions))
    return scores


def multi30k_bleu(hypotheses: Sequence[str], references: References, language: str) -> Score:
    """BLEU as Multi30k's papers report it.

    Text is lower-cased, its punctuation normalised and tokenised with escapes, as by Moses' scripts; BLEU
    then takes it as it is (``tok:none``).
    """
    prepare = _multi30k_preparation(language)
    prepared = [[None if line is None else prepare(line) for line in lines] for lines in references]
    return bleu_of([prepare(line) for line in hypotheses], prepared, tokenize="none")


@cache
def _multi30k_preparation(language: str) -> Callable[[str], str]:
    """What prepares a line; it keeps the lines of late, since all systems have the same references."""
    try:
        from sacremoses import MosesPunctNormalizer, MosesTokenizer
    except ImportError:
        raise NMTError(
            "Multi30k's protocol needs the package sacremoses, which is not installed: pip install sacremoses"
        ) from None
    normalizer, tokenizer = MosesPunctNormalizer(lang=language), MosesTokenizer(lang=language)

    @lru_cache(1 << 16)
    def prepare(line: str) -> str:
        return tokenizer.tokenize(normalizer.normalize(line.lower()), escape=True, return_str=True)

    return prepare


def _bleu_and_chrf(hypotheses: Sequence[str], references: References) -> Scores:
    from sacrebleu.metrics import CHRF

    chrf = CHRF()
    value = chrf.corpus_score(hypotheses, cast(Any, references)).score
    return Scores(bleu_of(hypotheses, references), Score(value, str(chrf.get_signature())), len(hypotheses))


def bleu_of(hypotheses: Sequence[str], references: References, tokenize: str = "13a") -> Score:
    """BLEU alone, with sacreBLEU's `tokenize`."""
    from sacrebleu.metrics import BLEU

    bleu = BLEU(tokenize=tokenize, force=True)  # force: no word about tokenised text, we have our own
    value = bleu.corpus_score(hypotheses, cast(Any, references)).score
    return Score(value, str(bleu.get_signature()))


def _score_constructions(
    hypotheses: Sequence[str], references: References, constructions: Sequence[Sequence[str]]
) -> dict[str, Scores]:
    """The scores of the sentences that have a construction, for each construction by name."""
    members: dict[str, list[int]] = {}
    for position, names in enumerate(constructions):
        for name in dict.fromkeys(names):
            members.setdefault(name, []).append(position)
    result = {}
    for name, positions in sorted(members.items()):
        result[name] = _bleu_and_chrf(
            [hypotheses[position] for position in positions], references_of(references, positions)
        )
    return result


def references_of(references: References, positions: Sequence[int]) -> References:
    """The `references` of the sentences at `positions`, without sets that have none of theirs."""
    kept = [[lines[position] for position in positions] for lines in references]
    return [
        lines for lines in kept if any(line is not None for line in lines)
    ]  # sacreBLEU takes no empty set


def _check_lengths(
    hypotheses: Sequence[str], references: References, constructions: Sequence[Sequence[str]] | None
) -> None:
    if not hypotheses:
        raise NMTError("there are no hypotheses to score: the file is empty")
    if not references:
        raise NMTError("there are no references to score against: give at least one set")
    for number, lines in enumerate(references, start=1):
        if len(lines) != len(hypotheses):
            which = f"reference set {number}" if len(references) > 1 else "the references"
            raise NMTError(
                f"there are {len(hypotheses)} hypotheses, but {which} has {len(lines)} lines: "
                "give one line for each sentence, in the same order"
            )
    if constructions is not None and len(constructions) != len(hypotheses):
        raise NMTError(f"constructions of {len(constructions)} sentences for {len(hypotheses)} hypotheses")


def _line(name: str, score: Score) -> str:
    return f"{name}  {score.value:6.2f}  {score.signature}"


def _count(number: int) -> str:
    return f"{number} sentence" + ("s" if number != 1 else "")


def _table(constructions: dict[str, Scores]) -> list[str]:
    width = max(len("construction"), *map(len, constructions))
    lines = [f"{'construction':<{width}}  sentences    BLEU    chrF"]
    for name, part in constructions.items():
        lines.append(
            f"{name:<{width}}  {part.num_sentences:9}  {part.bleu.value:6.2f}  {part.chrf.value:6.2f}"
        )
    return lines
