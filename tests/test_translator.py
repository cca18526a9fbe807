"""Text in, text out: the line contract, neighbours that change nothing, alignments, scores."""

import itertools
import json
import logging
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hydra.utils import instantiate
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf
from small_models import CONFIGS, part

from nmt.alignment import alignment_error_rate
from nmt.data.ahead import read_ahead
from nmt.data.batches import make_batch
from nmt.data.links import parse_links, sure_links
from nmt.data.segments import cut, tidy, words_of_spans
from nmt.data.tokenizer import UNK_ID, Encoded, TokenizerPair, TokenizerTrainer
from nmt.data.words import split_words
from nmt.decoding.search import Hypothesis, SearchSettings
from nmt.errors import NMTError
from nmt.evaluation.run import evaluate_run
from nmt.evaluation.validation import Validator
from nmt.models.seq2seq import Seq2Seq
from nmt.translator import Translator
from nmt.translator.sentences import sentence_ends
from nmt.translator.translation import make_part, spell

ENGLISH = [
    "I love you.",
    "You don't see the old house.",
    "Does she sing?",
    "We are here, aren't we?",
    "I see 3.5 cats!",
]
FRENCH = [
    "Je t'aime.",
    "Tu ne vois pas l'ancienne maison.",
    "Chante-t-elle ?",
    "Nous sommes là, non ?",
    "J'en vois !",
]

NASTY = [
    "\r", "a\rb", "I love you.\r", "\u2028", "a\u2028b\u2029c\u0085d", "\x0c", "a\x0cb", "\x00",
    "a\x00b", "\ufeffI love you.", "\u00a0", "\u202f?", "Chat\u00a0! Oui\u202f?", "<unk>", "</s>",
    "<s> <pad>", "<0x41>", "▁", "▁▁a▁", "@@", "a@@ b", "￭", "￭￭ ￭", "￮", "￮j ￮", "⁇", "\t",
    "a\tb", "  I   love  you. ", "👍🏽👨‍👩‍👧", "e\u0301", "\u0301\u0301", "مرحبا بك", "我爱你。",
    "\u202eabc", "a" * 60, "." * 50, "x " * 40, "\ud7ff\ue000", "\U0010ffff", "\u200b",
    "\x1b[31m", "I", "", "   ", "'", "’’'", "l'", "-", "$1,000.00%", "\\n", '"', "&amp;",
]  # fmt: skip


def make_translator(type: str = "unigram", attention: str = "additive", **options: object) -> Translator:
    """A random model in float64 over tokenizers of a few sentences."""
    trainer = TokenizerTrainer(type=type, vocabulary_size=90, joint=True)  # type: ignore[arg-type]
    tokenizers = trainer.train(list(zip(ENGLISH, FRENCH, strict=True)))
    return Translator(make_model(tokenizers, 8, attention, 2.0), tokenizers, **options)  # type: ignore[arg-type]


def make_model(
    tokenizers: TokenizerPair, size: int, attention: str = "additive", scale: float = 1.0
) -> Seq2Seq:
    """A model of width `size`; a `scale` above 1 makes random weights choose sharply."""
    torch.manual_seed(3)
    model = instantiate(
        OmegaConf.merge(
            OmegaConf.load(CONFIGS / "model" / "rnn.yaml"), {"embedding_size": size, "hidden_size": size}
        ),
        encoder=part("encoder", "birnn"),
        decoder=part("decoder", "bahdanau"),
        attention=part("attention", attention),
        source_vocabulary_size=tokenizers.source.vocabulary_size,
        target_vocabulary_size=tokenizers.target.vocabulary_size,
        joint_vocabulary=True,
    )
    for parameter in model.parameters():
        parameter.data.mul_(scale)
    return model.double().eval()


@pytest.fixture(scope="module")
def translator() -> Translator:
    return make_translator(search=quick(beam_size=2, n_best=2), max_source_length=20)


def quick(**options: int) -> SearchSettings:
    """Random models never end by themselves."""
    return SearchSettings(max_length_ratio=1, max_length_offset=2, **options)


