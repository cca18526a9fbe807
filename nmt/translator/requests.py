"""What somebody may ask of the translation of a line, and the rules for search that follow from it."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import torch
from torch import Tensor

from nmt.data.marks import JOINER, SPACE
from nmt.data.pieces import EOS_ID, UNK_ID
from nmt.data.segments import tidy
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.constraints import Constraint, ForcedPrefix, Past
from nmt.decoding.required import Phrase, RequiredPhrases
from nmt.errors import NMTError

_WHOLE_WORDS = 100_000  # remembered texts of hypotheses


class Request(NamedTuple):
    """A line to translate, and what its translation must be like."""

    source: str
    prefix: str = ""  # whole words that it begins with
    required: tuple[str, ...] = ()  # words or phrases that it holds
    forbidden: tuple[str, ...] = ()  # words or phrases that it does not hold, in no spelling or case
    target: str | None = None  # the translation itself: scored and aligned, not searched for
    place: str | None = None  # what warnings call the line; None = by its number


class Wish(NamedTuple):
    """A request in the tokens of a vocabulary."""

    prefix: tuple[int, ...] = ()
    spelled: tuple[tuple[int, str], ...] = ()  # positions in it that no piece spells, and their text
    required: tuple[Phrase, ...] = ()
    forbidden: tuple[tuple[str, ...], ...] = ()  # phrases as words, case folded
    may_copy: bool = True  # false where an unknown word could become a forbidden one


NO_WISH = Wish()


def wish_of(request: Request, tokenizer: Tokenizer) -> Wish:
    """What `request` means to search; `tokenizer` is the target language's."""
    prefix = tidy(request.prefix)
    begun = tokenizer.encode(prefix)
    spelled = tuple(
        (position, prefix[slice(*begun.spans[position])])
        for position, number in enumerate(begun.ids)
        if number == UNK_ID
    )
    required = [tuple(tokenizer.encode_ids(text)) for text in map(tidy, request.required) if text]
    for text, phrase in zip(filter(tidy, request.required), required, strict=True):
        if UNK_ID in phrase:
            raise NMTError(f"required word {text!r}: this run's vocabulary cannot spell it")
    forbidden = (
        tuple(word.text.casefold() for word in tokenizer.words(tidy(text))) for text in request.forbidden
    )
    sources = {word.text.casefold() for word in tokenizer.words(tidy(request.source))}
    phrases = tuple(filter(None, forbidden))
    return Wish(tuple(begun.ids), spelled, tuple(required), phrases, sources.isdisjoint(chain(*phrases)))


def rules_of(
    wishes: Sequence[Wish], tokenizer: Tokenizer, device: torch.device
) -> tuple[list[Constraint], RequiredPhrases | None]:
    """The rules for the search of a batch of sentences with these `wishes`."""
    constraints: list[Constraint] = []
    required = None
    if any(wish.prefix for wish in wishes):
        constraints.append(ForcedPrefix([wish.prefix for wish in wishes], device))
    if any(wish.forbidden for wish in wishes):
        constraints.append(ForbiddenWords(wishes, tokenizer, device))
    if any(wish.required for wish in wishes):
        required = RequiredPhrases([wish.required for wish in wishes], word_starts(tokenizer, device))
    return constraints, required


def word_starts(tokenizer: Tokenizer, device: torch.device) -> Tensor:
    """(V,) true for the pieces that begin a word, and for the end of sentence."""
    pieces = [tokenizer.id_to_piece(number) for number in range(tokenizer.vocabulary_size)]
    starts = torch.tensor([piece.startswith((SPACE, JOINER)) for piece in pieces], device=device)
    if not any(JOINER in piece for piece in pieces):  # made elsewhere: nothing marks punctuation
        starts |= torch.tensor([not piece[:1].isalnum() for piece in pieces], device=device)
    starts[EOS_ID] = True
    return starts


class ForbiddenWords:
    """The words that `wishes` forbid, one a sentence: they do not appear, however they are spelled in pieces.

    What has just been said may still become another word (*chat* goes on to *château*), so a hypothesis that
    ends in a forbidden phrase must go on with its last word.
    """

    def __init__(self, wishes: Sequence[Wish], tokenizer: Tokenizer, device: torch.device) -> None:
        self.extra_length: Tensor | int = 0
        self._wishes = wishes
        self._starts = word_starts(tokenizer, device)

        def words(tokens: tuple[int, ...]) -> tuple[str, ...]:
            return tuple(word.text.casefold() for word in tokenizer.words(tokenizer.decode(tokens)))

        self._words: Callable[[tuple[int, ...]], tuple[str, ...]] = lru_cache(_WHOLE_WORDS)(words)

    def forbid(self, logits: Tensor, past: Past, sentences: Tensor) -> None:
        for row, sentence in enumerate(sentences.tolist()):
            wish = self._wishes[sentence]
            if not wish.may_copy:
                logits[row, :, UNK_ID] = -torch.inf
            for column, tokens in enumerate(past.tokens[row].tolist() if wish.forbidden else ()):
                words = self._words(tuple(tokens))
                for phrase in wish.forbidden:
                    if _stands_before_the_end(phrase, words):
                        logits[row, column] = -torch.inf
                    elif words[-len(phrase) :] == phrase:
                        logits[row, column].masked_fill_(self._starts, -torch.inf)


def _stands_before_the_end(phrase: tuple[str, ...], words: tuple[str, ...]) -> bool:
    return any(
        words[start : start + len(phrase)] == phrase for start in range(max(len(words) - len(phrase), 0))
    )
