"""Noun phrases, prepositional phrases, dates and times, drawn at random from the lexicon."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

from corpus.lexicon import Adjective, Lexicon, Noun
from corpus.tokens import Pair, Token, Tokens, english, french


@dataclass
class Address:
    """Whom `you` means: tu without a cue in the sentence, otherwise what the cue says."""

    person: int = 1  # 1 tu, 4 vous
    feminine: bool = False
    plural: bool = False


@dataclass
class Context:
    """What one sentence shares while it is drawn: chance, the lexicon, `you`, and what it has used so far."""

    rng: random.Random
    lexicon: Lexicon
    address: Address = field(default_factory=Address)
    tags: set[str] = field(default_factory=set)
    combinations: set[tuple[str, str]] = field(default_factory=set)
    final: str = "."
    inner: Callable[[Context], Pair] | None = None  # draws a whole sentence to stand inside another one

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def choose(self, weighted: Mapping[str, float]) -> str:
        """One of the keys, as often as its weight says."""
        remaining = self.rng.random() * sum(weighted.values())
        for key, weight in weighted.items():
            remaining -= weight
            if remaining < 0:
                return key
        return key


@dataclass
class NounPhrase:
    """A noun phrase in both languages with the features that verbs, participles and pronouns agree with."""

    en: Tokens
    fr: Tokens
    person: int = 2  # je, tu, il, nous, vous, ils = 0 .. 5
    feminine: bool = False
    plural: bool = False
    kind: str = "noun"  # noun, name, pronoun
    key: str = ""  # of a pronoun: i, you, he, she, it, we, they; else the English noun
    classes: frozenset[str] = frozenset()

    @property
    def third(self) -> bool:
        """Whether English verbs take -s after it."""
        return self.person == 2


#        English subject, object, possessive; French subject, direct, indirect, stressed, possessor (1 .. 6)
PRONOUNS = {
    "i": ("I", "me", "my", "je", "me", "me", "moi", 0),
    "you": ("you", "you", "your", "tu", "te", "te", "toi", 1),
    "he": ("he", "him", "his", "il", "le", "lui", "lui", 2),
    "she": ("she", "her", "her", "elle", "la", "lui", "elle", 2),
    "it": ("it", "it", "its", "il", "le", "lui", "lui", 2),
    "we": ("we", "us", "our", "nous", "nous", "nous", "nous", 3),
    "they": ("they", "them", "their", "ils", "les", "leur", "eux", 5),
}
POSSESSIVES = [
    ("mon", "ma", "mes"),
    ("ton", "ta", "tes"),
    ("son", "sa", "ses"),
    ("notre", "notre", "nos"),
    ("votre", "votre", "vos"),
    ("leur", "leur", "leurs"),
]
PERSONAL = ["i", "you", "he", "she", "we", "they"]
CLASHES = {("i", "we"), ("we", "i")}  # subject and object that overlap


def pronoun(ctx: Context, key: str, feminine: bool | None = None) -> NounPhrase:
    """A subject pronoun; `feminine` is the gender of the antecedent of it and they."""
    subject, _, _, form, *_, person = PRONOUNS[key]
    gender = key == "she" if feminine is None else feminine
    plural = key in ("we", "they")
    if key == "you":
        person, gender, plural = ctx.address.person, ctx.address.feminine, ctx.address.plural
        form = "vous" if person == 4 else "tu"
    if gender and key in ("it", "they"):
        form = {"it": "elle", "they": "elles"}[key]
    token = Token(subject)
    return NounPhrase([token], [Token(form, [token])], person, gender, plural, "pronoun", key)


def pronoun_for(ctx: Context, phrase: NounPhrase) -> NounPhrase:
    """The pronoun that takes up a noun phrase."""
    if phrase.kind == "pronoun":
        return pronoun(ctx, phrase.key, phrase.feminine)
    if phrase.plural:
        return pronoun(ctx, "they", phrase.feminine)
    if phrase.kind == "name" or "person" in phrase.classes:
        return pronoun(ctx, "she" if phrase.feminine else "he")
    return pronoun(ctx, "it", phrase.feminine)


def clitic(ctx: Context, phrase: NounPhrase, indirect: bool) -> tuple[Token, Token]:
    """The English object pronoun and its French clitic."""
    row = PRONOUNS[phrase.key]
    form = row[5] if indirect else row[4]
    if phrase.key == "you" and ctx.address.person == 4:
        form = "vous"
    if phrase.key == "it" and phrase.feminine and not indirect:
        form = "la"
    source = Token(row[1])
    ctx.tags.add("object_pronoun")
    return source, Token(form, [source])


def stressed(ctx: Context, phrase: NounPhrase) -> Pair:
    """A pronoun after a preposition: with me, avec moi."""
    row = PRONOUNS[phrase.key]
    form = row[6]
    if phrase.key == "you" and ctx.address.person == 4:
        form = "vous"
    if phrase.key == "they" and phrase.feminine:
        form = "elles"
    source = Token(row[1])
    return Pair([source], [Token(form, [source])])


def name(ctx: Context) -> NounPhrase:
    """A first name."""
    text, feminine = ctx.rng.choice(ctx.lexicon.names)
    token = Token(text)
    return NounPhrase([token], [Token(text, [token])], 2, feminine, False, "name", text)


# ---------------------------------------------------------------- nouns with determiner and adjectives


@cache
def fitting_adjectives(lexicon: Lexicon, noun: Noun, positions: str) -> list[Adjective]:
    """The adjectives that make sense with a noun and stand in one of the positions."""
    found = [a for a in lexicon.adjectives if a.position in positions and a.classes & noun.classes]
    if "person" in noun.classes and noun.classes & {"baby", "child", "boy", "girl"}:
        found = [a for a in found if a.english not in ("old", "young", "serious", "rich", "poor", "busy")]
    if "family" in noun.classes:
        found = [a for a in found if a.position != "b"]
    return found


# English singular, English plural, French masculine, feminine, plural; `bare` nouns have no English word.
DETERMINERS = {
    "the": ("the", "the", "le", "la", "les"),
    "a": ("a", "", "un", "une", "des"),
    "this": ("this", "these", "ce", "cette", "ces"),
    "that": ("that", "those", "ce", "cette", "ces"),
    "another": ("another", "", "un autre", "une autre", ""),
    "other": ("the other", "the other", "le autre", "la autre", "les autres"),
    "every": ("every", "", "chaque", "chaque", ""),
    "several": ("", "several", "", "", "plusieurs"),
    "few": ("", "a few", "", "", "quelques"),
    "all": ("", "all the", "", "", "tous les"),
}
QUANTITIES = {
    "many": ("a lot of", "many", "beaucoup"),
    "too": ("too much", "too many", "trop"),
    "enough": ("enough", "enough", "assez"),
}


def _indefinite_article(following: str) -> str:
    return "an" if following[0] in "aeio" or following in ("umbrella", "uncle") else "a"


class NounPhraseBuilder:
    """Puts determiner, adjectives and noun together in both languages."""

    def __init__(self, ctx: Context, noun: Noun, plural: bool):
        self.ctx, self.noun, self.plural = ctx, noun, plural
        self.feminine = noun.feminine
        self.before: list[Adjective] = []
        self.after: list[Adjective] = []

    def add_adjective(self, positions: str = "ba") -> None:
        fitting = fitting_adjectives(self.ctx.lexicon, self.noun, positions)
        if not fitting:
            return
        adjective = self.ctx.rng.choice(fitting)
        if adjective.position == "b":
            self.before.append(adjective)
        else:
            self.after.append(adjective)
        self.ctx.tags.add("adjective_before" if adjective.position == "b" else "adjective_after")
        self.ctx.combinations.add((adjective.english, self.noun.singular))

    def _core(self) -> tuple[Tokens, Tokens]:
        """Adjectives and noun, without determiner."""
        noun_word = Token(self.noun.plural if self.plural else self.noun.singular)
        en: Tokens = []
        fr_before: Tokens = []
        fr_after: Tokens = []
        for adjective in self.before + self.after:
            source = Token(adjective.english)
            en.append(source)
            target = fr_before if adjective in self.before else fr_after
            target += french(adjective.form(self.feminine, self.plural), [source])
        if (self.before or self.after) and (self.feminine or self.plural):
            self.ctx.tags.add("agreement")
        words = (self.noun.french_many if self.plural else self.noun.french).split()
        head = [Token(words[0], [noun_word])] + [Token(word, [], [noun_word]) for word in words[1:]]
        return [*en, noun_word], fr_before + head + fr_after

    def build(self, determiner: str, owner: NounPhrase | None = None) -> NounPhrase:
        """The phrase; a determiner is one of the tables or has a method of its name here."""
        en, fr = self._core()
        make = getattr(self, f"_{determiner}", None)
        if determiner in DETERMINERS:
            source, target = self._simple(determiner, en, fr)
        elif determiner in QUANTITIES:
            source, target = self._quantity(determiner)
        else:
            assert make is not None, determiner
            source, target = make(owner, en, fr)
        person = 5 if self.plural else 2
        noun = self.noun
        return NounPhrase(
            source + en,
            target + fr,
            person,
            self.feminine,
            self.plural,
            "noun",
            noun.singular,
            noun.classes,
        )

    def _simple(self, determiner: str, en: Tokens, fr: Tokens) -> tuple[Tokens, Tokens]:
        one, many, masculine, feminine, plural = DETERMINERS[determiner]
        source = english(many if self.plural else one)
        if determiner == "a":
            source = [Token(_indefinite_article(en[0].text))]
        form = plural if self.plural else feminine if self.feminine else masculine
        if determiner == "all" and self.feminine:
            form = "toutes les"
        target = self._link(form, source)
        if form == "le autre":  # l'autre, not an article that contracts
            target[0].article = False
        return source, target

    @staticmethod
    def _link(form: str, source: Tokens) -> Tokens:
        words = form.split()
        if len(words) == len(source):
            target = [Token(word, [token]) for word, token in zip(words, source, strict=True)]
        else:
            target = french(form, source[-1:], source[:-1])
        for token in target:
            token.article = token.text in ("le", "la", "les")
        return target

    def _quantity(self, key: str) -> tuple[Tokens, Tokens]:
        much, many, form = QUANTITIES[key]
        source = english(many if self.plural else much)
        strong = source[1:2] if source[0].text == "a" else source[:1]
        rest = [token for token in source if token not in strong]
        self.ctx.tags.add("quantity")
        return source, [Token(form, strong, rest), Token("de", [], source)]

    def _some(
        self, owner: NounPhrase | None, en: Tokens, fr: Tokens, word: str = "some"
    ) -> tuple[Tokens, Tokens]:
        """du, de la, des; de before an adjective in the plural (de belles fleurs)."""
        self.ctx.tags.add("partitive")
        source = [Token(word)] if word else []
        links = source or en[-1:]
        sure = source
        if self.plural:
            return source, [Token("de" if self.before else "des", sure, [] if sure else links)]
        article = Token("la" if self.feminine else "le", [], list(links), article=True)
        return source, [Token("de", sure, [] if sure else list(links)), article]

    def _any(self, owner: NounPhrase | None, en: Tokens, fr: Tokens) -> tuple[Tokens, Tokens]:
        return self._some(owner, en, fr, "any")

    def _bare(self, owner: NounPhrase | None, en: Tokens, fr: Tokens) -> tuple[Tokens, Tokens]:
        return self._some(owner, en, fr, "")

    def _none(self, owner: NounPhrase | None, en: Tokens, fr: Tokens) -> tuple[Tokens, Tokens]:
        """After a negation: not … a / any → pas de."""
        countable = not self.plural and self.noun.countable
        source = [Token(_indefinite_article(en[0].text) if countable else "any")]
        self.ctx.tags.add("negation_de")
        return source, [Token("de", source)]

    def _generic(self, owner: NounPhrase | None, en: Tokens, fr: Tokens) -> tuple[Tokens, Tokens]:
        """I like cheese: j'aime le fromage."""
        form = "les" if self.plural else "la" if self.feminine else "le"
        return [], [Token(form, [], en[-1:], article=True)]

    def _mine(self, owner: NounPhrase | None, en: Tokens, fr: Tokens) -> tuple[Tokens, Tokens]:
        """my, your … of the pronoun `owner`."""
        assert owner is not None
        row = PRONOUNS[owner.key]
        person = self.ctx.address.person if owner.key == "you" else row[7]
        form = POSSESSIVES[person][2 if self.plural else 1 if self.feminine else 0]
        source = Token(row[2])
        self.ctx.tags.add("possessive")
        return [source], [Token(form, [source])]

    def _owned(self, owner: NounPhrase | None, en: Tokens, fr: Tokens) -> tuple[Tokens, Tokens]:
        """Paul's book: le livre de Paul."""
        assert owner is not None
        mark = Token("'s")
        form = "les" if self.plural else "la" if self.feminine else "le"
        article = Token(form, [], [mark, en[-1]], article=True)
        fr += [Token("de", [mark]), *owner.fr]
        self.ctx.tags.add("genitive")
        return [*owner.en, mark], [article]

    def _zero(self, owner: NounPhrase | None, en: Tokens, fr: Tokens) -> tuple[Tokens, Tokens]:
        """avoir besoin d'argent: no article at all."""
        return [], []

    def _number(self, owner: NounPhrase | None, en: Tokens, fr: Tokens) -> tuple[Tokens, Tokens]:
        text, form, _ = self.ctx.rng.choice(self.ctx.lexicon.numbers[:13])
        source = Token(text)
        self.ctx.tags.add("number")
        return [source], [Token(form, [source])]


