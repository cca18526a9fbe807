"""The lexicon files as objects, and the regular English and French inflection that they leave out."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of a tab-separated file with a header; lines that start with # are comments."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = (line for line in file if line.strip() and not line.startswith("#"))
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def _after_sibilant(word: str) -> bool:
    return word.endswith(("s", "x", "z", "ch", "sh"))


def english_s(word: str) -> str:
    """The plural of a regular noun, the third person of a regular verb."""
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if _after_sibilant(word) or word in ("go", "do") else "s")


def english_ed(word: str, double: bool) -> str:
    """The past of a regular verb."""
    if word.endswith("e"):
        return word + "d"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ied"
    return word + (word[-1] if double else "") + "ed"


def english_ing(word: str, flags: set[str]) -> str:
    """The -ing form of a verb."""
    if "ie" in flags:
        return word[:-2] + "ying"
    if word.endswith("e") and word not in ("be", "see"):
        return word[:-1] + "ing"
    return word + (word[-1] if "dbl" in flags else "") + "ing"


def french_plural(word: str) -> str:
    """The plural of a noun or adjective."""
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith("al"):
        return word[:-1] + "ux"
    return word + ("x" if word.endswith(("au", "eu")) and word != "bleu" else "s")


def french_feminine(word: str) -> str:
    """The feminine of a regular adjective or participle."""
    for masculine, feminine in (("e", "e"), ("eux", "euse"), ("er", "ère"), ("f", "ve"), ("en", "enne")):
        if word.endswith(masculine):
            return word[: -len(masculine)] + feminine
    return word + "e"


def agree(masculine: str, feminine: bool, plural: bool) -> str:
    """A participle in gender and number."""
    form = french_feminine(masculine) if feminine else masculine
    return french_plural(form) if plural else form


@dataclass(frozen=True)
class Noun:
    """A noun: `classes` say which verbs and adjectives it makes sense with."""

    singular: str
    plural: str
    french: str
    french_many: str
    feminine: bool
    classes: frozenset[str]

    @classmethod
    def of(cls, row: dict[str, str]) -> Noun:
        singular, _, plural = row["english"].partition("/")
        one, _, many = row["french"].partition("/")
        classes = frozenset(row["classes"].split()) | {singular}
        if "pl" in classes:
            many = one
        return cls(
            singular,
            plural or english_s(singular),
            one,
            many or french_plural(one),
            row["gender"] == "f",
            classes,
        )

    @cached_property
    def countable(self) -> bool:
        return not self.classes & {"mass", "one", "pl", "sport"}


@dataclass(frozen=True)
class Adjective:
    """An adjective with its place in French and the noun classes it makes sense with."""

    english: str
    comparative: str  # "" without one; "more" for the analytic one
    masculine: str
    feminine: str
    better: tuple[str, str] | None  # meilleur, meilleure
    position: str
    classes: frozenset[str]

    @classmethod
    def of(cls, row: dict[str, str]) -> Adjective:
        masculine, _, rest = row["french"].partition("/")
        feminine, _, better = row["feminine"].partition("/")
        if feminine == "-":
            feminine = french_feminine(masculine)
        comparative = "" if row["comparative"] == "0" else row["comparative"]
        pair = (rest, better) if better else None
        classes = frozenset(row["classes"].split())
        return cls(row["english"], comparative, masculine, feminine, pair, row["position"], classes)

    def form(self, feminine: bool, plural: bool, compare: bool = False) -> str:
        """The French form that agrees; `en retard` does not."""
        masculine_form, feminine_form = (
            self.better if compare and self.better else (self.masculine, self.feminine)
        )
        word = feminine_form if feminine else masculine_form
        return french_plural(word) if plural and " " not in word else word


@dataclass(frozen=True)
class Verb:
    """One sense of an English verb with its French translation."""

    base: str
    particle: str
    past: str
    participle: str
    french: str  # infinitive without se
    french_particle: str
    reflexive: bool
    frame: str
    subject: frozenset[str]
    object: frozenset[str]
    flags: frozenset[str]

    @classmethod
    def of(cls, row: dict[str, str]) -> Verb:
        base, _, particle = row["english"].partition(" ")
        flags = frozenset(row["flags"].split())
        past, _, participle = row["past"].partition("/")
        if past == "-":
            past = english_ed(base, "dbl" in flags)
        infinitive, _, french_particle = row["french"].removeprefix("se ").removeprefix("s'").partition(" ")
        return cls(
            base,
            particle,
            past,
            participle or past,
            infinitive,
            french_particle,
            row["french"].startswith(("se ", "s'")),
            row["frame"],
            frozenset(row["subject"].split()),
            frozenset(row["object"].split()) - {"-"},
            flags,
        )

    @cached_property
    def third(self) -> str:
        return {"have": "has", "can": "can", "must": "must"}.get(self.base) or english_s(self.base)

    @cached_property
    def ing(self) -> str:
        return english_ing(self.base, set(self.flags))

    @cached_property
    def name(self) -> str:
        return f"{self.base} {self.particle}".strip()


class Conjugation:
    """French verb forms: the irregular ones from the table, the others by rule."""

    ENDINGS = {
        "er": ["e", "es", "e", "ons", "ez", "ent"],
        "ir": ["is", "is", "it", "issons", "issez", "issent"],
        "re": ["s", "s", "", "ons", "ez", "ent"],
    }
    IMPARFAIT = ["ais", "ais", "ait", "ions", "iez", "aient"]
    FUTUR = ["ai", "as", "a", "ons", "ez", "ont"]
    ETRE = {"arriver", "rester", "retourner", "tomber", "rentrer", "entrer"}

    def __init__(self, rows: list[dict[str, str]]):
        self.irregular = {row["infinitive"]: row for row in rows}

    @staticmethod
    def _spell(stem: str, ending: str, infinitive: str) -> str:
        """Join stem and ending of a regular -er verb: nous mangeons, il achète, j'appelle, il nettoie."""
        if ending[0] in "ao":
            stem = stem + "e" if stem.endswith("g") else stem[:-1] + "ç" if stem.endswith("c") else stem
        if ending in ("e", "es", "ent") or ending.startswith("er"):
            if stem.endswith(("oy", "ay")):
                stem = stem[:-1] + "i"
            elif infinitive in ("acheter", "lever"):
                stem = stem[:-2] + "è" + stem[-1]
            elif infinitive == "appeler":
                stem += "l"
            elif ending[:2] != "er":
                for accented in ("ér", "ég"):
                    stem = stem[:-2] + "è" + stem[-1] if stem.endswith(accented) else stem
        return stem

    def present(self, infinitive: str, person: int) -> str:
        if infinitive in self.irregular:
            return self.irregular[infinitive]["present"].split()[person]
        stem, group = infinitive[:-2], infinitive[-2:]
        ending = self.ENDINGS[group][person]
        return (self._spell(stem, ending, infinitive) if group == "er" else stem) + ending

    def imparfait(self, infinitive: str, person: int) -> str:
        stem = "ét" if infinitive == "être" else self.present(infinitive, 3).removesuffix("ons")
        ending = self.IMPARFAIT[person]
        if ending[0] == "i":  # nous mangions, nous commencions
            stem = stem[:-1] if stem.endswith("ge") else stem[:-1] + "c" if stem.endswith("ç") else stem
        return stem + ending

    def futur(self, infinitive: str, person: int) -> str:
        if infinitive in self.irregular:
            stem = self.irregular[infinitive]["future"]
        elif infinitive.endswith("er"):
            stem = self._spell(infinitive[:-2], "er", infinitive) + "er"
        else:
            stem = infinitive.removesuffix("e")
        return stem + self.FUTUR[person]

    def imperative(self, infinitive: str, person: int) -> str:
        """The imperative for tu, nous or vous; -er verbs and ouvrir, offrir, aller lose the s of tu."""
        special = {"être": "sois soyons soyez", "avoir": "aie ayons ayez"}.get(infinitive)
        if special:
            return special.split()[{1: 0, 3: 1, 4: 2}[person]]
        form = self.present(infinitive, person)
        return form[:-1] if person == 1 and form.endswith(("es", "as")) else form

    def participle(self, infinitive: str) -> str:
        if infinitive in self.irregular:
            return self.irregular[infinitive]["participle"]
        return infinitive[:-2] + {"er": "é", "ir": "i", "re": "u"}[infinitive[-2:]]

    def takes_etre(self, infinitive: str) -> bool:
        row = self.irregular.get(infinitive)
        return row["auxiliary"] == "être" if row else infinitive in self.ETRE


