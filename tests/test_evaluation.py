"""Scores are sacreBLEU's and say how they were computed; text not ready for scoring gets a warning."""

import json

import pytest
import sacrebleu

from nmt.errors import NMTError
from nmt.evaluation import hypothesis_warnings, score
from nmt.evaluation.scores import _multi30k_preparation, multi30k_bleu

HYPOTHESES = ["Je t'aime.", "Il mange une pomme rouge.", "Où est la gare ?", ""]
REFERENCES = ["Je t'aime.", "Il mange la pomme rouge.", "Où est la gare ?", "Bonjour."]
OTHERS = ["Je t'adore.", "Il mange une pomme.", None, "Salut !"]


@pytest.mark.parametrize("references", [[REFERENCES], [REFERENCES, OTHERS]])
def test_scores_and_signatures_are_sacrebleus(references: list) -> None:
    scores = score(HYPOTHESES, references)
    for found, metric in ((scores.bleu, sacrebleu.BLEU()), (scores.chrf, sacrebleu.CHRF())):
        assert found.value == metric.corpus_score(HYPOTHESES, references).score
        assert found.signature == str(metric.get_signature())
        assert found.signature in scores.text()
    assert f"version:{sacrebleu.__version__}" in scores.bleu.signature
    assert scores.num_sentences == 4


def test_the_text_of_scores() -> None:
    version = sacrebleu.__version__
    assert score(REFERENCES, [REFERENCES]).text() == (
        f"BLEU  100.00  nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{version}\n"
        f"chrF  100.00  nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:{version}\n"
        "over 4 sentences\n"
    )


def test_scores_by_construction_are_scores_of_their_sentences() -> None:
    names = [["pronoun"], ["adjective", "article"], ["question"], ["adjective", "adjective"]]
    scores = score(HYPOTHESES, [REFERENCES, OTHERS], constructions=names)
    assert scores.constructions is not None
    assert list(scores.constructions) == ["adjective", "article", "pronoun", "question"]
    kept = [[side[1], side[3]] for side in (HYPOTHESES, REFERENCES, OTHERS)]
    assert scores.constructions["adjective"][:3] == score(kept[0], kept[1:])[:3]
    # a set of references without one for any of these sentences is left out
    assert scores.constructions["question"][:3] == score(HYPOTHESES[2:3], [REFERENCES[2:3]])[:3]
    table = scores.text().split("\n\n")[1].splitlines()
    assert [line.split()[:2] for line in table[1:]][0] == ["adjective", "2"]


def test_json_holds_every_score_with_its_signature() -> None:
    scores = score(HYPOTHESES, [REFERENCES], [["a"], ["b"], ["a"], []], multi30k_language="fr")
    found = json.loads(json.dumps(scores.to_json()))
    assert list(found) == ["bleu", "chrf", "sentences", "bleu_multi30k_protocol", "constructions"]
    parts = [found, *found["constructions"].values()]
    assert all(set(part[name]) == {"score", "signature"} for part in parts for name in ("bleu", "chrf"))
    assert found["constructions"]["a"]["sentences"] == 2
    assert found["bleu_multi30k_protocol"]["signature"].startswith("nrefs:1|case:mixed|eff:no|tok:none|")


def test_multi30ks_protocol_lower_cases_normalises_and_tokenises() -> None:
    moses = ["je t &apos;aime . &quot; oui &quot;"]
    expected = sacrebleu.BLEU(tokenize="none", force=True).corpus_score(
        moses, [["je t &apos;aime . &quot; non &quot;"]]
    )
    assert multi30k_bleu(["Je t’aime. «Oui»"], [['JE T\'AIME. "NON"']], "fr").value == expected.score


def test_multi30ks_protocol_without_sacremoses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sacremoses", None)
    _multi30k_preparation.cache_clear()
    with pytest.raises(
        NMTError, match="needs the package sacremoses, which is not installed: pip install sacremoses"
    ):
        multi30k_bleu(["a"], [["a"]], "fr")


@pytest.mark.parametrize(
    ("hypotheses", "references", "message"),
    [
        ([], [[]], "there are no hypotheses to score: the file is empty"),
        (["a"], [], "there are no references to score against: give at least one set"),
        (
            ["a"],
            [["a", "b"]],
            "there are 1 hypotheses, but the references has 2 lines: give one line for each ",
        ),
        (
            ["a", "b"],
            [["a", "b"], ["a"]],
            "there are 2 hypotheses, but reference set 2 has 1 lines: give one line",
        ),
    ],
)
def test_files_that_do_not_match(hypotheses: list[str], references: list[list[str]], message: str) -> None:
    with pytest.raises(NMTError) as error:
        score(hypotheses, references)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("line", "symptom", "remedy"),
    [
        ("le ch@@ at", "'@@'", "sed"),
        ("le ch@@", "'@@'", "sed"),
        ("▁le ▁chat", "'▁'", "spm_decode"),
        ("le ⁇", "'⁇'", "byte fallback"),
        ("le <unk> dort", "'<unk>'", "aligned source"),
        ("l &apos;été", "'&apos;'", "detokenise"),
        ("Le chat dort .", "'word .'", "detokenise"),
        ("Le chat , lui", "'word .'", "detokenise"),
        ("I ' m here", "'word .'", "detokenise"),
    ],
)
def test_signs_of_unfinished_text(line: str, symptom: str, remedy: str) -> None:
    (warning,) = hypothesis_warnings(["Une phrase.", line])
    assert symptom in warning and remedy in warning
    assert "1 of 2 lines, first line 2" in warning and "\n" not in warning


def test_finished_text_has_no_warning() -> None:
    lines = [
        "Où est-il ?",
        "« Oui ! »",
        "Il a dit : non ; puis...",
        "me@example.org",
        "3,5 % de 1 000",
        "l'été",
        "R&D",
    ]
    assert hypothesis_warnings(lines) == []
    assert hypothesis_warnings([]) == []
    # once in a hundred lines is somebody's style
    assert hypothesis_warnings(["Une phrase."] * 99 + ["Le chat ."]) == []


def test_real_references_have_no_warning(shared_data) -> None:
    for name in ("multi30k/test_2016_flickr.fr", "newstest/newstest2014.fr", "tatoeba/test.fr"):
        assert hypothesis_warnings((shared_data / name).read_text("utf-8").split("\n")[:-1]) == []