PLURAL_ONLY = {"several", "few", "all", "number"}
SINGULAR_ONLY = {"a", "another", "every"}


def noun_phrase(
    ctx: Context,
    classes: frozenset[str] | set[str],
    determiners: Mapping[str, float],
    adjective: float = 0.15,
    noun: Noun | None = None,
    plural: bool | None = None,
    owner: NounPhrase | None = None,
) -> NounPhrase:
    """A random noun phrase with a noun of one of the classes; impossible determiners become `the`."""
    noun = noun or ctx.rng.choice(ctx.lexicon.nouns_of(classes))
    determiner = ctx.choose(determiners)
    determiner = _possible_determiner(determiner, noun)
    if plural is None:
        plural = _number_of(ctx, noun, determiner)
    if (
        determiner in ("some", "bare", "any", "none")
        and noun.countable
        and not plural
        and determiner != "none"
    ):
        determiner = "a"
    builder = NounPhraseBuilder(ctx, noun, plural)
    if determiner not in ("many", "too", "enough", "number") and ctx.chance(adjective):
        favourite = determiner == "mine" and ctx.chance(0.3)
        builder.add_adjective("f" if favourite and fitting_adjectives(ctx.lexicon, noun, "f") else "ba")
        if builder.before and ctx.chance(0.15):
            builder.add_adjective("a")
    if determiner == "mine" and owner is None:
        married = {"husband": ["i", "you", "she"], "wife": ["i", "you", "he"]}
        owner = pronoun(ctx, ctx.rng.choice(married.get(noun.singular, PERSONAL)))
    if determiner == "owned" and owner is None:
        owner = name(ctx)
    return builder.build(determiner, owner)