@pytest.fixture(scope="module")
def trained() -> Translator:
    """A model that has learnt the few sentences by heart."""
    tokenizers = TokenizerTrainer(type="word", joint=True).train(list(zip(ENGLISH, FRENCH, strict=True)))
    model, encode = make_model(tokenizers, 24), tokenizers.source.encode_ids
    batch = make_batch(
        [(encode(source), encode(target)) for source, target in zip(ENGLISH, FRENCH, strict=True)]
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(50):
        optimizer.zero_grad()
        logits, _ = model(batch.src, batch.src_mask, batch.tgt_in)
        torch.nn.functional.cross_entropy(logits[batch.tgt_mask], batch.tgt_out[batch.tgt_mask]).backward()
        optimizer.step()
    return Translator(model, tokenizers, SearchSettings(beam_size=1))


def beside(translator: Translator, **options: object) -> Translator:
    """The same model with other options."""
    return Translator(translator.model, translator.tokenizers, **options)  # type: ignore[arg-type]


# --- the line contract

text_lines = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=40)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(text_lines | st.sampled_from(NASTY) | st.sampled_from(ENGLISH), max_size=6))
def test_as_many_lines_come_out_as_go_in(translator: Translator, lines: list[str]) -> None:
    found = translator.translate(lines)
    assert len(found) == len(lines)
    for line, text in zip(lines, found, strict=True):
        assert "\n" not in text
        assert not any(mark in text and mark not in line for mark in ("<unk>", "⁇", "▁", "￭"))
        if not line.strip():
            assert text == ""


@pytest.mark.parametrize("line", NASTY, ids=ascii)
def test_an_odd_line_among_others_changes_none_of_them(translator: Translator, line: str) -> None:
    one, odd, two = translator.translate([ENGLISH[0], line, ENGLISH[1]])
    assert (one, odd, two) == tuple(translator.translate(each) for each in (ENGLISH[0], line, ENGLISH[1]))
    assert "\n" not in odd


def test_white_space_around_a_sentence_means_nothing(translator: Translator) -> None:
    plain = translator.translate("I love you.")
    assert (
        translator.translate(["I love you.\r", "\ufeff I \t love\u2028you. ", "I love you.\x0c"])
        == [plain] * 3
    )


def test_what_the_best_hypothesis_is_called(translator: Translator) -> None:
    (translation,) = translator.translations([ENGLISH[0]])
    assert len(translation.hypotheses) == 2
    best, second = translation.hypotheses
    assert translation.text == best.text == translator.translate(ENGLISH[0])
    assert translation.score == best.score >= second.score
    assert np.isclose(sum(best.token_log_probabilities), best.log_probability)


# --- neighbours


@pytest.mark.parametrize(
    ("attention", "batch_tokens", "threads"),
    [("additive", 1, 1), ("additive", 10_000, 1), ("local_p", 60, 1), ("additive", 60, 3)],
)
def test_neighbours_batch_size_and_threads_change_nothing(
    attention: str, batch_tokens: int, threads: int
) -> None:
    options: dict[str, Any] = {"search": quick(beam_size=3), "max_source_length": 20}
    alone = make_translator(attention=attention, **options)
    together = beside(alone, batch_tokens=batch_tokens, **options)
    lines = [" ".join(ENGLISH[:count]) for count in range(1, 6)] + NASTY[::3] + ENGLISH * 2
    random.Random(1).shuffle(lines)
    expected = {line: next(alone.translations([line])) for line in lines}
    torch.set_num_threads(threads)
    found = list(together.translations(lines))
    torch.set_num_threads(1)
    for translation in found:
        assert translation.text == expected[translation.source].text
        assert np.isclose(translation.score, expected[translation.source].score, atol=1e-9)
        assert np.allclose(translation.alignment.weights, expected[translation.source].alignment.weights)


# --- long lines


