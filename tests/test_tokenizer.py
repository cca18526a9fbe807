"""Text comes back exactly, pieces never cross a word, and the same corpus gives the same tokenizer."""

import io
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmt.data.marks import detokenize, source_offsets, tokenize
from nmt.data.tokenizer import (
    BOS_ID,
    EOS_ID,
    PAD_ID,
    UNK_ID,
    Tokenizer,
    TokenizerPair,
    TokenizerTrainer,
    sampled,
)
from nmt.data.words import split_words
from nmt.errors import NMTError

PAIRS = [
    ("I love you.", "Je t'aime."),
    ("I don't love him!", "Je ne l'aime pas\u202f!"),
    ("He said: \"it's 3.14, isn't it?\"", "Il a dit\xa0: «\xa0c’est 3,14, n’est-ce pas\xa0?\xa0»"),
    ("They love the old house.", "Ils aiment la vieille maison."),
    ("The house  is (very) old", "La maison est (très) vieille"),
    ("<unk> </s> @@ ￭ ▁ ￮", "<pad> <s> ▅ <0x41>"),
] * 3
TYPES = ["unigram", "bpe", "char", "word"]
TYPED = [
    "￭",
    "▁",
    "￮",
    "▅",
    "<unk>",
    "</s>",
    "<0x41>",
    "@@",
    "⁇",
    " ",
    "  ",
    "\xa0",
    "\u2028",
    "\t",
    "\n",
    "\r",
]
TYPED += [
    "\x00",
    "\x1c",
    "\x85",
    "\ufeff",
    "\u0600 ",
    "e\u0301",
    "t'",
    "’s",
    "日本",
    "👩‍👩‍👧",
    "\ufffd",
    "\uffff",
]


def trained(type: str = "unigram", **options: object) -> TokenizerPair:
    trainer = TokenizerTrainer(type, 1000, joint=True, **options)  # type: ignore[arg-type]
    return trainer.train(PAIRS)


@pytest.fixture(scope="module")
def with_bytes() -> dict[str, Tokenizer]:
    return {type: trained(type, byte_fallback=True).source for type in TYPES}


ANY_TEXT = st.text() | st.lists(st.sampled_from([*TYPED, "a", "aime", ".", "l'"]) | st.text(max_size=3)).map(
    "".join
)


@settings(deadline=None, max_examples=300)
@given(
    text=ANY_TEXT, rule=st.sampled_from(["split", "whitespace"]), marks=st.sampled_from(["joiner", "spacer"])
)
@example("".join(TYPED), "split", "joiner")
@example("  a \xa0b  ", "split", "joiner")
def test_the_stream_of_tokens_is_reversible(text: str, rule: str, marks: str) -> None:
    tokens, words = tokenize(text, rule, marks)  # type: ignore[arg-type]
    stream = "".join(token.text for token in tokens)
    if marks == "joiner":
        assert detokenize(stream) == text
    elif "▁" not in text:
        assert detokenize(stream, "spacer") == text
    for token in tokens:
        offsets = source_offsets(token)
        assert len(offsets) == len(token.text) + 1 and offsets == sorted(offsets)
    assert [token.word for token in tokens] == sorted(token.word for token in tokens)
    assert not tokens or {token.word for token in tokens} == set(range(len(words)))
    assert all(text[word.start : word.end] == word.text for word in words)


