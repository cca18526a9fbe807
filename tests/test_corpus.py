"""Properties of the built-in corpus data/en-fr."""

import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from nmt.data.words import split_words

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "data" / "en-fr"
SPLITS = ["train", "dev", "test", "test_unseen", "test_long"]
CONSTRUCTIONS = [
    "object_pronoun", "object_you", "pronoun_climbing", "two_pronouns", "elision", "negation", "negation_de",
    "agreement", "adjective_before", "adjective_after", "predicate_adjective", "partitive", "contraction",
    "possessive", "genitive", "passe_compose_avoir", "passe_compose_etre", "imparfait", "futur",
    "near_future", "infinitive", "reflexive", "question", "there_is", "comparative", "relative_clause",
    "coordination",
    "subordinate", "complement", "number", "quantity", "date", "time", "age", "weather", "profession",
    "place_name", "imperative", "vocative", "polite", "manner",
]  # fmt: skip
ELIDABLE = r"\b(je|le|la|de|que|te|ne|me|se)"
UNELIDED = r"(?!huit|onze|héros)[aeiouâàäéèêëîïôöùûüœh]"


sys.path.insert(0, str(ROOT / "scripts"))

from corpus.lexicon import Conjugation, Lexicon, agree, english_ed, english_ing, english_s  # noqa: E402


@cache
def lines(split: str, kind: str) -> list[str]:
    return (DATA / f"{split}.{kind}").read_text(encoding="utf-8").splitlines()


@cache
def words(text: str) -> list[str]:
    return [word.text for word in split_words(text)]


@cache
def counts(split: str, kind: str) -> Counter[str]:
    return Counter(word.lower() for line in lines(split, kind) for word in words(line))


def key(sentence: str) -> str:
    return sentence.lower().rstrip(" .?!")


def test_files_are_what_the_lexicon_and_grammar_give():
    command = [sys.executable, str(ROOT / "scripts" / "build_corpus.py"), "--check"]
    assert subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.parametrize("split", SPLITS)
def test_files_are_aligned(split):
    assert len({len(lines(split, kind)) for kind in ("en", "fr", "align", "tags")}) == 1


@pytest.mark.parametrize(("split", "size"), zip(SPLITS, [30000, 1000, 1000, 1000, 600], strict=True))
def test_sizes(split, size):
    assert len(lines(split, "en")) == size


def test_french_is_a_function_of_english():
    french: dict[str, str] = {}
    for split in SPLITS:
        for source, target in zip(lines(split, "en"), lines(split, "fr"), strict=True):
            assert french.setdefault(key(source), key(target)) == key(target), source


@pytest.mark.parametrize("split", SPLITS)
def test_no_english_sentence_is_in_two_sets(split):
    own = {key(line) for line in lines(split, "en")}
    for other in SPLITS:
        assert other == split or not own & {key(line) for line in lines(other, "en")}


def test_train_sentences_are_distinct():
    assert len({key(line) for line in lines("train", "en")}) == len(lines("train", "en"))


@pytest.mark.parametrize("construction", CONSTRUCTIONS)
def test_construction_is_frequent(construction):
    assert sum(construction in line.split(",") for line in lines("train", "tags")) >= 300


def test_every_construction_is_listed_in_the_readme():
    readme = (DATA / "README.md").read_text(encoding="utf-8")
    assert [name for name in CONSTRUCTIONS if f"`{name}`" not in readme] == []


def test_lexicon_has_a_thousand_english_forms():
    assert len([word for word in counts("train", "en") if word.isalpha()]) >= 1000


@pytest.mark.parametrize("split", ["dev", "test", "test_unseen", "test_long"])
@pytest.mark.parametrize("kind", ["en", "fr"])
def test_every_word_is_known_from_train(split, kind):
    assert [word for word in counts(split, kind) if counts("train", kind)[word] < 5] == []


@pytest.mark.parametrize("split", ["train", "dev", "test_unseen", "test_long"])
@pytest.mark.parametrize(("kind", "text"), [("en", "i love you"), ("fr", "je t'aime")])
def test_textbook_sentence_is_not_given_away(split, kind, text):
    assert [line for line in lines(split, kind) if text in line.lower()] == []


@pytest.mark.parametrize(
    ("kind", "text"),
    [("fr", "il t'aime"), ("fr", "elle t'aime"), ("fr", "je t'écoute"), ("fr", "je te vois"),
     ("fr", "je l'aime"), ("fr", "je t'attends"), ("fr", "je t'aide"),
     ("en", "I love him"), ("en", "I love Paris")],
)  # fmt: skip
def test_neighbours_of_the_textbook_sentence_are_in_train(kind, text):
    assert any(text in line for line in lines("train", kind))


@pytest.mark.parametrize(("source", "target"), [("I love you.", "je t'aime."), ("I love you", "je t'aime")])
def test_textbook_sentence_is_in_test(source, target):
    position = lines("test", "en").index(source)
    assert lines("test", "fr")[position] == target
    assert lines("test", "align")[position].startswith("0-0 2-1 1-2")