@pytest.mark.parametrize("split", ["long", "never"])
def test_what_is_still_too_long_is_translated_in_windows_with_a_warning(
    translator: Translator, caplog: pytest.LogCaptureFixture, split: str
) -> None:
    translator = beside(translator, search=translator.search, max_source_length=20, split=split)
    long = " ".join(ENGLISH).replace(".", ",").replace("!", ",").replace("?", ",")
    with caplog.at_level(logging.WARNING):
        short, translation = translator.translations(["I love you.", long])
    (record,) = caplog.records
    pieces = len(translator.tokenizers.source.encode(long).ids)
    parts = translation.hypotheses[0].parts
    assert record.getMessage() == (
        f"line 2: a sentence of {pieces} pieces exceeds the model's 20: translated in {len(parts)} parts"
    )
    assert translation.text == " ".join(each.text for each in parts if each.text)
    assert sum(len(each.segment.ids) for each in parts) == pieces
    alignment = translation.alignment
    assert alignment.source == [word.text for word in split_words(long)]
    # each part's words look at that part's source words alone
    start = 0
    for each in parts:
        end = start + len(translator.tokenizers.target.words(each.text))
        outside = np.ones(len(alignment.source), dtype=bool)
        outside[each.segment.word_of_piece] = False
        assert not alignment.weights[start:end, outside].any()
        start = end
    assert start == len(alignment.target)


@pytest.mark.parametrize(("split", "line"), [("long", 4), ("always", 2), ("always", 4)])
def test_a_paragraph_is_translated_sentence_by_sentence(
    translator: Translator, caplog: pytest.LogCaptureFixture, split: str, line: int
) -> None:
    """Quietly, and as if each sentence stood on a line of its own; a shorter line is not split."""
    options: dict[str, Any] = {"search": translator.search, "max_source_length": 20, "split": split}
    splitting = beside(translator, **options)
    text = " ".join(ENGLISH[:line])
    with caplog.at_level(logging.WARNING):
        (translation,) = splitting.translations([text])
    assert not caplog.records
    alone = [translator.translate(sentence) for sentence in ENGLISH[:line]]
    assert translation.text == " ".join(filter(None, alone))
    assert translation.alignment.source == [word.text for word in split_words(text)]
    assert len(beside(translator, **{**options, "split": "long"}).translate([ENGLISH[0]])) == 1


def test_a_name_does_not_end_a_sentence() -> None:
    text = "Mr. Smith\u00a0sees Dr.\u202fJones. He left at 3.5 p.m.\u00a0today! Is it\u00a0? Yes."
    ends = sentence_ends(text, "en")
    assert [text[start:end] for start, end in itertools.pairwise([0, *ends])] == [
        "Mr. Smith\u00a0sees Dr.\u202fJones. ", "He left at 3.5 p.m.\u00a0today! ", "Is it\u00a0? ", "Yes.",
    ]  # fmt: skip


@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60), st.sampled_from(["en", "fr", "zh", "xx"])
)
def test_sentences_lose_nothing(text: str, language: str) -> None:
    ends = sentence_ends(text, language)
    assert ends == sorted(ends)
    assert not text or ends[-1] == len(text)


@given(st.lists(st.integers(1, 9), max_size=30), st.integers(1, 12))
def test_cuts_lose_nothing_and_lie_between_words(words: list[int], limit: int) -> None:
    word_of_piece = [word for word, count in enumerate(words) for _ in range(count)]
    count = len(word_of_piece)
    encoded = Encoded(list(range(count)), [""] * count, [], word_of_piece, [(n, n + 1) for n in range(count)])
    segments = cut(encoded, limit)
    assert [number for segment in segments for number in segment.ids] == encoded.ids
    assert [word for segment in segments for word in segment.word_of_piece] == word_of_piece
    assert all(0 < len(segment.ids) <= limit for segment in segments)
    for first, second in itertools.pairwise(segments):
        if first.word_of_piece[-1] == second.word_of_piece[0]:
            assert len(set(first.word_of_piece)) == 1


# --- unknown words


def hypothesis(tokens: list[int], weights: list[list[float]] | None) -> Hypothesis:
    matrix = None if weights is None else torch.tensor(weights)
    return Hypothesis(tokens, 0.0, 0.0, [0.0] * (len(tokens) + 1), matrix)