def _possible_determiner(determiner: str, noun: Noun) -> str:
    if "one" in noun.classes or "pl" in noun.classes:
        return determiner if determiner in ("the", "mine", "owned") and "person" not in noun.classes else (
            "mine" if "kin" in noun.classes else "the"
        )  # fmt: skip
    if "mass" in noun.classes:
        return "some" if determiner in PLURAL_ONLY | SINGULAR_ONLY | {"other"} else determiner
    if determiner in ("mine", "owned") and "person" in noun.classes and "kin" not in noun.classes:
        return "the"
    return determiner


def _number_of(ctx: Context, noun: Noun, determiner: str) -> bool:
    if "pl" in noun.classes:
        return True
    if not noun.countable or determiner in SINGULAR_ONLY:
        return False
    if determiner in {*PLURAL_ONLY, *QUANTITIES, "some", "bare", "any", "generic", "zero"}:
        return True
    if determiner == "none":
        return ctx.chance(0.4)
    return ctx.chance(0.25)


def human(ctx: Context, plural: bool | None = None) -> NounPhrase:
    """A noun phrase for a person."""
    dets = {
        "the": 5,
        "mine": 4,
        "this": 0.6,
        "that": 0.4,
        "owned": 0.5,
        "number": 0.0 if plural is False else 0.3,
    }
    noun = ctx.rng.choice(ctx.lexicon.nouns_of({"person"}))
    if "family" in noun.classes:
        dets = {"mine": 6, "owned": 1, "the": 0.4}
    if plural and not noun.countable:
        plural = False
    return noun_phrase(ctx, {"person"}, dets, 0.12, noun, plural)