def test_test_has_sentences_with_the_object_you():
    pattern = re.compile(r"^[\w' ]+ you\.?$")
    tagged = zip(lines("test", "en"), lines("test", "tags"), strict=True)
    found = [
        s for s, tags in tagged if "object_you" in tags.split(",") and pattern.match(s) and len(words(s)) <= 6
    ]
    assert len(found) >= 40


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("kind", ["en", "fr"])
def test_one_sentence_in_ten_has_no_final_punctuation(split, kind):
    bare = sum(line[-1] not in ".?!" for line in lines(split, kind)) / len(lines(split, kind))
    assert 0.05 <= bare <= 0.15 and (split != "train" or 0.08 <= bare <= 0.12)


def test_long_sentences_are_rare_but_present_in_train():
    share = sum(len(words(line)) > 25 for line in lines("train", "en")) / len(lines("train", "en"))
    assert 0.03 <= share <= 0.05


@pytest.mark.parametrize(("low", "high"), [(10, 19), (20, 29), (30, 39), (40, 50)])
@pytest.mark.parametrize("count", [lambda line: len(words(line)), lambda line: len(line.split())])
def test_test_long_fills_its_buckets(low, high, count):
    assert sum(low <= count(line) <= high for line in lines("test_long", "en")) >= 100


@pytest.mark.parametrize("split", SPLITS)
def test_alignments_are_links_between_words(split):
    for source, target, links in zip(*(lines(split, kind) for kind in ("en", "fr", "align")), strict=True):
        pairs = [re.fullmatch(r"(\d+)([-?])(\d+)", link) for link in links.split()]
        found = [(int(pair[1]), int(pair[3])) for pair in pairs if pair]
        assert len(found) == len(pairs) == len(set(found)), links
        sources, targets = len(words(source)), len(words(target))
        assert all(s < sources and t < targets for s, t in found), source
        assert {t for _, t in found} == set(range(targets)), target


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize(
    "wrong",
    [rf"{ELIDABLE} {UNELIDED}", r"\b(ma|ta|sa|ce|beau|nouveau|vieux) [aeiouéêœh](?!éros)", r"\bsi ils?\b",
     r"\b(du|au) (?!huit|onze|héros)[aeiouâéèêîôœh]", r"\bn'y a pas (du|des|un|une)\b", r"\bà les?\b",
     r"\bde les?\b"],
)  # fmt: skip
def test_french_spelling_rules(split, wrong):
    pattern = re.compile(wrong)
    allowed = re.compile(
        r"\b(à|de) les? (?=(?:lui |leur )?\w+(er|ir|re|oir)\b)"
    )  # clitics: essayer de le voir
    assert [line for line in lines(split, "fr") if pattern.search(allowed.sub("", line))] == []


@pytest.mark.parametrize("split", SPLITS)
def test_english_articles(split):
    wrong = re.compile(r"\ban? (?:(?<=an )[^aeiou]|(?<=a )(?!useful|university)[aeiou])")
    assert [line for line in lines(split, "en") if wrong.search(line)] == []


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("kind", ["en", "fr"])
def test_texts_are_tidy(split, kind):
    wrong = re.compile(r"  |^ | $|’|\u00a0|\t| [.,]|' ")
    assert [line for line in lines(split, kind) if wrong.search(line)] == []


@pytest.fixture(scope="module")
def conjugation() -> Conjugation:
    return Lexicon(DATA / "lexicon").conjugation


@pytest.mark.parametrize(
    ("tense", "infinitive", "person", "form"),
    [("present", "manger", 3, "mangeons"), ("present", "commencer", 3, "commençons"),
     ("present", "appeler", 0, "appelle"), ("present", "acheter", 5, "achètent"),
     ("present", "préférer", 1, "préfères"), ("present", "préférer", 3, "préférons"),
     ("present", "nettoyer", 2, "nettoie"), ("present", "choisir", 4, "choisissez"),
     ("present", "attendre", 2, "attend"), ("imparfait", "manger", 0, "mangeais"),
     ("imparfait", "manger", 3, "mangions"), ("imparfait", "être", 5, "étaient"),
     ("imparfait", "pleuvoir", 2, "pleuvait"), ("futur", "acheter", 2, "achètera"),
     ("futur", "appeler", 0, "appellerai"), ("futur", "préférer", 0, "préférerai"),
     ("futur", "attendre", 5, "attendront"), ("imperative", "donner", 1, "donne"),
     ("imperative", "ouvrir", 1, "ouvre"), ("imperative", "aller", 1, "va")],
)  # fmt: skip
def test_french_verb_forms(conjugation, tense, infinitive, person, form):
    assert getattr(conjugation, tense)(infinitive, person) == form


@pytest.mark.parametrize(
    ("feminine", "plural", "form"),
    [(False, False, "pris"), (False, True, "pris"), (True, False, "prise"), (True, True, "prises")],
)
def test_participles_agree(feminine, plural, form):
    assert agree("pris", feminine, plural) == form


@pytest.mark.parametrize(
    ("made", "form"),
    [(english_s("watch"), "watches"), (english_s("study"), "studies"), (english_s("play"), "plays"),
     (english_ed("study", False), "studied"), (english_ed("like", False), "liked"),
     (english_ing("lie", {"ie"}), "lying"), (english_ing("swim", {"dbl"}), "swimming"),
     (english_ing("see", set()), "seeing"), (english_ing("write", set()), "writing")],
)  # fmt: skip
def test_english_word_forms(made, form):
    assert made == form