@pytest.mark.parametrize("type", ["word", "unigram", "bpe", "char"])
def test_an_unknown_piece_is_copied_from_the_source_it_looked_at(type: str) -> None:
    tokenizer = make_translator(type).tokenizers.source
    source = "I love ŁŁ you."
    encoded = tokenizer.encode(source)
    unknown = encoded.ids.index(UNK_ID)
    tokens = tokenizer.encode_ids("Je t'aime ŁŁ.")
    places = [position for position, token in enumerate(tokens) if token == UNK_ID]
    weights = np.full((len(tokens) + 1, len(encoded.ids) + 1), 0.01)
    weights[places, unknown] = 0.5
    weights[places, -1] = 0.9  # the end of the sentence holds no text
    made = make_part(tokenizer, source, cut(encoded, 100)[0], hypothesis(tokens, weights.tolist()))
    # (a word vocabulary may also lack the joined full stop)
    assert made.text.startswith("Je t'aime ŁŁ") and "⁇" not in made.text
    spelled = spell(tokenizer, tokens, made.copies)
    assert spelled.text == made.text
    assert [spelled.words[spelled.word_of_piece[place]].text for place in places][0] == "ŁŁ"


def test_without_attention_an_unknown_piece_is_copied_from_the_same_place() -> None:
    tokenizer = make_translator("word").tokenizers.source
    segment = cut(tokenizer.encode("Kowalski Łódź"), 100)[0]
    made = make_part(tokenizer, "Kowalski Łódź", segment, hypothesis([UNK_ID] * 3, None))
    assert made.text == "Kowalski Łódź Łódź"


def test_typed_signs_stay_text() -> None:
    tokenizer = make_translator("char").tokenizers.source
    source = "⁇ ⁇"
    encoded = tokenizer.encode(source)
    weights = np.eye(len(encoded.ids) + 1).tolist()
    assert make_part(tokenizer, source, cut(encoded, 100)[0], hypothesis(encoded.ids, weights)).text == source


# --- spelling


@pytest.mark.parametrize("type", ["word", "unigram", "bpe", "char"])
@pytest.mark.parametrize("sentence", [*FRENCH, "Je t'aime  .", "J'en\u00a0vois !", "l'ancienne-maison..."])
def test_pieces_of_a_hypothesis_belong_to_its_words(type: str, sentence: str) -> None:
    tokenizer = make_translator(type).tokenizers.target
    encoded = tokenizer.encode(sentence)
    if UNK_ID not in encoded.ids:
        spelled = spell(tokenizer, encoded.ids, {})
        assert spelled.text == sentence
        assert spelled.words == encoded.words
        # (a joiner that stands alone could be of either word)
        told = [position for position, token in enumerate(encoded.ids) if tokenizer.decode([token])]
        assert all(spelled.word_of_piece[position] == encoded.word_of_piece[position] for position in told)


@given(st.lists(st.integers(0, 89), max_size=12))
def test_any_pieces_spell_the_tokenizers_text(ids: list[int]) -> None:
    tokenizer = SPELLER.tokenizers.target
    ids = [number % tokenizer.vocabulary_size for number in ids]
    spelled = spell(tokenizer, ids, {})
    assert spelled.text == tokenizer.decode(ids).replace("\n", " ")
    assert spelled.word_of_piece == sorted(spelled.word_of_piece)
    if spelled.words:
        with_text = {  # every word has a piece
            word for word, token in zip(spelled.word_of_piece, ids, strict=True) if tokenizer.decode([token])
        }
        assert len(with_text) <= len(spelled.words)


SPELLER = make_translator("char")


def test_words_of_spans() -> None:
    text = "je t'aime ."
    spans = [(0, 2), (2, 4), (4, 5), (5, 9), (9, 9), (9, 11), (11, 11)]
    assert words_of_spans(text, split_words(text), spans) == [0, 1, 1, 2, 3, 3, 3]


def test_tidy_keeps_french_spaces() -> None:
    assert tidy("\ufeff\t Chat\u00a0!  Oui\u202f?\u3000Non \r") == "Chat\u00a0! Oui\u202f? Non"


# --- alignments


@pytest.mark.parametrize("beam_size", [1, 2, 5])
@pytest.mark.parametrize("type", ["unigram", "word"])
def test_every_hypothesis_has_an_alignment(type: str, beam_size: int) -> None:
    translator = make_translator(type, search=quick(beam_size=beam_size, n_best=beam_size))
    for translation in translator.translations(ENGLISH):
        for each in translation.hypotheses:
            alignment = each.alignment
            assert alignment.source == [word.text for word in split_words(translation.source)]
            assert alignment.target == [word.text for word in split_words(each.text)]
            sums = alignment.weights.sum(axis=1)
            assert np.all(np.isclose(sums, 1) | np.isclose(alignment.eos, 1) | (sums == 0))


