"""Where training sentences begin in lower case, a capital that people type is not held against them."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_translator import ENGLISH, FRENCH, make_model

from nmt.data.tokenizer import TokenizerPair, TokenizerTrainer
from nmt.translator import Translator
from nmt.translator.translation import capitalised

LOWER = [
    ("she loves the old house.", "elle aime la vieille maison."),
    ("the cats see her.", "les chats la voient."),
    ("does Anna sing?", "est-ce qu'Anna chante ?"),
    ("I see the old cats.", "je vois les vieux chats."),
    ("Anna sees the cats.", "Anna voit les chats."),
] * 2


def trained(pairs: list[tuple[str, str]]) -> TokenizerPair:
    return TokenizerTrainer(vocabulary_size=90, joint=False).train(pairs)


@cache
def lower_tokenizers() -> TokenizerPair:
    return trained(LOWER)


@pytest.fixture(scope="module")
def translator() -> Translator:
    """A random model of a corpus in lower case."""
    tokenizers = lower_tokenizers()
    return Translator(make_model(tokenizers, 8, scale=2.0), tokenizers)


@pytest.mark.parametrize("line", ["she loves the cats.", '"the cats sing?"', "does the old house sing?"])
def test_a_capital_at_the_beginning_comes_back_and_changes_nothing_else(
    translator: Translator, line: str
) -> None:
    lower, capital = translator.translations([line, capitalised(line)])
    assert lower.source != capital.source
    assert capital.text == capitalised(lower.text)
    assert capital.score == pytest.approx(lower.score)
    for side in ("source", "target"):
        words = [getattr(each.alignment, side) for each in (lower, capital)]
        assert len(words[0]) == len(words[1])
        assert "".join(words[1]) == capitalised("".join(words[0]))
    np.testing.assert_allclose(capital.alignment.weights, lower.alignment.weights)


def test_given_pairs_are_read_the_same_way(translator: Translator) -> None:
    pairs = [("she sees.", "elle voit."), ("She sees.", "Elle voit.")]
    lower, capital = (translator.score(*pair) for pair in pairs)
    assert capital == pytest.approx(lower)
    assert translator.align(*pairs[1]).target[0] == "Elle"


def test_each_sentence_of_a_line_has_its_own_capital(translator: Translator) -> None:
    sentences = ["She sees the old house.", "the cats sing.", "Does she see the cats?"]
    assert translator.translate(" ".join(sentences)) == " ".join(map(translator.translate, sentences))


@pytest.mark.parametrize("line", ["Anna sings.", "I see.", "3 cats", "", "  ", "…", "İ", "SHE SEES"])
def test_what_is_written_with_its_capital_keeps_it(line: str) -> None:
    assert lower_tokenizers().source.decapitalised(line) == line


def test_where_sentences_begin_with_capitals_nothing_changes() -> None:
    tokenizer = trained(list(zip(ENGLISH, FRENCH, strict=True)) * 2).source
    assert tokenizer.decapitalised("The cats.") == "The cats."


@given(st.text(max_size=30), st.lists(st.integers(0, 30), max_size=3))
def test_no_character_moves(text: str, starts: list[int]) -> None:
    read = lower_tokenizers().source.decapitalised(text, starts)
    assert len(read) == len(text)
    assert all(a == b or a == b.lower() for a, b in zip(read, text, strict=True))