@pytest.mark.parametrize("type", TYPES)
@settings(deadline=None, max_examples=200)
@given(text=ANY_TEXT)
@example("".join(TYPED))
def test_with_bytes_any_text_comes_back_exactly(
    type: str, with_bytes: dict[str, Tokenizer], text: str
) -> None:
    tokenizer = with_bytes[type]
    encoded = tokenizer.encode(text)
    assert tokenizer.decode(encoded.ids) == text
    assert tokenizer.encode_ids(text) == encoded.ids == tokenizer.encode_ids(text)
    assert UNK_ID not in encoded.ids
    lengths = {len(encoded.ids), len(encoded.pieces), len(encoded.word_of_piece), len(encoded.spans)}
    assert len(lengths) == 1
    assert encoded.word_of_piece == sorted(encoded.word_of_piece)
    covered = {position for start, end in encoded.spans for position in range(start, end)}
    assert all(text[position] == " " for position in set(range(len(text))) - covered)


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("words", ["split", "whitespace"])
def test_the_training_text_comes_back_exactly(type: str, words: str) -> None:
    tokenizers = trained(type, words=words)
    for source, target in PAIRS:
        assert tokenizers.source.decode(tokenizers.source.encode_ids(source)) == source
        assert tokenizers.target.decode(tokenizers.target.encode_ids(target)) == target


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Je t'aime.", "▁Je ▁t'￭ ▁aime ￭."),
        ("I'm here.", "▁I ￭'m ▁here ￭."),
        ("« l'ami »", "▁« ▁l'￭ ▁ami ▁»"),
        ("«l’ami»", "▁«￭ ▁l’￭ ▁ami ￭»"),
        ('("yes")', '▁( ￭"￭ ▁yes ￭" ￭)'),
        ("Quoi\xa0?", "▁Quoi ￭\xa0￭ ▁?"),
        ("a  b ", "▁a ￭￮␠￭ ￭￮␠￭ ▁b ￭￮␠￭"),
        ("a ￭ ▁", "▁a ▁￮j ▁￮u"),
    ],
)
def test_joiners_stand_on_the_less_lexical_side(text: str, tokens: str) -> None:
    assert [token.text for token in tokenize(text, "split")[0]] == tokens.split(" ")


@pytest.mark.parametrize("type", TYPES)
def test_a_word_is_the_same_pieces_wherever_it_stands(type: str) -> None:
    tokenizer = trained(type).target

    def pieces(text: str) -> list[str]:
        encoded = tokenizer.encode(text)
        aime = [word.text for word in encoded.words].index("aime")
        return [
            piece for piece, word in zip(encoded.pieces, encoded.word_of_piece, strict=True) if word == aime
        ]

    assert pieces("t'aime.") == pieces("l'aime") == pieces("aime") == pieces("(aime)") == pieces("il aime !")


@pytest.mark.parametrize("type", TYPES)
def test_pieces_fold_into_words_and_characters(type: str) -> None:
    encoded = trained(type).target.encode("Je t'aime.")
    assert [word.text for word in encoded.words] == ["Je", "t'", "aime", "."]
    for index, word in enumerate(encoded.words):
        spans = [
            span for span, owner in zip(encoded.spans, encoded.word_of_piece, strict=True) if owner == index
        ]
        assert "".join("Je t'aime."[start:end] for start, end in spans) == word.text


def test_words_are_split_words_or_those_between_white_space() -> None:
    text = "Je t'aime ,  dit-il\xa0."
    assert trained().source.words(text) == split_words(text)
    assert [word.text for word in trained(words="whitespace").source.words(text)] == [
        "Je",
        "t'aime",
        ",",
        "dit-il",
        ".",
    ]


@pytest.mark.parametrize("type", TYPES)
def test_special_pieces_have_fixed_ids_and_no_text(type: str) -> None:
    tokenizer = trained(type).source
    assert [tokenizer.id_to_piece(each) for each in range(4)] == ["<pad>", "<unk>", "<s>", "</s>"]
    assert tokenizer.decode([BOS_ID, *tokenizer.encode_ids("I love you."), EOS_ID, PAD_ID]) == "I love you."
    assert tokenizer.piece_to_id(tokenizer.id_to_piece(7)) == 7
    assert tokenizer.piece_to_id("no such piece") == UNK_ID
    typed = tokenizer.encode("<unk> </s> <pad> <s>").ids
    assert not {PAD_ID, BOS_ID, EOS_ID} & set(typed)


@pytest.mark.parametrize(
    ("type", "text"), [("unigram", "I love ⁇."), ("char", "I love ⁇."), ("word", "I love ⁇.")]
)
def test_what_the_vocabulary_cannot_spell_is_shown(type: str, text: str) -> None:
    tokenizer = trained(type).source
    assert tokenizer.decode(tokenizer.encode_ids("I love 日本.")) == text


