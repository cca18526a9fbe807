"""The reversible stream of tokens between text and SentencePiece.

Text is cut into words and white space. A token is a word with marks: ``▁`` before it means a space, a joiner
``￭`` on either side means none. The joiner goes to the punctuation or clitic side, so that a lexical word is
one type wherever it stands: *Je t'aime.* becomes ``▁Je ▁t'￭ ▁aime ￭.`` Any white space but a single space
between words is a token of its own for each character, joined on both sides. Marks that people type are
escaped with ``￮``, so text comes back exactly. The notation is the OpenNMT Tokenizer's (joiners) and
SentencePiece's (``▁``; Kudo and Richardson 2018).

SentencePiece models made elsewhere know no joiners: for them ``▁`` stands for every space, and nothing else
is marked.
"""

from typing import Literal, NamedTuple

import regex

from nmt.data.words import Word, split_words

JOINER = "￭"
SPACE = "▁"
ESCAPE = "￮"

Marks = Literal["joiner", "spacer"]
WordRule = Literal["split", "whitespace"]


class Token(NamedTuple):
    """A token of the stream: its text with marks, the word it belongs to, and where that stands."""

    text: str
    word: int  # index into the words of the text
    start: int  # the characters [start, end) of the text
    end: int


# What SentencePiece cannot be given as text: its reserved characters and names, and our own marks. C0
# controls and the space are shown as their control pictures.
_PICTURES = {chr(code): chr(0x2400 + code) for code in range(0x21)}
_ESCAPES = {JOINER: "j", SPACE: "u", ESCAPE: "e", "▅": "b", "<": "l"} | _PICTURES
_UNESCAPES = {letter: character for character, letter in _ESCAPES.items()}
_RESERVED = regex.compile(rf"[{JOINER}{SPACE}{ESCAPE}▅\x00-\x20]|<(?=(?:pad|unk|/?s|0x[0-9A-F]{{2}})>)")
_ESCAPED = regex.compile(rf"{ESCAPE}(.?)", regex.DOTALL)
_JOINED = regex.compile(rf"{SPACE}*{JOINER}[{JOINER}{SPACE}]*")
_SPACES = regex.compile(rf"{SPACE}+")
_NON_SPACE = regex.compile(r"\S+")
_ORDINARY = regex.compile(r"[\p{L}\p{M}\p{N}_]")


def words_of(text: str, rule: WordRule) -> list[Word]:
    """The words of `text` as people see them; no word holds a space."""
    words: list[Word] = []
    start = 0
    for chunk in text.split(" "):
        words += [Word(word.text, word.start + start, word.end + start) for word in _chunk_words(chunk, rule)]
        start += len(chunk) + 1
    return words


def tokenize(text: str, rule: WordRule, marks: Marks = "joiner") -> tuple[list[Token], list[Word]]:
    """The tokens of `text`, and its words; a text of white space alone counts as one word.

    White space belongs to the word before it or, at the beginning, to the first.
    """
    words = words_of(text, rule) or ([Word("", len(text), len(text))] if text else [])
    mark = _with_joiners if marks == "joiner" else _with_spacers
    tokens: list[Token] = []
    end = 0
    for index, word in enumerate(words):
        tokens += mark(text, words, index, end)
        end = word.end
    if end < len(text):
        tokens += _white_space(text, end, len(text), len(words) - 1, marks)
    if words and not words[0].text:
        words = [Word(text, 0, len(text))]
    return tokens, words


def detokenize(stream: str, marks: Marks = "joiner") -> str:
    """The text of concatenated tokens. What no text has (a model's own making) leaves no marks either."""
    if marks == "spacer":
        return stream.removeprefix(SPACE).replace(SPACE, " ")
    text = _JOINED.sub("", stream)
    text = _SPACES.sub(" ", text.strip(SPACE))
    return _ESCAPED.sub(lambda match: _UNESCAPES.get(match.group(1), match.group(1)), text)


def source_offsets(token: Token) -> list[int]:
    """For each boundary between two characters of the token's text (len + 1), where in the text it lies."""
    offsets = [token.start]
    for character in token.text:
        width = 0 if character in (JOINER, SPACE, ESCAPE) else 1
        offsets.append(min(offsets[-1] + width, token.end))
    offsets[-1] = token.end
    return offsets


def _with_joiners(text: str, words: list[Word], index: int, end: int) -> list[Token]:
    """The tokens of word `index` and of the white space since `end`, where the word before it ended."""
    word = words[index]
    previous = words[index - 1] if index else None
    following = words[index + 1] if index + 1 < len(words) else None
    tokens = []
    if word.start > end and not (previous and text[end : word.start] == " "):
        tokens = _white_space(text, end, word.start, max(index - 1, 0), "joiner")
    if not word.text:
        return tokens
    left = previous is not None and word.start == end and _joins_left(previous, word)
    right = following is not None and following.start == word.end and not _joins_left(word, following)
    marked = (JOINER if left else SPACE) + _escape(word.text) + (JOINER if right else "")
    return [*tokens, Token(marked, index, word.start, word.end)]


def _with_spacers(text: str, words: list[Word], index: int, end: int) -> list[Token]:
    """As `_with_joiners`; a space, or the beginning of the text, is the ``▁`` of the word after it."""
    word = words[index]
    gap = text[end : word.start]
    spaced = gap.endswith(" ") or (index == 0 and not gap)
    tokens = _white_space(text, end, word.start - gap.endswith(" "), max(index - 1, 0), "spacer")
    if index == 0 and gap:
        tokens.insert(0, Token(SPACE, 0, 0, 0))
    return [*tokens, Token(SPACE * spaced + word.text, index, word.start, word.end)]


def _white_space(text: str, start: int, end: int, word: int, marks: Marks) -> list[Token]:
    """One token for each of the characters [start, end) of `text`."""
    if marks == "joiner":
        shown = [JOINER + _escape(character) + JOINER for character in text[start:end]]
    else:
        shown = [SPACE if character == " " else character for character in text[start:end]]
    return [Token(each, word, start + offset, start + offset + 1) for offset, each in enumerate(shown)]


def _escape(text: str) -> str:
    return _RESERVED.sub(lambda match: ESCAPE + _ESCAPES[match.group()], text)


def _chunk_words(chunk: str, rule: WordRule) -> list[Word]:
    if rule == "split":
        return split_words(chunk)
    return [Word(match.group(), match.start(), match.end()) for match in _NON_SPACE.finditer(chunk)]


def _joins_left(first: Word, second: Word) -> bool:
    """Whether the joiner between touching words goes to the second: the less lexical one carries it."""
    return _rank(second) <= _rank(first)


def _rank(word: Word) -> int:
    """2 for words and numbers, 1 for clitics, 0 for punctuation."""
    if not _ORDINARY.search(word.text):
        return 0
    return 1 if word.text[0] in "'’" or word.text[-1] in "'’" else 2