# ---------------------------------------------------------------- prepositional phrases


def preposition(source: str, target: str, phrase: Pair) -> Pair:
    """A preposition of one or more words before a phrase; the first words translate each other."""
    en = english(source)
    fr = [Token(word) for word in target.split()]
    fr[0].sure = [en[0]]
    fr[0].possible = en[1:]
    for token in fr[1:]:
        token.possible = list(en)
    return Pair(en + phrase.en, fr + phrase.fr)


def pair(phrase: NounPhrase) -> Pair:
    return Pair(phrase.en, phrase.fr)


def _the(ctx: Context, noun: Noun) -> Pair:
    return pair(
        noun_phrase(ctx, set(), {"the": 4, "mine": 1 if "home" in noun.classes else 0}, 0.05, noun, False)
    )


def indoors(ctx: Context) -> Pair:
    """Where things are kept: in the kitchen, in the bag, at home."""
    if ctx.chance(0.15):
        return Pair(*_fixed("at home", "à la maison"))
    noun = ctx.rng.choice(ctx.lexicon.nouns_of({"room", "home", "container"}))
    if ctx.chance(0.35):
        surface = ctx.rng.choice(ctx.lexicon.nouns_of({"table"} if ctx.chance(0.6) else {"furniture"}))
        return preposition(*ctx.rng.choice([("on", "sur"), ("under", "sous")]), _the(ctx, surface))
    return preposition("in", "dans", _the(ctx, noun))


