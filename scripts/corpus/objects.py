"""Draws the objects of clauses, with determiners that make sense after the verb."""

from __future__ import annotations

from corpus.clauses import Clause
from corpus.lexicon import Noun, Verb
from corpus.options import Options, weights_of
from corpus.phrases import CLASHES, PERSONAL, Context, NounPhrase, human, name, noun_phrase, pronoun
from corpus.tokens import Token

OBJECT_DETERMINERS: dict[str, float] = {
    "the": 5, "a": 3, "mine": 2, "some": 1.4, "this": 0.7, "that": 0.4, "number": 0.5, "many": 0.3,
    "too": 0.1, "enough": 0.1, "several": 0.2, "few": 0.2, "all": 0.2, "another": 0.2, "other": 0.15,
    "every": 0.1, "owned": 0.4,
}  # fmt: skip

FOOD_DETERMINERS: dict[str, float] = {
    "some": 4, "the": 3, "a": 2, "bare": 1, "mine": 0.7, "this": 0.5, "many": 0.5, "too": 0.5, "enough": 0.5,
    "number": 0.5,
}  # fmt: skip

HAVE_DETERMINERS: dict[str, float] = {
    "a": 5,
    "some": 2,
    "number": 1.2,
    "many": 0.8,
    "enough": 0.3,
    "several": 0.4,
    "few": 0.4,
}

GENERIC_DETERMINERS: dict[str, float] = {"generic": 4, "the": 2, "mine": 2, "this": 1}

DE_DETERMINERS: dict[str, float] = {"the": 3, "mine": 2, "owned": 0.3}


def direct_object(ctx: Context, clause: Clause, options: Options, asked: bool) -> NounPhrase | None:
    verb = clause.main
    if verb.frame == "ditr":
        kind = ctx.choose({"noun": 7, "pronoun": 2.5})
        if "obj" in options and options["obj"] == "two":
            kind = "pronoun"
        if kind == "pronoun":
            return pronoun(ctx, ctx.choose({"it": 3, "they": 1}))
        return _object_noun(ctx, verb, options, bool(clause.negation), asked)
    wanted = options.get("obj", "")
    default = {"noun": 6, "pronoun": 0 if "full" in verb.flags else 3, "name": 1.2}
    kind = ctx.choose(weights_of(wanted)) if wanted else ctx.choose(default)
    if kind in PERSONAL or kind == "it":
        return pronoun(ctx, kind)
    if kind == "pronoun" and verb.frame == "obj" and "full" not in verb.flags:
        return _object_pronoun(ctx, clause.subject, verb)
    if kind == "name" and "person" in verb.object:
        return name(ctx)
    if kind == "place":
        return town_or_country(ctx)
    if kind == "list":
        return _enumeration(ctx, verb, options)
    return _object_noun(ctx, verb, options, bool(clause.negation), asked)


def recipient(ctx: Context, clause: Clause, options: Options) -> NounPhrase:
    wanted = options.get("to", "") or (options.get("obj", "") if clause.main.frame == "dat" else "")
    kind = ctx.choose(weights_of(wanted)) if wanted else ctx.choose({"pronoun": 5, "name": 2, "noun": 3})
    if kind in PERSONAL:
        return pronoun(ctx, kind)
    if kind in ("pronoun", "two"):
        return _object_pronoun(ctx, clause.subject, clause.main)
    if kind == "name":
        return name(ctx)
    return human(ctx, ctx.chance(0.15))


def _object_noun(ctx: Context, verb: Verb, options: Options, negated: bool, asked: bool) -> NounPhrase:
    nouns = ctx.lexicon.nouns_of(verb.object, options.get("class", ""))
    if verb.name == "have":
        nouns = [noun for noun in nouns if "one" not in noun.classes]
    noun = ctx.rng.choice(nouns)
    if options.get("rel") == "object":
        return noun_phrase(ctx, set(), {"the": 1}, 0.1, noun)
    if "person" in noun.classes and "generic" not in verb.flags and verb.name != "have":
        phrase = human(ctx, ctx.chance(0.2))
    else:
        plural = False if "instrument" in noun.classes and verb.name == "play" else None
        phrase = noun_phrase(ctx, set(), _determiners(ctx, verb, noun, negated, asked), 0.15, noun, plural)
    if phrase.kind == "noun":
        ctx.combinations.add((verb.name, phrase.key))
    return phrase


