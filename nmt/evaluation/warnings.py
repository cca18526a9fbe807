"""Signs that hypotheses are not the text that people would read, which makes their scores meaningless."""

import re
from collections.abc import Sequence
from typing import NamedTuple


class _Sign(NamedTuple):
    """Something that text ready for scoring does not hold."""

    pattern: re.Pattern[str]
    symptom: str
    reason: str
    remedy: str
    least_share: float = 0.0  # of all lines, below which it may be what was meant


_SIGNS = (
    _Sign(
        re.compile(r"@@(?:\s|$)"),
        "'@@'",
        "sub-words of BPE were not joined",
        r"join them with sed -E 's/@@( |$)//g'",
    ),
    _Sign(
        re.compile("▁"),
        "'▁'",
        "pieces of SentencePiece were not decoded",
        "decode them with spm_decode, or delete spaces and turn each ▁ into one",
    ),
    _Sign(
        re.compile("⁇"),
        "'⁇'",
        "SentencePiece wrote its unknown piece",
        "translate with a vocabulary that has byte fallback, or copy unknown words from the source",
    ),
    _Sign(
        re.compile(r"<unk>|&lt;unk&gt;", re.IGNORECASE),
        "'<unk>'",
        "the model had no word for something",
        "replace unknown words by the aligned source words before scoring",
    ),
    _Sign(
        re.compile(r"&(?:apos|quot|amp|lt|gt|#91|#93|#124);"),
        "escapes such as '&apos;'",
        "the text went through the Moses tokeniser",
        "detokenise it: sacremoses -l LANGUAGE detokenize < FILE",
        least_share=0.01,
    ),
    _Sign(
        re.compile(r"\w (?:[.,]|\.\.\.)(?= |$)|\w ['’] ?\w|\w ['’](?:s|t|m|re|ve|ll|d) ", re.IGNORECASE),
        "punctuation with a space before it ('word .')",
        "the text is tokenised, and BLEU would count its tokens",
        "detokenise it: sacremoses -l LANGUAGE detokenize < FILE",
        least_share=0.05,
    ),
)


def hypothesis_warnings(lines: Sequence[str]) -> list[str]:
    """For each sign that `lines` are no finished text one line: symptom, reason and remedy."""
    warnings = []
    for sign in _SIGNS:
        found = [number for number, line in enumerate(lines, start=1) if sign.pattern.search(line)]
        if found and len(found) > sign.least_share * len(lines):
            share = f"{len(found)} of {len(lines)} lines, first line {found[0]}"
            warnings.append(f"the hypotheses hold {sign.symptom} ({share}): {sign.reason}; {sign.remedy}")
    return warnings