def location(ctx: Context) -> Pair:
    """Where something happens."""
    kind = ctx.choose({"in": 4, "at": 3, "near": 1.5, "city": 2, "country": 1.5, "home": 1, "school": 1})
    if kind in ("city", "country"):
        return geography(ctx, "in", kind)
    if kind == "home":
        return Pair(*_fixed("at home", "à la maison"))
    if kind == "school":
        return _school("at")
    if kind == "near":
        noun = ctx.rng.choice(ctx.lexicon.nouns_of({"place", "crossable", "lake"}))
        forms = [
            ("near", "près de"),
            ("in front of", "devant"),
            ("behind", "derrière"),
            ("next to", "à côté de"),
        ]
        return preposition(*ctx.rng.choice(forms), _the(ctx, noun))
    noun = ctx.rng.choice(
        [n for n in ctx.lexicon.nouns_of({kind}) if n.classes & {"place", "room", "outdoor"}]
    )
    if noun.singular == "school":
        return _school("at")
    return preposition(kind, "dans" if kind == "in" else "à", _the(ctx, noun))


def destination(ctx: Context) -> Pair:
    """Where someone goes."""
    kind = ctx.choose({"place": 6, "city": 2, "country": 2, "school": 1})
    if kind in ("city", "country"):
        return geography(ctx, "to", kind)
    if kind == "school":
        return _school("to")
    noun = ctx.rng.choice([n for n in ctx.lexicon.nouns_of({"at"}) if n.singular != "school"])
    return preposition("to", "à", _the(ctx, noun))


