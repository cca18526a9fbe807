"""Pretrained word vectors find their words."""

import pytest
import torch

from nmt.data.tokenizer import TokenizerTrainer
from nmt.data.vectors import load_vectors
from nmt.errors import NMTError

PAIRS = [("the cat sees Paul", "le chat voit Paul"), ("the dog sees him", "le chien le voit")] * 3


@pytest.fixture(scope="module")
def tokenizer():
    return TokenizerTrainer("word", vocabulary_size=100, joint=False).train(PAIRS).source


def row(tokenizer, word):
    pieces = [tokenizer.id_to_piece(number).strip("▁￭") for number in range(tokenizer.vocabulary_size)]
    return pieces.index(word)


@pytest.mark.parametrize("header", ["", "3 2\n"])
def test_words_get_their_vectors_and_others_keep_theirs(tokenizer, tmp_path, header):
    (tmp_path / "vectors.txt").write_text(header + "cat 1 2\npaul -1e-1 4\nzebra 5 6\n", encoding="utf-8")
    weight = torch.full((tokenizer.vocabulary_size, 2), 9.0)
    assert load_vectors(tmp_path / "vectors.txt", tokenizer, weight) == 2
    assert weight[row(tokenizer, "cat")].tolist() == [1, 2]
    torch.testing.assert_close(
        weight[row(tokenizer, "Paul")], torch.tensor([-0.1, 4.0])
    )  # lower case stands in
    assert weight[row(tokenizer, "dog")].tolist() == [9, 9]


def test_the_cased_word_wins_over_the_lower_case(tokenizer, tmp_path):
    (tmp_path / "vectors.txt").write_text("Paul 1 1\npaul 2 2\n", encoding="utf-8")
    weight = torch.zeros(tokenizer.vocabulary_size, 2)
    load_vectors(tmp_path / "vectors.txt", tokenizer, weight)
    assert weight[row(tokenizer, "Paul")].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cat 1 2 3\n", "line 1: holds 3 numbers, and embeddings have 2; set model.embedding_size=3"),
        ("9 3\ncat 1 2 3\n", "line 1: holds 3 numbers, and embeddings have 2; set model.embedding_size=3"),
        ("cat 1 2\ndog 1\n", "line 2: holds 1 numbers, and embeddings have 2; set model.embedding_size=1"),
        ("cat 1 two\n", "line 1: is no word followed by 2 numbers"),
    ],
)
def test_a_wrong_file_is_one_clear_line(tokenizer, tmp_path, text, message):
    (tmp_path / "vectors.txt").write_text(text, encoding="utf-8")
    with pytest.raises(NMTError) as error:
        load_vectors(tmp_path / "vectors.txt", tokenizer, torch.zeros(tokenizer.vocabulary_size, 2))
    assert str(error.value) == f"{tmp_path / 'vectors.txt'}, {message}"
