"""Draws clauses and other slots of the templates at random, so that they make sense and suit each other."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from corpus.clauses import Clause, realise
from corpus.lexicon import Adjective, Noun, Verb
from corpus.phrases import (
    PERSONAL,
    Context,
    NounPhrase,
    adverb,
    adverbial,
    at_time,
    companion,
    destination,
    fitting_adjectives,
    geography,
    human,
    location,
    month,
    name,
    noun_phrase,
    on_date,
    origin,
    pair,
    pronoun,
    pronoun_for,
    stressed,
    weekday,
    weekdays,
)
from corpus.tokens import Pair, Token, french

Options = dict[str, str]

SUBJECTS = {"pronoun": 5.5, "name": 2, "noun": 2.5}
FRAMES = {
    "intr": 2.5,
    "obj": 6,
    "dat": 0.9,
    "ditr": 1.2,
    "to": 1.2,
    "in": 1.2,
    "de": 0.5,
    "à": 0.3,
    "attribute": 2,
}
TENSES = {
    "present": 4, "progressive": 3, "past": 4, "future": 2, "was": 0.5, "used": 0.4, "habit": 0.6,
    "perfect": 0.9, "going": 0.7,
}  # fmt: skip
NEGATED = {"": 82, "not": 13, "never": 2.5, "anymore": 1.5, "nobody": 0.4, "nothing": 0.6}
OBJECT_DETERMINERS = {
    "the": 5, "a": 3, "mine": 2, "some": 1.4, "this": 0.7, "that": 0.4, "number": 0.5, "many": 0.3,
    "too": 0.1, "enough": 0.1, "several": 0.2, "few": 0.2, "all": 0.2, "another": 0.2, "other": 0.15,
    "every": 0.1, "owned": 0.4,
}  # fmt: skip
FOOD_DETERMINERS = {"some": 4, "the": 3, "a": 2, "bare": 1, "mine": 0.7, "this": 0.5, "many": 0.5, "too": 0.5,
                    "enough": 0.5, "number": 0.5}  # fmt: skip
HAVE_DETERMINERS = {"a": 5, "some": 2, "number": 1.2, "many": 0.8, "enough": 0.3, "several": 0.4, "few": 0.4}
GENERIC_DETERMINERS = {"generic": 4, "the": 2, "mine": 2, "this": 1}
DE_DETERMINERS = {"the": 3, "mine": 2, "owned": 0.3}
CLASHES = {("i", "we"), ("we", "i")}


@cache
def _weights(text: str) -> dict[str, float]:
    """`present,past` or `present:3,past:1`."""
    parts = (part.partition(":") for part in text.split(","))
    return {key: float(weight or 1) for key, _, weight in parts}


# ---------------------------------------------------------------- subjects


def subject(ctx: Context, options: Options, slots: dict[str, object]) -> NounPhrase:
    """A pronoun, name or noun phrase; `@x` takes up the subject of slot x, `@x.object` its object."""
    wanted = options.get("subj", "")
    if wanted.startswith("@"):
        label, _, role = wanted[1:].partition(".")
        earlier = slots[label]
        assert isinstance(earlier, Clause)
        return pronoun_for(ctx, earlier.direct if role and earlier.direct else earlier.subject)
    kind = ctx.choose(_weights(wanted) if wanted else SUBJECTS)
    if kind == "pronoun":
        weights = {"i": 4, "you": 3, "he": 3, "she": 3, "we": 2, "they": 2}
        if "q" in options:
            weights |= {"i": 0.3, "you": 5}
        for same in {"you": ["you"], "i": ["i", "we"], "we": ["i", "we"]}.get(options.get("obj", ""), []):
            weights[same] = 0
        return pronoun(ctx, ctx.choose(weights))
    if kind == "name":
        return name(ctx)
    if kind == "couple":
        return couple(ctx)
    if kind == "animal":
        return noun_phrase(ctx, {"animal"}, {"the": 3, "mine": 2, "this": 0.5}, 0.15)
    if kind == "goods":
        return noun_phrase(
            ctx, {"small", "clothes", "vehicle"}, {"the": 5, "mine": 2, "this": 1, "that": 0.5}, 0.05
        )
    if kind == "thing":
        return noun_phrase(ctx, _describable(ctx), {"the": 5, "mine": 2, "this": 1, "that": 0.5}, 0.05)
    if kind == "noun":
        if "rel" in options:
            return noun_phrase(ctx, {"person"}, {"the": 1}, 0.05)
        return human(ctx, False if "q" in options else None)
    return pronoun(ctx, kind)


def _describable(ctx: Context) -> set[str]:
    """The class of things that the next description is about."""
    kinds = "thing clothes building device furniture show tale work room openable fruit drink vehicle picture"
    return {ctx.rng.choice(kinds.split())}


def couple(ctx: Context) -> NounPhrase:
    """Paul and Marie, Paul and my brother: third persons only."""
    first = name(ctx)
    second = name(ctx) if ctx.chance(0.6) else human(ctx, False)
    while second.key == first.key:
        second = name(ctx)
    link = Token("and")
    feminine = first.feminine and second.feminine
    en, fr = [*first.en, link, *second.en], [*first.fr, Token("et", [link]), *second.fr]
    ctx.tags.add("coordination")
    return NounPhrase(en, fr, 5, feminine, True, "name", "couple", frozenset({"person"}))


# ---------------------------------------------------------------- objects


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
    weights = HAVE_DETERMINERS if verb.name == "have" else OBJECT_DETERMINERS
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
    keys = (
        {"i": 3, "you": 3, "he": 2, "she": 2, "we": 1.5, "they": 1.5}
        if human_object
        else {"it": 3, "they": 2}
    )
    keys = {k: w for k, w in keys.items() if not (k == owner.key and k in ("i", "you", "we"))}
    keys = {k: w for k, w in keys.items() if (k, owner.key) not in CLASHES}
    if owner.key == "it":
        keys.pop("it", None)
    return pronoun(ctx, ctx.choose(keys))


def _direct_object(ctx: Context, clause: Clause, options: Options, asked: bool) -> NounPhrase | None:
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
    kind = ctx.choose(_weights(wanted)) if wanted else ctx.choose(default)
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


def _recipient(ctx: Context, clause: Clause, options: Options) -> NounPhrase:
    wanted = options.get("to", "") or (options.get("obj", "") if clause.main.frame == "dat" else "")
    kind = ctx.choose(_weights(wanted)) if wanted else ctx.choose({"pronoun": 5, "name": 2, "noun": 3})
    if kind in PERSONAL:
        return pronoun(ctx, kind)
    if kind in ("pronoun", "two"):
        return _object_pronoun(ctx, clause.subject, clause.main)
    if kind == "name":
        return name(ctx)
    return human(ctx, ctx.chance(0.15))


# ---------------------------------------------------------------- tense, negation, adverbials


def _fit_tense(ctx: Context, tense: str, verb: Verb, owner: NounPhrase, negation: str) -> str:
    """The nearest tense that the verb has."""
    if verb.base in ("can", "must") and tense in ("future", "perfect", "used", "habit"):
        tense = "present"
    if verb.base == "must":
        return "present"
    if "going" in verb.flags:
        return "was" if tense in ("was", "past") and ctx.chance(0.5) else "progressive"
    if tense == "habit" and "state" in verb.flags and verb.frame not in ("intr", "in"):
        tense = "past"
    if verb.flags & {"state", "still"} or negation in ("never", "anymore"):
        tense = {"progressive": "present", "was": "past"}.get(tense, tense)
    if "state" in verb.flags:
        tense = {"perfect": "past"}.get(tense, tense)
    if "same" in verb.flags and tense == "present" and not owner.third and negation not in ("not", "anymore"):
        tense = "progressive"  # I read the book could be past
    if negation and tense in ("used", "was"):
        tense = "past"
    if negation == "anymore" and tense in ("perfect", "used", "was", "habit"):
        tense = "present"
    return tense


def _end(ctx: Context, tense: str, verb: Verb, owner: NounPhrase) -> list[Pair]:
    """At most two adverbials that suit the tense: company, place, time."""
    tail: list[Pair] = []
    if (
        verb.frame in ("attribute", "age", "weather")
        or "state" in verb.flags
        and verb.frame not in ("intr", "in")
    ):
        return _when_true(ctx, tense, verb)
    if tense == "habit":
        return [weekdays(ctx) if ctx.chance(0.25) else adverb(ctx, {"habit"})]
    if ctx.chance(0.62):
        return tail
    roll = ctx.rng.random()
    active = "state" not in verb.flags
    if (
        verb.frame == "intr"
        and active
        and roll < 0.2
        and verb.french not in ("venir", "partir", "arriver", "tomber")
    ):
        kinds = (
            {"manner"}
            if tense != "present" or verb.french not in ("chanter", "danser", "nager")
            else {"manner2"}
        )
        if verb.french in ("chanter", "danser", "nager", "courir", "travailler", "cuisiner"):
            return [adverb(ctx, kinds)] if verb.french != "cuisiner" or kinds != {"manner"} else tail
    if (
        active
        and not verb.reflexive
        and roll < 0.35
        and verb.frame in ("intr", "obj")
        and verb.object.isdisjoint({"person"})
    ):
        tail.append(companion(ctx, verb.frame == "obj") if ctx.chance(0.5) else location(ctx))
    if owner.plural and active and ctx.chance(0.1) and verb.frame == "intr":
        return [adverb(ctx, {"plural"})]
    if roll > 0.3:
        tail += _time(ctx, tense)
    return tail


def _when_true(ctx: Context, tense: str, verb: Verb) -> list[Pair]:
    """Time adverbials of states of affairs: only for the weather."""
    if verb.frame != "weather" or ctx.chance(0.4):
        return []
    kind = {"present": "present", "progressive": "present", "past": "past", "future": "future"}.get(tense)
    return [adverb(ctx, {kind})] if kind else []


def _time(ctx: Context, tense: str) -> list[Pair]:
    choices = {
        "present": ["habit", "habit", "weekdays", "clock"],
        "progressive": ["present"],
        "past": ["past", "past", "past", "weekday", "date", "clock", "month"],
        "future": ["future", "future", "future", "weekday", "date", "clock", "month"],
        "going": ["future", "future", "weekday"],
    }.get(tense)
    if not choices:
        return []
    kind = ctx.rng.choice(choices)
    special = {"weekdays": weekdays, "weekday": weekday, "date": on_date, "month": month, "clock": at_time}
    return [special[kind](ctx) if kind in special else adverb(ctx, {kind})]


def _middle(ctx: Context, tense: str, negation: str, verb: Verb) -> tuple[Pair | None, str]:
    """often, always, really; a past with one of the first is a habit."""
    if negation not in ("", "not") or tense in ("was", "used", "progressive", "imperative", "lets"):
        return None, tense
    if tense == "perfect":
        return (adverbial("already", "déjà") if ctx.chance(0.7) and not negation else None), tense
    if ctx.chance(0.9):
        return None, tense
    if "state" in verb.flags and verb.name in ("be", "have", "want", "need", "know"):
        return adverb(ctx, {"sure"}) if verb.name in ("want", "need") else None, tense
    if negation:
        return (adverbial("often", "souvent") if tense == "present" else None), tense
    return adverb(ctx, {"mid"}), "habit" if tense == "past" else tense


# ---------------------------------------------------------------- clauses


def _verb(ctx: Context, frame: str, owner: NounPhrase, options: Options) -> Verb:
    kind = "animal" if "animal" in owner.classes else "person"
    if "verb" in options:
        names = options["verb"].replace("_", " ").split(",")
        found = [v for v in ctx.lexicon.verbs_of[frame] if v.name in names]
    else:
        found = [v for v in ctx.lexicon.verbs_of[frame] if kind in v.subject or frame == "weather"]
        if options.get("tense") in ("imperative", "lets"):
            found = [v for v in found if "accident" not in v.flags]
        if "active" in options:
            found = [v for v in found if not v.flags & {"state", "still"}]
        if "class" in options:
            found = [v for v in found if options["class"] in v.object]
        if options.get("obj") in PERSONAL or options.get("obj") == "name":
            found = [v for v in found if "person" in v.object]
        if "aux" in options:
            found = [v for v in found if ctx.lexicon.conjugation.takes_etre(v.french)]
        if "reflexive" in options:
            found = [v for v in found if v.reflexive]
    return ctx.rng.choice(found)


def _frame(ctx: Context, options: Options, owner: NounPhrase) -> str:
    if "frame" in options:
        return ctx.choose(_weights(options["frame"]))
    if "animal" in owner.classes:
        return ctx.choose({"intr": 3, "obj": 3, "attribute": 2})
    if owner.kind == "noun" and "person" not in owner.classes:
        return "attribute"
    return ctx.choose(FRAMES)


def clause(ctx: Context, options: Options, slots: dict[str, object]) -> tuple[Clause, Pair]:
    """Draw and spell one clause."""
    drawn = draw_clause(ctx, options, slots)
    return drawn, realise(ctx, drawn)


def draw_clause(ctx: Context, options: Options, slots: dict[str, object]) -> Clause:
    """Draw a clause; see the head of the grammar file for the options."""
    frame = ctx.choose(_weights(options["frame"])) if "frame" in options else ""
    owner = pronoun(ctx, "it") if frame == "weather" else subject(ctx, options, slots)
    if options.get("rel") == "subject":
        owner = with_relative(ctx, owner)
    frame = frame or _frame(ctx, options, owner)
    verb = _verb(ctx, frame, owner, options)
    question = options.get("q")
    tense = _tense(ctx, options, slots)
    negation = (
        ctx.choose(_weights(options["neg"])) if "neg" in options else _negation(ctx, verb, tense, question)
    )
    verbs = [verb]
    if ctx.chance(float(options.get("modal", "0.07"))) and _takes_modal(verb, owner, tense):
        verbs = [_modal(ctx, options), verb]
    if tense == "going" and "state" in verbs[-1].flags:
        tense = "future"
    if tense == "going":
        go = next(v for v in ctx.lexicon.verbs_of["inf"] if "going" in v.flags)
        verbs, tense = [go, verbs[-1]], "progressive"
        ctx.tags.add("near_future")
        tail = _end(ctx, "going", verb, owner)
    else:
        tense = _fit_tense(ctx, tense, verbs[0], owner, negation or ("not" if question else ""))
        tail = None
    if verbs[0].french == "devoir" and verbs[0].base == "have":
        negation = ""  # not have to is not ne pas devoir
    if len(verbs) > 1 and negation in ("nobody", "nothing"):
        negation = "not"
    middle = None
    if not question and "plain" not in options and len(verbs) == 1 and frame != "weather":
        middle, tense = _middle(ctx, tense, negation, verb)
    if tail is None:
        tail = [] if question or "plain" in options else _end(ctx, tense, verbs[0], owner)
    if middle and tense == "habit":
        tail = []
    drawn = Clause(owner, verbs, tense, negation, middle=middle, contract=ctx.chance(0.75))
    _complete(ctx, drawn, options, slots)
    if options.get("rel") == "object" and drawn.direct and drawn.direct.kind == "noun":
        drawn.direct = with_relative(ctx, drawn.direct)
        tail = drawn.tail = []
    if drawn.tense == "habit" and not (tail or middle):
        drawn.tense = "past"
    drawn.tail += [] if "plain" in options and tense != "habit" else tail
    if question:
        _ask(ctx, drawn, question)
    return drawn


def _tense(ctx: Context, options: Options, slots: dict[str, object]) -> str:
    """A tense at random, or one that goes with that of an earlier clause (`@a`)."""
    wanted = options.get("tense", "")
    if wanted.startswith("@"):
        earlier = slots[wanted[1:]]
        assert isinstance(earlier, Clause)
        same = {"present": "present:3,progressive:1", "progressive": "present:1,progressive:2"}
        return ctx.choose(
            _weights(same.get(earlier.tense, "future" if earlier.tense == "future" else "past"))
        )
    tense = ctx.choose(_weights(wanted) if wanted else TENSES)
    if tense == "habit" and ("plain" in options or "q" in options):
        return "past"  # nothing in the clause would say that it is a habit
    return tense


def _negation(ctx: Context, verb: Verb, tense: str, question: str | None) -> str:
    if question or tense in ("habit", "used", "was", "going"):
        return "not" if tense == "going" and ctx.chance(0.08) and not question else ""
    if tense == "imperative":
        return ctx.choose({"": 3, "not": 2, "never": 0.3})
    negation = ctx.choose(NEGATED)
    if negation == "nobody" and not (verb.frame == "obj" and "person" in verb.object):
        return "not"
    if negation == "nothing" and not (
        verb.frame == "obj" and verb.object & {"food", "thing", "small", "drink"}
    ):
        return "not"
    if negation in ("nobody", "nothing") and verb.flags & {"generic"}:
        return "not"
    if negation == "anymore" and tense not in ("present", "progressive", "future"):
        return "not"
    return negation


def _takes_modal(verb: Verb, owner: NounPhrase, tense: str) -> bool:
    """Whether one can want, try … to do this."""
    chained = verb.frame in ("attribute", "age", "weather") or verb.flags & {"state", "accident"}
    return not chained and "person" in (owner.classes or {"person"}) and tense not in ("imperative", "lets")


def _modal(ctx: Context, options: Options) -> Verb:
    names = options.get("modals")
    found = [v for v in ctx.lexicon.verbs_of["inf"] if "going" not in v.flags]
    if names:
        found = [v for v in found if v.name in names.split(",")]
    weights = [3 if v.name in ("want", "can", "must", "have") else 1 for v in found]
    return ctx.rng.choices(found, weights)[0]


def _complete(ctx: Context, drawn: Clause, options: Options, slots: dict[str, object]) -> None:
    """Add the objects and complements that the frame of the verb asks for."""
    verb, frame = drawn.main, drawn.main.frame
    asked = drawn.question is not None or "q" in options
    if options.get("obj") == "none" or drawn.negation in ("nobody", "nothing"):
        return
    if options.get("obj", "").startswith("@"):
        drawn.direct = subject(ctx, {"subj": options["obj"]}, slots)
        return
    if frame in ("obj", "ditr", "de", "à"):
        if "language" in verb.object and (verb.object == {"language"} or ctx.chance(0.4)):
            drawn.direct = language(ctx, verb.name != "speak")
        else:
            drawn.direct = _direct_object(ctx, drawn, options, asked)
    if frame in ("dat", "ditr"):
        drawn.indirect = _recipient(ctx, drawn, options)
        if drawn.direct and drawn.direct.kind == "pronoun" and drawn.indirect.kind == "pronoun":
            drawn.double_object = False
        else:
            drawn.double_object = "single" not in verb.flags and ctx.chance(0.75)
    if options.get("q") == "where":
        return
    if frame == "to":
        commanded = drawn.tense in ("imperative", "lets") and not drawn.negation
        if ctx.chance(0.15) and verb.name != "come" and not commanded:
            drawn.there = True
        elif verb.name == "come":
            drawn.tail.append(origin(ctx))
        else:
            drawn.tail.append(destination(ctx))
    if frame == "in":
        if verb.name == "live" and ctx.chance(0.1):
            drawn.there = True
        else:
            drawn.tail.append(location(ctx) if ctx.chance(0.95) else adverb(ctx, {"place"}))
    if frame == "born":
        drawn.tail.append(
            ctx.rng.choice([on_date, month, weekday, lambda c: geography(c, "in", "city")])(ctx)
        )
    if frame == "attribute":
        drawn.tail.append(attribute(ctx, drawn.subject, options.get("attr", "")))
    if frame == "age":
        drawn.tail.append(age(ctx, drawn.subject))


def _ask(ctx: Context, drawn: Clause, question: str) -> None:
    ctx.final = "?"
    if question == "yes":
        drawn.question = "yes"
        return
    words = {
        "what": ("what", "que"),
        "who": ("who", "qui"),
        "where": ("where", "où"),
        "when": ("when", "quand"),
        "why": ("why", "pourquoi"),
        "how": ("how", "comment"),
    }
    if question == "subject":
        drawn.question = "subject"
        source = Token("who")
        drawn.subject = NounPhrase([source], [Token("qui", [source])], 2, kind="wh")
        return
    if question == "age":
        source = [Token("how"), Token("old")]
        drawn.tail, drawn.question = [], Pair(source, [Token("quel", source[:1]), Token("âge", source[1:])])
        return
    if question == "time":
        source = [Token("what"), Token("time")]
        target = [Token("à", [], list(source)), Token("quelle", source[:1]), Token("heure", source[1:])]
        drawn.question = Pair(source, target)
        return
    if question in ("which", "many"):
        drawn.question = _which(ctx, drawn.main, question)
        return
    source = Token(words[question][0])
    drawn.question = Pair([source], [Token(words[question][1], [source])])


def _which(ctx: Context, verb: Verb, question: str) -> Pair:
    """which book, quel livre; how many apples, combien de pommes."""
    nouns = [
        noun for noun in ctx.lexicon.nouns_of(verb.object) if noun.countable and "person" not in noun.classes
    ]
    noun = ctx.rng.choice(nouns)
    plural = question == "many" or ctx.chance(0.3)
    phrase = noun_phrase(ctx, set(), {"zero": 1}, 0.05, noun, plural)
    ctx.combinations.add((verb.name, noun.singular))
    if question == "many":
        how, many = Token("how"), Token("many")
        return Pair(
            [how, many, *phrase.en], [Token("combien", [many], [how]), Token("de", [], [many]), *phrase.fr]
        )
    which = Token("which")
    form = ("quelle" if noun.feminine else "quel") + ("s" if plural else "")
    return Pair([which, *phrase.en], [Token(form, [which]), *phrase.fr])


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


# ---------------------------------------------------------------- what things and people are


def attribute(ctx: Context, owner: NounPhrase, kind: str = "") -> Pair:
    """What follows be: an adjective, a profession, a comparison."""
    person = owner.kind != "noun" or "person" in owner.classes
    kind = kind or ctx.choose(
        {"adjective": 7, "job": 1, "compare": 1.2} if person else {"adjective": 6, "compare": 1}
    )
    if owner.key in ("it",) and kind != "adjective":
        kind = "adjective"
    if kind == "young":
        pool = [adjective for adjective in ctx.lexicon.adjectives if adjective.english in ("young", "small")]
        return _predicate(ctx, owner, ctx.rng.choice(pool), 0)
    if kind == "job" and person:
        return job(ctx, owner)
    pool = _predicates(ctx, owner, person)
    if kind == "mood":
        return _predicate(ctx, owner, ctx.rng.choice([a for a in pool if "mood" in a.classes]))
    if kind == "compare":
        graded = [adjective for adjective in pool if adjective.comparative]
        if graded and owner.key != "it" and (person or _peers(ctx, owner)):
            return _compare(ctx, owner, ctx.rng.choice(graded), person)
    adjective = ctx.rng.choice(pool)
    if not person and owner.kind == "noun":
        ctx.combinations.add((adjective.english, owner.key))
    return _predicate(ctx, owner, adjective)


def _predicate(ctx: Context, owner: NounPhrase, adjective: Adjective, much: float = 0.2) -> Pair:
    """An adjective after be, now and then with very or too."""
    source = Token(adjective.english)
    degree = ctx.rng.choice([("very", "très"), ("too", "trop")]) if ctx.chance(much) else None
    if degree and not adjective.comparative:
        degree = None
    target = french(adjective.form(owner.feminine, owner.plural), [source])
    ctx.tags.add("predicate_adjective")
    if owner.feminine or owner.plural:
        ctx.tags.add("agreement")
    if degree:
        word = Token(degree[0])
        return Pair([word, source], [Token(degree[1], [word]), *target])
    return Pair([source], target)


def _predicates(ctx: Context, owner: NounPhrase, person: bool) -> list[Adjective]:
    if person:
        return [a for a in ctx.lexicon.adjectives if "person" in a.classes]
    if owner.kind == "pronoun":
        return [a for a in ctx.lexicon.adjectives if "thing" in a.classes]
    noun = next(n for n in ctx.lexicon.nouns if n.singular == owner.key)
    return [a for a in fitting_adjectives(ctx, noun, "bap") if a.english != "true"]


def _compare(ctx: Context, owner: NounPhrase, adjective: Adjective, person: bool) -> Pair:
    """taller than, more patient than, as tall as."""
    other = _other(ctx, owner, person)
    ctx.tags.add("comparative")
    equal = ctx.chance(0.25)
    better = not equal
    form = adjective.form(owner.feminine, owner.plural, compare=better)
    if owner.feminine or owner.plural:
        ctx.tags.add("agreement")
    if equal:
        source = [Token("as"), Token(adjective.english), Token("as")]
        target = [Token("aussi", source[:1]), *french(form, source[1:2])]
    elif adjective.comparative == "more":
        source = [Token("more"), Token(adjective.english), Token("than")]
        target = [Token("plus", source[:1]), *french(form, source[1:2])]
    else:
        source = [Token(adjective.comparative), Token("than")]
        degree = [] if adjective.better else [Token("plus", [], source[:1])]
        target = degree + french(form, source[:1])
    return Pair(source + other.en, [*target, Token("que", source[-1:]), *other.fr])


def _peers(ctx: Context, owner: NounPhrase) -> list[Noun]:
    """The nouns that it makes sense to compare a thing or animal with."""
    kinds = {
        "animal",
        "vehicle",
        "clothes",
        "building",
        "furniture",
        "fruit",
        "drink",
        "show",
    } & owner.classes
    return [noun for noun in ctx.lexicon.nouns_of(kinds) if noun.singular != owner.key]


def _other(ctx: Context, owner: NounPhrase, person: bool) -> Pair:
    if not person:
        dets = {"the": 3, "mine": 2, "this": 1}
        return pair(noun_phrase(ctx, set(), dets, 0.0, ctx.rng.choice(_peers(ctx, owner))))
    roll = ctx.rng.random()
    if roll < 0.45:
        keys = [k for k in PERSONAL if k != owner.key and (k, owner.key) not in CLASHES]
        return stressed(ctx, pronoun(ctx, ctx.rng.choice(keys)))
    if roll < 0.7:
        other = name(ctx)
        return pair(other) if other.key != owner.key else stressed(ctx, pronoun(ctx, "i"))
    return pair(human(ctx, False))


def job(ctx: Context, owner: NounPhrase) -> Pair:
    """a doctor, médecin: professions have no article in French."""
    jobs = ctx.lexicon.nouns_of({"job"})
    jobs = [n for n in jobs if (n.feminine or "epicene" in n.classes if owner.feminine else not n.feminine)]
    noun = ctx.rng.choice(jobs)
    phrase = noun_phrase(ctx, set(), {"zero" if owner.plural else "a": 1}, 0, noun, owner.plural)
    return Pair(phrase.en, phrase.fr[-1:])


def age(ctx: Context, owner: NounPhrase) -> Pair:
    """ten years old, dix ans."""
    low, high = 5, 60
    if owner.classes & {"job", "man", "woman", "father", "mother", "husband", "wife", "boss", "colleague"}:
        low = 20
    if "baby" in owner.classes:
        low, high = 2, 3
    elif owner.classes & {"child", "boy", "girl", "pupil"}:
        low, high = 2, 15
    text, form, _ = ctx.rng.choice([row for row in ctx.lexicon.numbers if low <= row[2] <= high])
    number, years, old = Token(text), Token("years"), Token("old")
    ctx.tags |= {"number", "age"}
    return Pair([number, years, old], [Token(form, [number]), Token("ans", [years], [old])])


# ---------------------------------------------------------------- relative clauses


def with_relative(ctx: Context, phrase: NounPhrase) -> NounPhrase:
    """the man who sings, the letter that I wrote, the friend I invited."""
    person = "person" in phrase.classes
    ctx.tags.add("relative_clause")
    if person and ctx.chance(0.6) or "animal" in phrase.classes and ctx.chance(0.5):
        return _subject_relative(ctx, phrase, person)
    verbs = [v for v in ctx.lexicon.verbs_of["obj"] if v.object & phrase.classes and v.name != "have"]
    verbs = [v for v in verbs if person is ("person" in v.object & phrase.classes)]
    if not verbs:
        return _subject_relative(ctx, phrase, person)
    verb = ctx.rng.choice(verbs)
    owner = subject(ctx, {"subj": "pronoun:5,name:3,noun:1"}, {})
    while owner.en[0].text == "that":
        owner = human(ctx)
    tense = _fit_tense(
        ctx, ctx.choose({"present": 3, "progressive": 1, "past": 5, "future": 1}), verb, owner, ""
    )
    drawn = Clause(owner, [verb], tense, gap=phrase, contract=ctx.chance(0.7))
    body = realise(ctx, drawn)
    if not person:
        ctx.combinations.add((verb.name, phrase.key))
    that = [Token("that")] if ctx.chance(0.7) else []
    link = Token("que", that, [] if that else phrase.en[-1:])
    return replace(phrase, en=phrase.en + that + body.en, fr=[*phrase.fr, link, *body.fr])


def _subject_relative(ctx: Context, phrase: NounPhrase, person: bool) -> NounPhrase:
    source = Token("who" if person else "that")
    owner = replace(phrase, en=[source], fr=[Token("qui", [source])], kind="relative", key="")
    options = (
        {"frame": "intr:3,obj:4,in:2", "plain": "1"} if person else {"frame": "intr:2,obj:2", "plain": "1"}
    )
    options["tense"] = "present:3,progressive:3,past:3,future:1"
    body = realise(ctx, _relative_body(ctx, options, owner))
    return replace(phrase, en=phrase.en + body.en, fr=phrase.fr + body.fr)


def _relative_body(ctx: Context, options: Options, owner: NounPhrase) -> Clause:
    frame = _frame(ctx, options, owner)
    verb = _verb(ctx, frame, owner, options)
    negation = "not" if ctx.chance(0.08) else ""
    tense = _fit_tense(ctx, ctx.choose(_weights(options["tense"])), verb, owner, negation)
    drawn = Clause(owner, [verb], tense, negation, contract=ctx.chance(0.7))
    _complete(ctx, drawn, options, {})
    return drawn


def phrase_slot(ctx: Context, options: Options) -> NounPhrase:
    """A noun phrase slot: `class`, `det`, `number` sg or pl, `adj` probability."""
    plural = {"sg": False, "pl": True}.get(options.get("number", ""))
    dets = _weights(options.get("det", "the"))
    if options.get("class") == "person":
        nouns = ctx.lexicon.nouns_of({"person"})
    else:
        nouns = ctx.lexicon.nouns_of(set(options["class"].split(",")))
    if plural or plural is False and "a" in dets:
        nouns = [noun for noun in nouns if noun.countable]
    noun = ctx.rng.choice(nouns)
    return noun_phrase(ctx, set(), dets, float(options.get("adj", "0.25")), noun, plural)