def origin(ctx: Context) -> Pair:
    """Where someone comes from."""
    if ctx.chance(0.5):
        noun = ctx.rng.choice([n for n in ctx.lexicon.nouns_of({"at"}) if n.singular != "school"])
        return preposition("from", "de", _the(ctx, noun))
    english_name, french_name, kind = ctx.rng.choice(ctx.lexicon.places)
    token = Token(english_name)
    place = [Token(french_name, [token])]
    if kind == "m":
        place.insert(0, Token("le", [], [token], article=True))
    return preposition("from", "de", Pair([token], place))


def _school(word: str) -> Pair:
    source = english(f"{word} school")
    article = Token("la", [], [source[1]], article=True)
    return Pair(source, [Token("à", [source[0]]), article, Token("école", [source[1]])])


def _fixed(source: str, target: str) -> tuple[Tokens, Tokens]:
    """A set phrase: its last words translate each other, the rest possibly."""
    en = english(source)
    return en, french(target, en[-1:], en[:-1])


def geography(ctx: Context, word: str, kind: str) -> Pair:
    """in Paris, à Paris; to France, en France; in Japan, au Japon."""
    known = [place for place in ctx.lexicon.places if (place[2] == "city") == (kind == "city")]
    english_name, french_name, gender = ctx.rng.choice(known)
    source = english(f"{word} {english_name}")
    target = [Token("en" if gender == "f" else "à", [source[0]]), Token(french_name, [source[1]])]
    if gender == "m":
        target.insert(1, Token("le", [], [source[1]], article=True))
    ctx.tags.add("place_name")
    return Pair(source, target)


def companion(ctx: Context, benefit: bool = False) -> Pair:
    """with me, for my brother."""
    word = ("for", "pour") if benefit and ctx.chance(0.6) else ("with", "avec")
    roll = ctx.rng.random()
    if roll < 0.4:
        other = stressed(ctx, pronoun(ctx, ctx.rng.choice(PERSONAL)))
    elif roll < 0.65:
        other = pair(name(ctx))
    else:
        other = pair(human(ctx))
    return preposition(*word, other)


# ---------------------------------------------------------------- dates and times


@cache
def _calendar_of(lexicon: Lexicon, kind: str) -> list[tuple[str, str, str]]:
    """The days or the months."""
    return [row for row in lexicon.calendar if row[2] == kind]


def weekday(ctx: Context) -> Pair:
    """on Monday, lundi; on Mondays, le lundi."""
    text, form, _ = ctx.rng.choice(_calendar_of(ctx.lexicon, "day"))
    source = english(f"on {text}")
    ctx.tags.add("date")
    return Pair(source, [Token(form, [source[1]], [source[0]])])


def weekdays(ctx: Context) -> Pair:
    """on Mondays, le lundi."""
    text, form, _ = ctx.rng.choice(_calendar_of(ctx.lexicon, "day"))
    source = english(f"on {text}s")
    ctx.tags.add("date")
    return Pair(source, [Token("le", [], list(source)), Token(form, [source[1]])])


def month(ctx: Context) -> Pair:
    """in May, en mai."""
    text, form, _ = ctx.rng.choice(_calendar_of(ctx.lexicon, "month"))
    source = english(f"in {text}")
    ctx.tags.add("date")
    return Pair(source, [Token("en", [source[0]]), Token(form, [source[1]])])


