"""Clauses: a subject, a chain of verbs, objects and adverbials, spelt out in both languages at once.

French puts the clitics before the last verb of the chain (je veux te voir) or before the finite verb (je te
vois), wraps ne … pas around both, and makes participles agree; English needs do, be, will, have for the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from corpus.lexicon import Conjugation, Verb, agree
from corpus.phrases import Context, NounPhrase, clitic
from corpus.tokens import Pair, Token, Tokens

BE = {
    "present": ["am", "are", "is", "are", "are", "are"],
    "past": ["was", "were", "was", "were", "were", "were"],
}
SHORT_BE = {"am": "'m", "is": "'s", "are": "'re"}
NEGATED = {
    "do": "don't", "does": "doesn't", "did": "didn't", "is": "isn't", "are": "aren't", "was": "wasn't",
    "were": "weren't", "will": "won't", "can": "can't", "could": "couldn't", "has": "hasn't",
    "have": "haven't",
}  # fmt: skip
MODALS = {"can": "could", "must": "must"}
REFLEXIVE = ["me", "te", "se", "nous", "vous", "se"]
# How each English tense reads in French; the simple past of states, and habits, are imparfait.
FRENCH_TENSE = {
    "present": "present", "progressive": "present", "past": "passé composé", "was": "imparfait",
    "used": "imparfait", "habit": "imparfait", "cue": "imparfait", "perfect": "passé composé",
    "future": "futur", "when": "futur", "imperative": "imperative", "lets": "imperative",
}  # fmt: skip


@dataclass
class Negation:
    """not … → ne … pas, never → jamais, not … anymore → plus, nobody → personne, nothing → rien."""

    kind: str
    french: str


NEGATIONS = {
    "not": Negation("not", "pas"),
    "never": Negation("never", "jamais"),
    "anymore": Negation("anymore", "plus"),
    "nobody": Negation("nobody", "personne"),
    "nothing": Negation("nothing", "rien"),
}


@dataclass
class Clause:
    """What a clause says; `question` is None, `yes`, `subject` (who sings?) or the fronted wh-phrase."""

    subject: NounPhrase
    verbs: list[Verb]
    tense: str = "present"
    negation: str = ""
    direct: NounPhrase | None = None
    indirect: NounPhrase | None = None
    middle: Pair | None = None  # often, really, already
    tail: list[Pair] = field(default_factory=list)
    question: Pair | str | None = None
    gap: NounPhrase | None = None  # the direct object that stands before the clause (relative clauses)
    double_object: bool = True  # she gives me a book, not: a book to me
    contract: bool = True
    there: bool = False  # y

    @property
    def main(self) -> Verb:
        return self.verbs[-1]


class Realiser:
    """Spells one clause out; the English side first, because the French tokens link to its tokens."""

    def __init__(self, ctx: Context, clause: Clause):
        self.ctx, self.clause = ctx, clause
        self.conjugation: Conjugation = ctx.lexicon.conjugation
        self.auxiliaries: Tokens = []  # do, be, will, have
        self.not_: Tokens = []  # what ne … pas answers to
        self.heads: list[Token] = []  # the English main words of the chain of verbs
        self.extras: list[Tokens] = []  # their particles and to
        self.commanding = clause.tense in ("imperative", "lets")

    def realise(self) -> Pair:
        clause = self.clause
        self._plan_objects()
        en = self._english()
        fr = self._french()
        if clause.question is not None:
            self.ctx.tags.add("question")
        return Pair(en, fr)

    # ------------------------------------------------------------ objects

    def _plan_objects(self) -> None:
        """Build object pronouns and full objects once, for both languages."""
        clause, ctx = self.clause, self.ctx
        self.pronoun_direct = self.pronoun_indirect = None
        self.noun_direct: Pair | None = None
        self.noun_indirect: NounPhrase | None = None
        if clause.direct is not None:
            if clause.direct.kind == "pronoun":
                self.pronoun_direct = clitic(ctx, clause.direct, False)
                if clause.direct.key == "you":
                    ctx.tags.add("object_you")
            else:
                self.noun_direct = Pair(clause.direct.en, clause.direct.fr)
        if clause.indirect is not None:
            if clause.indirect.kind == "pronoun":
                self.pronoun_indirect = clitic(ctx, clause.indirect, True)
            else:
                self.noun_indirect = clause.indirect
        self.to = Token("to")
        self.y_source = Token("there") if clause.there else None

    def _english_objects(self) -> Tokens:
        """Objects after the verb, in English order."""
        out: Tokens = []
        if self.pronoun_direct:
            out.append(self.pronoun_direct[0])
        double = self.clause.double_object and self.pronoun_indirect is not None and not self.pronoun_direct
        if self.pronoun_indirect and double and self.clause.main.frame == "ditr":
            out.append(self.pronoun_indirect[0])
        if self.noun_direct:
            out += self.noun_direct.en
        if self.pronoun_indirect and not out.count(self.pronoun_indirect[0]):
            if self.clause.main.frame == "ditr":
                out.append(self.to)
                self.pronoun_indirect[1].possible.append(self.to)
            out.append(self.pronoun_indirect[0])
        if self.noun_indirect:
            out += ([self.to] if self.clause.main.frame == "ditr" else []) + self.noun_indirect.en
        if self.y_source:
            out.append(self.y_source)
        return out

    # ------------------------------------------------------------ English

    def _finite(self) -> tuple[Tokens, str]:
        """The auxiliaries of the first verb and its own form."""
        clause, verb = self.clause, self.clause.verbs[0]
        person, third = clause.subject.person, clause.subject.third
        tense = clause.tense
        needs_do = clause.negation in ("not", "anymore") or clause.question not in (None, "subject")
        past = tense in ("past", "habit", "cue")
        if tense == "lets":
            return [Token("let"), Token("'s")], verb.base
        if tense == "imperative":
            return ([Token("do")] if needs_do else []), verb.base
        if tense == "future":
            return [Token("will")], verb.base
        if tense == "perfect":
            return [Token("has" if third else "have")], verb.participle
        if tense == "used":
            return [Token("used"), Token("to")], verb.base
        if tense in ("progressive", "was"):
            return [Token(BE["present" if tense == "progressive" else "past"][person])], verb.ing
        if verb.base == "be":
            return [], BE["past" if past else "present"][person]
        if verb.base in MODALS:
            return [], MODALS[verb.base] if past else verb.base
        if needs_do:
            return [Token("did" if past else "does" if third else "do")], verb.base
        return [], verb.past if past else verb.third if third else verb.base

    def _english(self) -> Tokens:
        clause = self.clause
        auxiliaries, form = self._finite()
        head = Token(form)
        self.heads = [head]
        chain: Tokens = [head]
        first = clause.verbs[0]
        particle = first.particle.split()
        self.extras = [[Token(word) for word in particle]]
        chain += self.extras[0]
        for previous, verb in zip(clause.verbs, clause.verbs[1:], strict=False):
            linking = [] if previous.base in MODALS else [Token("to")]
            self.heads.append(Token(verb.base))
            self.extras.append([Token(word) for word in verb.particle.split()])
            self.extras[-2] += linking
            chain += [*linking, self.heads[-1], *self.extras[-1]]
        operator = auxiliaries[:1] or (
            [head] if form in MODALS.values() or form in MODALS or self._is_be(0) else []
        )
        self.auxiliaries = auxiliaries
        subject = [] if self.commanding else clause.subject.en
        out = self._order(subject, auxiliaries, operator, chain, head)
        out += self._english_objects()
        for phrase in clause.tail:
            out += phrase.en
        if clause.negation == "anymore":
            anymore = Token("anymore")
            self.not_.append(anymore)
            out.append(anymore)
        if clause.negation in ("nobody", "nothing"):
            token = Token(clause.negation)
            self.not_.append(token)
            position = out.index(chain[-1]) + 1
            out.insert(position, token)
        return out

    def _is_be(self, index: int) -> bool:
        return self.clause.verbs[index].base == "be" and self.heads[index].text in (
            "am",
            "is",
            "are",
            "was",
            "were",
        )

    def _order(
        self, subject: Tokens, auxiliaries: Tokens, operator: Tokens, chain: Tokens, head: Token
    ) -> Tokens:
        """Subject, auxiliaries, not, mid-position adverb and verbs in statement or question order."""
        clause = self.clause
        inverted = clause.question not in (None, "subject")
        lead = list(clause.question.en) if isinstance(clause.question, Pair) else []
        after_operator = list(clause.middle.en) if clause.middle else []
        if clause.negation == "never":
            never = Token("never")
            self.not_ = [never]
            after_operator.insert(0, never)
        before_subject: Tokens = []
        if clause.negation in ("not", "anymore"):
            operator_token = operator[0]
            after_operator = self._negate(operator_token, subject, inverted) + after_operator
        elif clause.contract and not inverted and len(subject) == 1 and clause.subject.kind == "pronoun":
            self._shorten(operator)
        if inverted:
            before_subject = operator
        rest_aux = [token for token in auxiliaries if token not in operator or not inverted]
        verbs = list(chain)
        if head in operator:  # be and modals precede the adverb themselves
            verbs = verbs[1:]
            rest_aux = [] if inverted else [head]
        if clause.tense == "used":  # used to often go: the adverb comes first
            return lead + subject + after_operator + rest_aux + verbs
        return lead + before_subject + subject + rest_aux + after_operator + verbs

    def _negate(self, operator: Token, subject: Tokens, inverted: bool) -> Tokens:
        """Contract the operator with not, or return a separate not."""
        short = NEGATED.get(operator.text)
        reduced = SHORT_BE.get(operator.text)
        pronoun = len(subject) == 1 and self.clause.subject.kind == "pronoun" and not inverted
        if reduced and pronoun and self.clause.contract and (operator.text == "am" or self.ctx.chance(0.5)):
            operator.text = reduced
        elif short and self.clause.contract:
            operator.text = short
            self.not_ = [operator]
            return []
        if operator.text == "can":
            operator.text = "cannot"
            self.not_ = [operator]
            return []
        not_ = Token("not")
        self.not_ = [not_]
        return [not_]

    def _shorten(self, operator: Tokens) -> None:
        """I am → I'm, she will → she'll."""
        if operator and operator[0].text in SHORT_BE:
            operator[0].text = SHORT_BE[operator[0].text]
        elif operator and operator[0].text == "will":
            operator[0].text = "'ll"

    # ------------------------------------------------------------ French

    def _french(self) -> Tokens:
        clause, ctx = self.clause, self.ctx
        first = clause.verbs[0]
        person = clause.subject.person
        tense = FRENCH_TENSE[clause.tense]
        if tense == "passé composé" and "state" in first.flags:
            tense = "imparfait"
        self._tag(tense)
        compound = tense == "passé composé"
        finite, participle = self._finite_french(first, tense, person)
        clitics = self._clitics()
        middle = self._negation_words(clause)
        adverb = list(clause.middle.fr) if clause.middle else []
        out: Tokens = [] if self.commanding else list(clause.subject.fr)
        if middle:
            out.append(Token("ne", [], self.not_))
        chained = len(clause.verbs) > 1
        if not chained:
            out += clitics
        out.append(finite)
        late = clause.negation == "nobody"
        if middle and not late:
            out += middle
        out += adverb
        if compound:
            out.append(participle)
        out += self._particle(0)
        if not chained and late:
            out += middle
        for index, verb in enumerate(clause.verbs[1:], 1):
            linking = next(iter(clause.verbs[index - 1].object), "")
            if linking in ("de", "à"):
                out.append(Token(linking, [], self.extras[index - 1] + self.heads[index : index + 1]))
            if index == len(clause.verbs) - 1:
                out += clitics
                if clitics:
                    ctx.tags.add("pronoun_climbing")
            out.append(
                Token(verb.french, [self.heads[index]], self.extras[index] + self.extras[index - 1][-1:])
            )
            out += self._particle(index)
        if chained and late:
            out += middle
        out += self._french_objects()
        for phrase in clause.tail:
            out += phrase.fr
        return self._front_question(out)

    def _tag(self, tense: str) -> None:
        tags = self.ctx.tags
        if self.clause.negation:
            tags.add("negation")
        if tense in ("imparfait", "futur", "imperative"):
            tags.add(tense)
        if self.clause.main.reflexive:
            tags.add("reflexive")
        if len(self.clause.verbs) > 1:
            tags.add("infinitive")

    def _finite_french(self, verb: Verb, tense: str, person: int) -> tuple[Token, Token]:
        """The finite verb and, in the passé composé, the participle."""
        conjugation, head = self.conjugation, self.heads[0]
        extras = self.auxiliaries + self.extras[0]
        if tense == "passé composé":
            etre = conjugation.takes_etre(verb.french) or verb.reflexive
            self.ctx.tags.add("passe_compose_etre" if etre else "passe_compose_avoir")
            form = conjugation.present("être" if etre else "avoir", person)
            participle = Token(self._participle(verb, etre), [head], extras)
            return Token(form, [], [*self.auxiliaries, head]), participle
        if tense == "imperative":
            form = conjugation.imperative(verb.french, person)
        else:
            method = getattr(conjugation, tense)
            form = method(verb.french, person)
        if "noun" in verb.flags:  # need, avoir besoin: the noun carries the meaning
            return Token(form, [], [head, *extras]), Token("")
        return Token(form, [head], extras), Token("")

    def _participle(self, verb: Verb, etre: bool) -> str:
        """Agrees with the subject after être, with a direct object that comes before after avoir."""
        form = self.conjugation.participle(verb.french)
        model = self.clause.subject if etre else None
        if not etre and len(self.clause.verbs) == 1:
            model = self.clause.gap
            if self.pronoun_direct and self.clause.direct:
                model = self.clause.direct
        if model is None:
            return form
        result = agree(form, model.feminine, model.plural)
        if result != form:
            self.ctx.tags.add("agreement")
        return result

    def _clitics(self) -> Tokens:
        """me te se nous vous < le la les < lui leur < y."""
        clause = self.clause
        out: Tokens = []
        if clause.main.reflexive:
            person = clause.subject.person
            owner = [] if self.commanding else clause.subject.en[-1:]
            out.append(Token(REFLEXIVE[person], [], [*owner, self.heads[-1], *self.extras[-1]]))
        direct = [self.pronoun_direct[1]] if self.pronoun_direct else []
        indirect = [self.pronoun_indirect[1]] if self.pronoun_indirect else []
        late = bool(indirect) and indirect[0].text in ("lui", "leur")
        out += direct + indirect if late else indirect + direct
        if self.y_source:
            out.append(Token("y", [self.y_source]))
            self.ctx.tags.add("object_pronoun")
        if direct and indirect:
            self.ctx.tags.add("two_pronouns")
        return out

    def _negation_words(self, clause: Clause) -> Tokens:
        if not clause.negation:
            return []
        sure = self.not_[-1:]
        return [Token(NEGATIONS[clause.negation].french, sure, self.not_[:-1])]

    def _particle(self, index: int) -> Tokens:
        """faim of avoir faim (sure to hungry); bien of aimer bien only without negation."""
        verb, english_words = self.clause.verbs[index], self.extras[index]
        words = verb.french_particle
        if not words or ("mid" in verb.flags and self.clause.negation):
            return []
        strong = [token for token in english_words if token.text in verb.particle.split()[:1]]
        if "noun" in verb.flags:
            return [Token(words, [self.heads[index]])]
        if not strong:
            return [Token(words, [], [self.heads[index]])]
        return [Token(words, strong, [self.heads[index]])]

    def _french_objects(self) -> Tokens:
        """Full objects, with à for indirect ones and the preposition of the verb's own."""
        clause, out = self.clause, []
        if self.noun_direct:
            out += self._governed(clause.main.frame, self.noun_direct.fr)
        if self.noun_indirect:
            particles = self.extras[-1] if clause.main.frame != "ditr" else [self.to]
            sure = [token for token in particles if token.text in ("to", "at")]
            out += [Token("à", sure, [] if sure else [self.heads[-1]]), *self.noun_indirect.fr]
        return out

    def _governed(self, frame: str, phrase: Tokens) -> Tokens:
        """jouer du piano, jouer au tennis, parler de Paul."""
        if frame not in ("de", "à"):
            return phrase
        sure = [token for token in self.extras[-1] if token.text in ("about", "of")][:1]
        return [Token(frame, sure, [] if sure else [self.heads[-1]]), *phrase]

    def _front_question(self, statement: Tokens) -> Tokens:
        """est-ce que before the statement, after the question word; nothing when who? is the subject."""
        question = self.clause.question
        if question in (None, "subject"):
            return statement
        lead = list(question.fr) if isinstance(question, Pair) else []
        operator = self.auxiliaries[:1] or self.heads[:1]
        sources = operator + (list(question.en[:1]) if isinstance(question, Pair) else [])
        return [*lead, Token("est-ce", [], list(sources)), Token("que", [], list(sources)), *statement]


def realise(ctx: Context, clause: Clause) -> Pair:
    """Both sides of a clause."""
    return Realiser(ctx, clause).realise()