def test_a_forced_hypothesis_has_its_own_score_and_alignment(trained: Translator) -> None:
    translator = beside(trained, search=SearchSettings(beam_size=4, n_best=4))
    tokenizer, checked = translator.tokenizers.target, 0
    for translation in translator.translations(ENGLISH):
        for each in translation.hypotheses:
            if tokenizer.encode_ids(tidy(each.text)) != each.parts[0].hypothesis.tokens:
                continue  # search spelled it with other pieces
            checked += 1
            forced = translator.align(translation.source, each.text)
            assert forced.target == each.alignment.target
            assert np.allclose(forced.weights, each.alignment.weights)
            assert np.allclose(forced.eos, each.alignment.eos)
            assert np.isclose(translator.score(translation.source, each.text), each.log_probability)
    assert checked >= len(ENGLISH)


def test_a_trained_model_translates_what_it_learnt(trained: Translator) -> None:
    assert trained.translate(ENGLISH) == FRENCH
    assert all(score > -0.5 for score in trained.score(ENGLISH, FRENCH))


# --- validation, and evaluation of a run


def test_validation_measures_and_shows(trained: Translator) -> None:
    pairs = list(zip(ENGLISH, FRENCH, strict=True))
    encode = trained.tokenizers.source.encode_ids
    batches = [make_batch([(encode(source), encode(target))]) for source, target in pairs]
    validate = Validator(trained.model, trained.tokenizers, batches, pairs, SearchSettings(beam_size=1))
    validation = validate()
    assert validation == validate()
    num_tokens = sum(batch.num_target_tokens for batch in batches)
    loss = -sum(trained.score(ENGLISH, FRENCH)) / num_tokens
    assert np.isclose(validation.metrics["loss"], loss)
    assert np.isclose(validation.metrics["perplexity"], np.exp(loss))
    assert np.isclose(validation.metrics["bleu"], 100) and np.isclose(validation.metrics["chrf"], 100)
    assert [sample.source for sample in validation.samples] == [ENGLISH[0], ENGLISH[1], ENGLISH[3]]
    assert all(sample.reference == sample.hypothesis for sample in validation.samples)


def test_a_run_is_evaluated_on_files(trained: Translator, tmp_path: Path) -> None:
    files = {
        "source": ENGLISH,
        "target": FRENCH,
        "tags": ["pronoun", "negation article", "question", "question", "negation"],
        "links": ["0-0 1-2 2-1 3-3", "", "0?0", "", ""],
    }
    for name, lines in files.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    data = {
        "test": {name: str(tmp_path / name) for name in files},
        "protocol": "multi30k",
        "target_language": "fr",
    }
    result = evaluate_run(trained, data, "test", tmp_path / "evaluation")
    assert (tmp_path / "evaluation" / "test.hyp").read_text() == (tmp_path / "target").read_text()
    assert json.loads((tmp_path / "evaluation" / "test.json").read_text()) == result.to_json()
    assert np.isclose(result.scores.bleu.value, 100) and result.scores.multi30k is not None
    assert set(result.scores.constructions or {}) == {"pronoun", "negation", "article", "question"}
    gold = [parse_links(line) for line in files["links"]]
    links = [sure_links(alignment.links) for alignment in trained.align(ENGLISH, FRENCH)]
    assert result.alignment == alignment_error_rate(links, gold)
    assert result.alignment is not None and result.alignment.text() in result.text()


def test_gold_links_turn_round_with_the_corpus(trained: Translator, tmp_path: Path) -> None:
    for name, text in {"source": "Je t'aime.", "target": "I love you.", "links": "0-0 1-2 2-1 3-3"}.items():
        (tmp_path / name).write_text(text + "\n")
    data = {"test": {name: str(tmp_path / name) for name in ("source", "target", "links")}, "reverse": True}
    result = evaluate_run(trained, data, "test")
    links = [sure_links(trained.align("I love you.", "Je t'aime.").links)]
    assert result.alignment == alignment_error_rate(links, [parse_links("0-0 2-1 1-2 3-3")])