def day_of_month(ctx: Context) -> Pair:
    """May 3, le 3 mai; May 1, le premier mai."""
    text, form, _ = ctx.rng.choice(_calendar_of(ctx.lexicon, "month"))
    day = ctx.rng.randint(1, 30 if text != "February" else 28)
    source = english(f"{text} {day}")
    number = Token("premier" if day == 1 else str(day), [source[1]])
    ctx.tags.add("date")
    return Pair(source, [Token("le", [], list(source)), number, Token(form, [source[0]])])


def on_date(ctx: Context) -> Pair:
    """on May 3, le 3 mai."""
    date = day_of_month(ctx)
    on = Token("on")
    date.fr[0].possible.insert(0, on)
    return Pair([on, *date.en], date.fr)


def clock(ctx: Context) -> Pair:
    """three o'clock, half past three, a quarter to three, noon: trois heures (et demie), midi."""
    ctx.tags.add("time")
    roll = ctx.rng.random()
    if roll < 0.12:
        return Pair(*_fixed(*ctx.rng.choice([("noon", "midi"), ("midnight", "minuit")])))
    numbers = [("one", "une", 1)] + [row for row in ctx.lexicon.numbers if row[2] <= 11]
    text, form, value = ctx.rng.choice(numbers)
    hour = Token(text)
    target = Token(form, [hour])
    unit = "heure" if value == 1 else "heures"
    if roll < 0.5:
        mark = Token("o'clock")
        return Pair([hour, mark], [target, Token(unit, [mark])])
    if roll < 0.72:
        source = english("half past") + [hour]
        return Pair(
            source, [target, Token(unit, [], [source[1], hour]), *french("et demie", source[:1], source[1:2])]
        )
    if roll < 0.86:
        source = english("a quarter past") + [hour]
        tail = french("et quart", source[1:2], [source[0], source[2]])
        return Pair(source, [target, Token(unit, [], [source[2], hour]), *tail])
    source = english("a quarter to") + [hour]
    tail = [Token("moins", [source[2]]), Token("le", [], [source[0]]), Token("quart", [source[1]])]
    return Pair(source, [target, Token(unit, [], [source[2], hour]), *tail])


def at_time(ctx: Context) -> Pair:
    return preposition("at", "à", clock(ctx))


@cache
def _adverbs_of(lexicon: Lexicon, kinds: frozenset[str]) -> list[tuple[str, str, str]]:
    return [row for row in lexicon.adverbs if row[2] in kinds]


def adverb(ctx: Context, kinds: set[str]) -> Pair:
    """An adverb or set adverbial of one of the kinds."""
    text, form, _ = ctx.rng.choice(_adverbs_of(ctx.lexicon, frozenset(kinds)))
    return adverbial(text, form)


def adverbial(text: str, form: str) -> Pair:
    """Link a set adverbial word by word where both have as many words, else by its most telling words."""
    source = english(text)
    words = form.replace("l'", "l' ").split()
    if len(source) == 1 or len(words) == 1:
        return Pair(source, french(form, source[-1:], source[:-1]))
    telling = {"jours": "day", "matins": "morning", "soirs": "evening", "semaines": "week", "ans": "year",
               "nuit": "night", "dernière": "last", "semaine": "week", "mois": "month", "dernier": "last",
               "année": "year", "prochaine": "next", "prochain": "next", "été": "summer", "hier": "yesterday",
               "demain": "tomorrow", "matin": "morning", "soir": "evening", "lundi": "Monday", "ce": "this",
               "en": "in", "hiver": "winter", "printemps": "spring", "automne": "autumn", "moment": "moment",
               "après-midi": "afternoon", "maison": "home", "à": "in" if "in" in text.split() else "at",
               "tous": "every", "toutes": "every"}  # fmt: skip
    by_text = {token.text: token for token in source}
    target = []
    for word in words:
        match = by_text.get(telling.get(word, ""))
        target.append(Token(word, [match] if match else [], [] if match else list(source)))
        target[-1].article = word in ("le", "les")
    return Pair(source, target)