class Lexicon:
    """All lexicon files of a folder."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._nouns_of: dict[tuple[frozenset[str], str], list[Noun]] = {}
        self.nouns = [Noun.of(row) for row in self.table("nouns")]
        self.adjectives = [Adjective.of(row) for row in self.table("adjectives")]
        self.verbs = [Verb.of(row) for row in self.table("verbs")]
        self.verbs_of = {verb.frame: [v for v in self.verbs if v.frame == verb.frame] for verb in self.verbs}
        self.conjugation = Conjugation(self.table("french_irregular"))
        self.names = [(row["name"], row["gender"] == "f") for row in self.table("names")]
        self.places = [(row["english"], row["french"], row["kind"]) for row in self.table("places")]
        self.languages = [(row["english"], row["french"]) for row in self.table("languages")]
        self.numbers = [(row["english"], row["french"], int(row["value"])) for row in self.table("numbers")]
        self.calendar = [(row["english"], row["french"], row["kind"]) for row in self.table("calendar")]
        self.adverbs = [(row["english"], row["french"], row["kind"]) for row in self.table("adverbs")]

    def table(self, name: str) -> list[dict[str, str]]:
        return read_table(self.folder / f"{name}.tsv")

    def nouns_of(self, classes: frozenset[str] | set[str], also: str = "") -> list[Noun]:
        """The nouns of any of the classes, in the order of the file; if possible those of `also`, too."""
        key = (frozenset(classes), also)
        if key not in self._nouns_of:
            found = [noun for noun in self.nouns if noun.classes & key[0]]
            self._nouns_of[key] = [noun for noun in found if also in noun.classes] or found
        return self._nouns_of[key]