def _determiners(ctx: Context, verb: Verb, noun: Noun, negated: bool, asked: bool) -> dict[str, float]:
    """Which determiners make sense with this verb and noun."""
    if verb.frame == "à":
        return {"generic": 1} if "sport" in noun.classes else DE_DETERMINERS
    if "instrument" in noun.classes and verb.name == "play":
        return {"the": 1}
    if verb.frame == "de":
        return _after_de(verb, noun)
    if "generic" in verb.flags:
        return {"the": 2, "mine": 2} if "person" in noun.classes else GENERIC_DETERMINERS
    if "language" in noun.classes:
        return {"zero": 1}
    weights: dict[str, float] = HAVE_DETERMINERS if verb.name == "have" else OBJECT_DETERMINERS
    if noun.classes & {"food", "drink", "money"}:
        weights = FOOD_DETERMINERS if verb.name != "have" else HAVE_DETERMINERS
    if negated:
        indefinite = 6 if verb.name == "have" else 3
        weights = (
            {"none": indefinite, "enough": 1}
            if verb.name == "have"
            else {"none": indefinite, "the": 4, "mine": 2, "this": 1, "enough": 0.3}
        )
    elif "definite" in verb.flags:
        weights = {"the": 4, "mine": 3, "this": 1, "that": 0.5}
    elif asked:
        weights = {
            **{key: weight for key, weight in weights.items() if key != "bare"},
            "any": weights.get("some", 0),
        }
    if noun.classes & {"idea", "part", "puzzle", "blunder"}:
        weights = {
            k: w for k, w in weights.items() if k in ("the", "a", "mine", "this", "none", "another", "many")
        }
    return weights


def _after_de(verb: Verb, noun: Noun) -> dict[str, float]:
    if verb.name == "need":
        return {"zero": 2, "the": 1, "mine": 1} if "mass" in noun.classes else {"a": 3, "the": 1, "mine": 1}
    return GENERIC_DETERMINERS if "generic" in verb.flags and "animal" in noun.classes else DE_DETERMINERS


def _object_pronoun(ctx: Context, owner: NounPhrase, verb: Verb, wanted: str = "") -> NounPhrase:
    if wanted:
        return pronoun(ctx, wanted)
    human_object = verb.frame in ("dat", "ditr") or "person" in verb.object
    keys: dict[str, float] = (
        {"i": 3, "you": 3, "he": 2, "she": 2, "we": 1.5, "they": 1.5}
        if human_object
        else {"it": 3, "they": 2}
    )
    keys = {k: w for k, w in keys.items() if not (k == owner.key and k in ("i", "you", "we"))}
    keys = {k: w for k, w in keys.items() if (k, owner.key) not in CLASHES}
    if owner.key == "it":
        keys.pop("it", None)
    return pronoun(ctx, ctx.choose(keys))


def _enumeration(ctx: Context, verb: Verb, options: Options) -> NounPhrase:
    """the bread, two apples and some wine."""
    count = ctx.rng.choice([2, 2, 3, 3, 4])
    items: dict[str, NounPhrase] = {}
    for _ in range(count):
        item = _object_noun(ctx, verb, options, False, False)
        items.setdefault(item.key, item)
    phrases = list(items.values())
    en, fr = list(phrases[0].en), list(phrases[0].fr)
    for index, item in enumerate(phrases[1:], 1):
        last = index == len(phrases) - 1
        link = Token("and" if last else ",")
        en += [link, *item.en]
        fr += [Token("et" if last else ",", [link]), *item.fr]
    ctx.tags.add("coordination")
    return NounPhrase(en, fr, 5, False, True, "list", "list")


def town_or_country(ctx: Context) -> NounPhrase:
    """Paris; France, la France; Japan, le Japon."""
    text, form, gender = ctx.rng.choice(ctx.lexicon.places)
    source = Token(text)
    article = [] if gender == "city" else [Token("la" if gender == "f" else "le", [], [source], article=True)]
    ctx.tags.add("place_name")
    return NounPhrase(
        [source], [*article, Token(form, [source])], feminine=gender == "f", kind="place", key=text
    )


def language(ctx: Context, definite: bool) -> NounPhrase:
    """French, le français; but parler français."""
    text, form = ctx.rng.choice(ctx.lexicon.languages)
    source = Token(text)
    article = Token("le", [], [source], article=True)
    words = [article] if definite else []
    return NounPhrase([source], [*words, Token(form, [source])], kind="language", key=text)