@settings(deadline=None, max_examples=200)
@given(data=st.data(), type=st.sampled_from(TYPES))
def test_no_output_holds_marks_of_our_own_making(
    data: st.DataObject, type: str, with_bytes: dict[str, Tokenizer]
) -> None:
    tokenizer = with_bytes[type]
    plain = [
        number
        for number in range(tokenizer.vocabulary_size)
        if "￮" not in tokenizer.id_to_piece(number) and not tokenizer.id_to_piece(number).startswith("<0x")
    ]
    text = tokenizer.decode(data.draw(st.lists(st.sampled_from(plain), max_size=8)))
    assert not set(text) & set("▁￭￮")


@pytest.mark.parametrize("type", TYPES)
def test_saved_and_loaded_is_the_same(type: str, tmp_path: Path) -> None:
    for number, joint in enumerate((True, False)):
        pair = TokenizerTrainer(type, 60, joint=joint).train(PAIRS)  # type: ignore[arg-type]
        pair.save(tmp_path / "new" / str(number))
        (tmp_path / "new" / str(number)).rename(tmp_path / f"moved{number}")
        again = TokenizerPair.load(tmp_path / f"moved{number}")
        assert again.joint == joint == (again.source is again.target)
        for before, after in zip(pair[:2], again[:2], strict=True):
            assert before.to_bytes() == after.to_bytes()
            assert before.encode("Il l'aime, t'es sûr?") == after.encode("Il l'aime, t'es sûr?")
    with pytest.raises(NMTError, match="no file .*joint|no file .*source"):
        TokenizerPair.load(tmp_path / "new")


def test_the_same_corpus_gives_the_same_tokenizer_in_any_process() -> None:
    code = (
        "import sys, hashlib, logging; sys.path.insert(0, 'tests'); import test_tokenizer as t\n"
        "logging.disable(); models = [t.trained(each).source.to_bytes() for each in t.TYPES]\n"
        "print(hashlib.sha256(b''.join(models)).hexdigest())"
    )
    root = Path(__file__).resolve().parent.parent
    outputs = set()
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(root)}
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""  # SentencePiece is silent
        outputs.add(done.stdout)
    assert len(outputs) == 1


@pytest.mark.parametrize("type", TYPES)
def test_too_large_a_vocabulary_is_lowered_with_a_line(type: str, caplog: pytest.LogCaptureFixture) -> None:
    pair = TokenizerTrainer(type, 5000).train(PAIRS)  # type: ignore[arg-type]
    assert 4 < pair.source.vocabulary_size < 500
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 1 and "vocabulary_size=5000" in lines[0]
    assert lines[0].endswith(f"lowered to {pair.source.vocabulary_size}")


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("byte_fallback", [False, True])
def test_too_small_a_vocabulary_is_raised_with_a_line(
    type: str, byte_fallback: bool, caplog: pytest.LogCaptureFixture
) -> None:
    trainer = TokenizerTrainer(type, 3, byte_fallback=byte_fallback)  # type: ignore[arg-type]
    pair = trainer.train(PAIRS)
    assert [record.getMessage() for record in caplog.records][0].endswith(
        f"raised to {pair.source.vocabulary_size}"
    )


def test_each_side_has_its_own_size_unless_joint() -> None:
    pair = TokenizerTrainer("bpe", 60, target_vocabulary_size=70, joint=False).train(PAIRS)
    assert (pair.source.vocabulary_size, pair.target.vocabulary_size) == (60, 70)
    with pytest.raises(NMTError, match="target_vocabulary_size=70 with joint=true"):
        TokenizerTrainer("bpe", 60, target_vocabulary_size=70)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"type": "wordpiece"}, "tokenizer.type=wordpiece: choose one of unigram, bpe, char, word"),
        ({"words": "spaces"}, "tokenizer.words=spaces: choose one of split, whitespace"),
        ({"vocabulary_size": 0}, "tokenizer.vocabulary_size=0"),
        ({"sample_size": -1}, "tokenizer.sample_size=-1"),
        ({"character_coverage": 99.95}, "tokenizer.character_coverage=99.95"),
    ],
)
def test_faulty_settings_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(NMTError, match=message):
        TokenizerTrainer(**options)  # type: ignore[arg-type]


