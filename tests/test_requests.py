"""What may be asked of a translation: how it begins, what it says and does not say, and of which words."""

import pytest
from test_translator import ENGLISH, FRENCH, beside, make_translator, quick, trained

from nmt.data.words import split_words
from nmt.decoding.sampling import SamplingSettings
from nmt.decoding.search import Hypothesis, SearchSettings
from nmt.errors import NMTError
from nmt.translator import Request, Translator
from nmt.translator.mbr import rerank
from nmt.translator.unknown import read_lexicon

__all__ = ["trained"]  # a fixture


@pytest.fixture(scope="module")
def translator() -> Translator:
    return make_translator(search=quick(beam_size=4, n_best=2), max_source_length=60)


def words_of(text: str) -> list[str]:
    return [word.text.casefold() for word in split_words(text)]


@pytest.mark.parametrize("source", ENGLISH)
def test_a_translation_begins_with_its_prefix(translator: Translator, source: str) -> None:
    (translation,) = translator.translations([Request(source, prefix="Nous vois")])
    assert [each.text.startswith("Nous vois") for each in translation.hypotheses] == [True, True]


@pytest.mark.parametrize("type", ["unigram", "char", "word"])
def test_what_no_piece_spells_stays_in_the_prefix(type: str) -> None:
    translator = make_translator(type, search=quick(beam_size=2))
    (translation,) = translator.translations([Request("I love you.", prefix="Je Łódź")])
    assert translation.text.startswith("Je Łódź")


@pytest.mark.parametrize("type", ["unigram", "word"])
@pytest.mark.parametrize("required", [("maison",), ("Je", "l'ancienne"), ("ne vois pas",)])
def test_required_words_are_said(type: str, required: tuple[str, ...]) -> None:
    translator = make_translator(type, search=quick(beam_size=4))
    texts = [each.text for each in translator.translations([Request(s, required=required) for s in ENGLISH])]
    for text in texts:
        for phrase in required:
            wanted, found = words_of(phrase), words_of(text)
            assert any(found[at : at + len(wanted)] == wanted for at in range(len(found))), text


@pytest.mark.parametrize("type", ["unigram", "word"])
def test_forbidden_words_are_not_said(type: str) -> None:
    free = make_translator(type, search=quick(beam_size=4, n_best=4))
    before = next(free.translations([ENGLISH[0]]))
    said = sorted({word for each in before.hypotheses for word in words_of(each.text) if word.isalpha()})
    (after,) = free.translations([Request(ENGLISH[0], forbidden=tuple(said))])
    assert not {word for each in after.hypotheses for word in words_of(each.text)} & set(said)


def test_a_trained_model_finds_another_word(trained: Translator) -> None:
    search = SearchSettings(beam_size=4)
    (translation,) = beside(trained, search=search).translations([Request(ENGLISH[0], forbidden=("aime",))])
    assert "aime" not in translation.text
    assert trained.translate(ENGLISH[0]) == FRENCH[0]


def test_neighbours_do_not_share_their_wishes(translator: Translator) -> None:
    requests = [
        Request(ENGLISH[0], required=("maison",)),
        Request(ENGLISH[0]),
        Request(ENGLISH[0], prefix="Nous"),
        Request(ENGLISH[0], forbidden=("je", "tu")),
    ]
    together = [each.text for each in translator.translations(requests)]
    assert together == [next(translator.translations([request])).text for request in requests]
    assert together[1] == translator.translate(ENGLISH[0])


def test_what_cannot_be_spelled_cannot_be_required(translator: Translator) -> None:
    with pytest.raises(NMTError, match="line 2: required word 'Łódź': this run's vocabulary cannot spell it"):
        list(translator.translations(["I see.", Request("I see.", required=("Łódź",))]))