def test_aligning_without_a_target_aligns_the_translation(translator: Translator) -> None:
    found = translator.align("I love you.")
    assert found.target == [word.text for word in split_words(translator.translate("I love you."))]
    mixed = list(translator.align_pairs([("I love you.", None), ("I love you.", "Je t'aime."), ("", None)]))
    assert np.allclose(mixed[0].weights, found.weights)
    assert np.allclose(mixed[1].weights, translator.align("I love you.", "Je t'aime.").weights)
    assert mixed[1].target == ["Je", "t'", "aime", "."]
    assert mixed[2].weights.shape == (0, 0)


@pytest.mark.parametrize(
    ("source", "target"), [("", ""), ("I love you.", ""), ("", "Je t'aime."), (" ", "\t")]
)
def test_a_blank_side_has_an_alignment_without_links(
    translator: Translator, source: str, target: str
) -> None:
    alignment = translator.align(source, target)
    assert alignment.weights.shape == (len(split_words(target)), len(split_words(source)))
    assert alignment.links == []


def test_words_can_be_those_of_tokenised_text(translator: Translator) -> None:
    source, target = "I do n't love-you .", "Je t' aime 3 % ."
    alignment = translator.align(source, target, words="whitespace")
    assert (alignment.source, alignment.target) == (source.split(), target.split())
    assert np.allclose(alignment.weights.sum(axis=1), 1)


def test_lists_align_and_score_like_their_members(translator: Translator) -> None:
    together = translator.align(ENGLISH, FRENCH)
    for source, target, found in zip(ENGLISH, FRENCH, together, strict=True):
        assert np.allclose(found.weights, translator.align(source, target).weights)
    assert np.allclose(translator.score(ENGLISH, FRENCH), list(map(translator.score, ENGLISH, FRENCH)))
    with pytest.raises(NMTError, match="5 sources and 4 targets: give one target for each source"):
        translator.align(ENGLISH, FRENCH[:4])


def test_scores_by_piece(translator: Translator) -> None:
    (forced,) = translator.score_pairs([("I love you.", "Je t'aime.")])
    assert len(forced.token_log_probabilities) == len(forced.pieces) + 1
    assert np.isclose(sum(forced.token_log_probabilities), forced.log_probability)


# --- streaming


def test_answers_come_before_the_input_ends(translator: Translator) -> None:
    answered = threading.Event()

    def lines() -> Iterator[str]:
        yield ENGLISH[0]
        assert answered.wait(30), "the first line is answered before the second is there"
        yield ENGLISH[1]

    found = translator.translations(lines())
    first = next(found)
    answered.set()
    assert [first.source, *(each.source for each in found)] == ENGLISH[:2]


def test_what_the_input_raises_comes_after_the_lines_before_it(translator: Translator) -> None:
    def lines() -> Iterator[str]:
        yield from ENGLISH
        raise NMTError("stdin, line 6: not UTF-8")

    found = translator.translations(lines())
    assert [next(found).source for _ in ENGLISH] == ENGLISH
    with pytest.raises(NMTError, match="line 6"):
        next(found)


@pytest.mark.parametrize("count", [0, 1, 64, 65, 5000])
def test_reading_ahead_keeps_the_order_and_the_windows(count: int) -> None:
    listed, streamed = list(read_ahead(list(range(count)))), list(read_ahead(iter(range(count))))
    assert listed == streamed
    assert [item for window in listed for item in window] == list(range(count))
    assert [len(window) for window in listed[:3]] == [size for size in (64, 128, 256)][
        : len(listed)
    ] or count < 448


def test_reading_ahead_is_bounded_and_stops_with_its_reader() -> None:
    given_out = 0

    def endless() -> Iterator[int]:
        nonlocal given_out
        for number in itertools.count():
            given_out = number
            yield number

    windows = read_ahead(endless())
    assert next(windows) == list(range(64))
    windows.close()  # type: ignore[attr-defined]
    assert given_out <= 64 + 1024 + 1
    assert not [
        thread
        for thread in threading.enumerate()
        if thread.name.startswith("read-ahead") and not thread.daemon
    ]


def test_nmt_hands_on_the_translator_lazily() -> None:
    import subprocess
    import sys

    code = (
        "import sys, nmt; assert 'torch' not in sys.modules; print(nmt.__version__, nmt.Translator.__name__)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.endswith("Translator\n")