def test_half_a_surrogate_pair_is_no_text() -> None:
    with pytest.raises(NMTError, match="surrogate"):
        trained().source.encode_ids("a \ud83d b")


@pytest.mark.parametrize(("total", "size"), [(10, 3), (10, 10), (3, 10), (7, 6), (1000, 7)])
def test_a_sample_has_its_size_and_is_spread_evenly(total: int, size: int) -> None:
    pairs = [(str(number), "x") for number in range(total)]
    chosen = [int(source) for source, _ in sampled(pairs, size)]
    assert len(chosen) == min(total, size)
    gaps = [second - first for first, second in zip(chosen, chosen[1:], strict=False)]
    assert not gaps or max(gaps) - min(gaps) <= 1


def foreign_model(size: int = 100, **options: Any) -> bytes:
    """A model as spm_train makes it from raw text."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(side for pair in PAIRS[:5] * 20 for side in pair),
        model_writer=model,
        vocab_size=size,
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    return model.getvalue()


def test_models_made_elsewhere_are_used_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "raw.model"
    path.write_bytes(foreign_model(normalization_rule_name="identity", byte_fallback=True, size=350))
    pair = TokenizerTrainer(model=str(path)).train([])
    assert pair.joint
    for text in ("Je t'aime.", "  a  b ", "日本 \xa0!", "", "I don't!"):
        encoded = pair.source.encode(text)
        assert pair.source.decode(encoded.ids) == text
        assert pair.source.encode_ids(text) == encoded.ids == pair.source.encode_ids(text)
    assert [word.text for word in pair.source.encode("Je t'aime.").words] == ["Je", "t'", "aime", "."]
    assert min(pair.source.encode_ids("Je t'aime.")) > EOS_ID
    pair.save(tmp_path / "saved")
    assert TokenizerPair.load(tmp_path / "saved").source.encode_ids("Je t'aime.") == pair.source.encode_ids(
        "Je t'aime."
    )


def test_a_normalising_model_still_folds_into_words(tmp_path: Path) -> None:
    (tmp_path / "nfkc.model").write_bytes(foreign_model())
    encoded = (
        TokenizerTrainer(model=str(tmp_path / "nfkc.model")).train([]).source.encode("Il \ufb01nit\xa0…")
    )
    assert [word.text for word in encoded.words] == ["Il", "\ufb01nit", "…"]
    assert all(0 <= start <= end <= 10 for start, end in encoded.spans)


def test_given_models_are_one_or_two_and_ours_are_recognised(tmp_path: Path) -> None:
    TokenizerTrainer("bpe", 60, joint=False, words="whitespace").train(PAIRS).save(tmp_path / "mine")
    paths = {side: str(tmp_path / "mine" / f"{side}.model") for side in ("source", "target")}
    pair = TokenizerTrainer(model=paths).train([])
    assert not pair.joint
    assert [word.text for word in pair.source.words("t'aime.")] == ["t'aime."]
    with pytest.raises(NMTError, match="one as source and one as target"):
        TokenizerTrainer(model={"source": "a"}).train([])
    (tmp_path / "text").write_text("no model")
    with pytest.raises(NMTError, match="text is no SentencePiece model"):
        TokenizerTrainer(model=str(tmp_path / "text")).train([])


def test_other_programs_load_our_models(tmp_path: Path) -> None:
    trained().source.save(tmp_path / "ours.model")
    processor = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "ours.model"))
    assert processor.encode_as_ids("▁aime") == trained().source.encode_ids("aime")


def test_frequent_words_are_whole_pieces(shared_data: Path, caplog: pytest.LogCaptureFixture) -> None:
    sides = [
        (shared_data / "multi30k" / f"val.{side}").read_text(encoding="utf-8").split("\n")
        for side in ("en", "fr")
    ]
    with caplog.at_level(logging.WARNING):
        tokenizer = TokenizerTrainer("unigram", 3000).train(list(zip(*sides, strict=True))).source
    assert not caplog.records
    assert tokenizer.encode("A woman and two men.").pieces == ["▁A", "▁woman", "▁and", "▁two", "▁men", "￭."]
    assert all(tokenizer.decode(tokenizer.encode_ids(line)) == line for side in sides for line in side)