def test_what_cannot_be_had_is_translated_freely_with_a_warning(
    translator: Translator, caplog: pytest.LogCaptureFixture
) -> None:
    asked = Request(ENGLISH[0], prefix="Je vois", forbidden=("vois",), place="x, line 7")
    (translation,) = translator.translations([asked])
    assert translation.text == translator.translate(ENGLISH[0]) or "vois" not in words_of(translation.text)
    impossible = Request(ENGLISH[0], prefix="Je vois le", forbidden=("vois",), place="x, line 7")
    (translation,) = translator.translations([impossible])
    assert translation.text == translator.translate(ENGLISH[0])
    assert "x, line 7: nothing found that keeps to what was asked: translated freely" in caplog.messages


def test_given_translations_are_scored_among_others(trained: Translator) -> None:
    given = Request(ENGLISH[1], target=FRENCH[1])
    made, scored, blank = trained.translations([ENGLISH[0], given, Request("", target="")])
    assert made.text == FRENCH[0]
    best = scored.hypotheses[0]
    assert (scored.text, best.score) == (FRENCH[1], pytest.approx(trained.score(ENGLISH[1], FRENCH[1])))
    assert [piece for piece, _ in best.tokens][-1] == "</s>"
    assert scored.alignment.target == [word.text for word in split_words(FRENCH[1])]
    assert blank.text == ""


# --- unknown words


@pytest.mark.parametrize(("lexicon", "by"), [({}, "copy"), ({"łódź": "Lodz"}, "lexicon")])
def test_an_unknown_word_is_reported_with_its_weight(lexicon: dict[str, str], by: str) -> None:
    translator = make_translator("word", search=quick(beam_size=1), lexicon=lexicon)
    (translation,) = translator.translations([Request("Łódź", prefix="")])
    replacements = translation.hypotheses[0].replacements
    if not replacements:  # a random model may know better: make it say the unknown word
        translator.model.decoder.projection.bias.data[1] += 100  # type: ignore[union-attr]
        (translation,) = translator.translations(["Łódź"])
        replacements = translation.hypotheses[0].replacements
    assert replacements and {each.by for each in replacements} == {by}
    for each in replacements:
        assert (each.source, each.text) == ("Łódź", lexicon.get("łódź", "Łódź"))
        assert each.weight is not None and 0 < each.weight <= 1
    assert "⁇" not in translation.text and "<unk>" not in translation.text


def test_lexicons(tmp_path) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "lexicon"
    file.write_text("Łódź\tLodz\n\nŁódź\tother\n cat \t chat \n", encoding="utf-8")
    assert read_lexicon(file) == {"Łódź": "Lodz", "cat": "chat"}
    file.write_text("cat\tchat\ndog\n", encoding="utf-8")
    with pytest.raises(NMTError, match="lexicon, line 2: 'dog' is no entry: give WORD TAB TRANSLATION"):
        read_lexicon(file)


# --- minimum Bayes risk


def test_the_sample_most_like_the_others_comes_first() -> None:
    texts = ["le chat dort", "un chien court vite", "le chat dort bien", "le chat dort", "xyz"]
    samples = [Hypothesis([number], 0.0, -1.0, [], None) for number in range(len(texts))]
    found = rerank(samples, texts, 3)
    assert {texts[each.tokens[0]] for each in found[:2]} == {texts[0], texts[2]}
    assert found[0].score > found[1].score > found[2].score and found[0].log_probability == -1.0


def test_mbr_finds_what_a_sure_model_means(trained: Translator) -> None:
    search = SamplingSettings(num_samples=8, n_best=2, mbr=True)
    assert beside(trained, search=search).translate(ENGLISH) == FRENCH


def test_samples_cannot_be_made_to_say_words(translator: Translator) -> None:
    sampling = beside(translator, search=SamplingSettings(max_length_ratio=1, max_length_offset=2))
    with pytest.raises(NMTError, match="samples cannot be made to hold given words: choose search=beam"):
        list(sampling.translations([Request("I see.", required=("maison",))]))
    (translation,) = sampling.translations([Request("I see.", prefix="Nous vois")])
    assert translation.text.startswith("Nous vois")
