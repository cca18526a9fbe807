"""Translations as text: what stands in the output for each line of the input.

- ``text``: the translation; ``tsv``: the source, a TAB, the translation;
- ``score``: log-probability (nats) and perplexity, between them a TAB;
- ``nbest``: ``N ||| translation ||| score`` for each hypothesis of line N, from 0, as Moses writes it;
- ``tokens``: the pieces, each with a space and its log-probability, between them TABs;
- ``pharaoh``: ``source words ||| target words ||| i-j ...``;
- ``attention``: the matrix of words, one JSON object a line as nmt-align writes it;
- ``json``: all of this, one JSON object a line.

Everything but ``nbest`` is one line for each line of the input.
"""

import json
import math
from collections.abc import Callable
from typing import Any

from nmt.alignment.alignment import Alignment
from nmt.alignment.formats import json_line
from nmt.alignment.reading import Reading
from nmt.config.nearest import did_you_mean
from nmt.data.links import pharaoh_line, sure_links
from nmt.errors import NMTError
from nmt.translator.translation import AnyHypothesis, Translation

_LINE_SEPARATORS = str.maketrans({char: f"\\u{ord(char):04x}" for char in "\x85\u2028\u2029"})


def as_text(number: int, translation: Translation) -> str:
    return f"{translation.text}\n"


def as_tsv(number: int, translation: Translation) -> str:
    return f"{_cell(translation.source)}\t{_cell(translation.text)}\n"


def as_score(number: int, translation: Translation) -> str:
    best = translation.hypotheses[0]
    return f"{best.log_probability:.6f}\t{perplexity(best):.6f}\n"


def as_nbest(number: int, translation: Translation) -> str:
    return "".join(f"{number} ||| {each.text} ||| {each.score:.6f}\n" for each in translation.hypotheses)


def as_tokens(number: int, translation: Translation) -> str:
    return "\t".join(f"{piece} {value:.6f}" for piece, value in translation.hypotheses[0].tokens) + "\n"


def as_pharaoh(number: int, translation: Translation) -> str:
    alignment = translation.alignment
    links = pharaoh_line(sure_links(alignment.links))
    return f"{' '.join(alignment.source)} ||| {' '.join(alignment.target)} ||| {links}\n"


def as_attention(number: int, translation: Translation) -> str:
    return json_line(translation.alignment)


def as_json(number: int, translation: Translation) -> str:
    value = {
        "source": translation.source,
        "translation": translation.text,
        "hypotheses": [_object(each) for each in translation.hypotheses],
    }
    return json.dumps(value, ensure_ascii=False).translate(_LINE_SEPARATORS) + "\n"


def as_it_is(number: int, translation: Translation) -> Translation:
    return translation


def as_alignment(number: int, translation: Translation) -> Alignment:
    return translation.alignment


FORMATS: dict[str, Callable[[int, Translation], str]] = {
    "text": as_text,
    "tsv": as_tsv,
    "score": as_score,
    "nbest": as_nbest,
    "tokens": as_tokens,
    "pharaoh": as_pharaoh,
    "attention": as_attention,
    "json": as_json,
}

CONTINUED = tuple(name for name in FORMATS if name != "nbest")  # whose files can be gone on with


def check_format(format: str, output: str | None, resume: bool) -> None:
    """Raise unless `format` is known and can go to `output` (None: standard output), continued or not."""
    names = [*FORMATS, "npz"]
    if format not in names:
        raise NMTError(f"format={format} is unknown: {did_you_mean(format, names)}")
    if format == "npz" and output is None:
        raise NMTError("format=npz is no text for standard output: give output=FILE.npz")
    if resume and (output is None or format not in CONTINUED):
        raise NMTError(
            "resume=true continues a file (output=FILE) with one line for each line of the input, "
            f"which format={format} {'could be' if output is None else 'is not'}"
        )


def perplexity(hypothesis: AnyHypothesis) -> float:
    """exp of the mean negative log-probability of its tokens, ends of sentences included."""
    count = max(len(hypothesis.tokens), 1)
    return math.exp(min(-hypothesis.log_probability / count, 700.0))  # beyond, a float overflows


def _object(hypothesis: AnyHypothesis) -> dict[str, Any]:
    try:
        alignment = hypothesis.align(Reading()).to_json()
    except NMTError:  # a model without attention
        alignment = None
    return {
        "text": hypothesis.text,
        "score": round(hypothesis.score, 6),
        "log_probability": round(hypothesis.log_probability, 6),
        "perplexity": round(perplexity(hypothesis), 6),
        "tokens": [[piece, round(value, 6)] for piece, value in hypothesis.tokens],
        "replacements": [replacement._asdict() for replacement in hypothesis.replacements],
        "alignment": alignment,
    }


def _cell(text: str) -> str:
    return text.replace("\t", " ")
