"""Where sentences end, by the rules of sentencex (Wikimedia's splitter for some 300 languages)."""

import regex
import sentencex

# One character for one, so that positions stay: sentencex expects plain spaces around full stops.
_WHITE_SPACE = regex.compile(r"\s")
_TITLE = regex.compile(r"\W*\p{L}{1,3}\.\s*")  # M. Dupont


def sentence_ends(text: str, language: str) -> list[int]:
    """Where each sentence of `text` ends (white space after it included), in order; the last is its length.

    What is so short that it must be a title or an initial stands with the sentence after it.

    `language` is a two-letter code; one that has no rules of its own is split by general ones.
    """
    ends, end = [], 0
    for sentence in sentencex.segment(language, _WHITE_SPACE.sub(" ", text)):
        end += len(sentence)
        if end == len(text) or not _TITLE.fullmatch(sentence):
            ends.append(end)
    return ends
