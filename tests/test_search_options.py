"""What users may ask of search beyond the best translation, each held against its definition."""

import itertools
import math

import pytest
import torch
from small_models import VOCABULARY_SIZE, random_batch, small_model
from test_search import LENGTHS, ending_early, search

from nmt.data.pieces import BOS_ID, EOS_ID
from nmt.decoding.constraints import ForcedPrefix, NoRepeatedNgrams, Past
from nmt.decoding.forced import force_decode
from nmt.decoding.required import RequiredPhrases
from nmt.decoding.sampling import SamplingSettings, draw, random_numbers
from nmt.decoding.search import SearchSettings, beam_search
from nmt.errors import NMTError

WORDS = [token for token in range(VOCABULARY_SIZE) if token not in (0, BOS_ID, EOS_ID)]
ALL_START_WORDS = torch.ones(VOCABULARY_SIZE, dtype=torch.bool)


def every_score(model, src, mask, limit):
    """The log-probability and the weights of every possible translation of one sentence."""
    found = {}
    for length in range(limit + 1):
        for tokens in itertools.product(WORDS, repeat=length):
            tgt_in = torch.tensor([[BOS_ID, *tokens]])
            tgt_out = torch.tensor([[*tokens, EOS_ID]])
            forced = force_decode(model, src, mask, tgt_in, tgt_out, tgt_out >= 0)
            found[tokens] = float(forced.log_probabilities.sum()), forced.weights
    return found


@pytest.fixture(scope="module")
def exhaustive():
    model = ending_early(small_model("additive", "bahdanau", seed=5), bias=0.5)
    src, mask, _ = random_batch([4], target_size=1)
    return model, src, mask, every_score(model, src, mask, 3)


def widest(exhaustive, n_best=5, constraints=(), required=None, **options):
    model, src, mask, _ = exhaustive
    settings = SearchSettings(500, n_best, max_length_ratio=0, max_length_offset=2, **options)
    return beam_search(model.decoder, model.encode(src, mask), settings, constraints, required)[0]


def best_of(exhaustive, score, allowed=lambda tokens: True, limit=2, count=5):
    scores = {
        tokens: score(tokens, *each)
        for tokens, each in exhaustive[3].items()
        if len(tokens) <= limit and allowed(tokens)
    }
    return sorted(scores.items(), key=lambda item: -item[1])[:count]


def per_length(tokens, log_probability, weights):
    return log_probability / ((5 + len(tokens) + 1) / 6)


def assert_same(found, expected):
    assert [tuple(each.tokens) for each in found] == [tokens for tokens, _ in expected]
    assert [each.score for each in found] == pytest.approx([score for _, score in expected], rel=1e-9)


@pytest.mark.parametrize("beta", [0.2, 1.0])
def test_the_coverage_penalty_ranks_as_its_formula(exhaustive, beta):
    def score(tokens, log_probability, weights):
        coverage = weights[0, :, :-1].sum(dim=0)
        return per_length(tokens, log_probability, weights) + beta * sum(
            math.log(min(float(each), 1.0)) for each in coverage
        )

    assert_same(widest(exhaustive, coverage_penalty=beta), best_of(exhaustive, score))


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        ({"min_length": 1}, lambda tokens: len(tokens) >= 1),
        ({"min_length": 9}, lambda tokens: len(tokens) == 2),
        ({"min_length_ratio": 0.4}, lambda tokens: len(tokens) >= 1),
        ({"max_length": 1}, lambda tokens: len(tokens) <= 1),
        ({"no_repeat_ngram": 1}, lambda tokens: len(set(tokens)) == len(tokens)),
    ],
)
def test_a_limit_finds_the_best_within_it(exhaustive, options, allowed):
    assert_same(widest(exhaustive, **options), best_of(exhaustive, per_length, allowed))


def test_no_ngram_comes_twice():
    model = ending_early(small_model(), bias=-50)
    _, _, free = search(model, beam_size=3, n_best=3)
    _, _, found = search(model, beam_size=3, n_best=3, no_repeat_ngram=2)

    def repeats(hypothesis):
        pairs = list(itertools.pairwise(hypothesis.tokens))
        return len(set(pairs)) < len(pairs)

    assert any(repeats(each) for hypotheses in free for each in hypotheses)
    assert not any(repeats(each) for hypotheses in found for each in hypotheses)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_repetitions_are_found_anywhere(size):
    tokens = torch.tensor([[[4, 5, 6, 4, 5], [4, 4, 4, 4, 4]]])
    logits = torch.zeros(1, 2, VOCABULARY_SIZE)
    NoRepeatedNgrams(size).forbid(logits, Past(tokens, None), torch.tensor([0]))
    forbidden = [{int(token) for token in (row == -torch.inf).nonzero() if token} for row in logits[0]]
    assert forbidden == {1: [{4, 5, 6}, {4}], 2: [{6}, {4}], 3: [{6}, {4}]}[size]


def test_a_forced_prefix_is_begun_with_and_the_best_goes_on_from_it(exhaustive):
    prefix = [WORDS[3]]
    model, src, mask, _ = exhaustive
    settings = SearchSettings(500, 5, max_length_ratio=0, max_length_offset=1)
    constraint = ForcedPrefix([prefix], src.device)
    found = beam_search(model.decoder, model.encode(src, mask), settings, [constraint])[0]
    assert_same(found, best_of(exhaustive, per_length, lambda tokens: list(tokens[:1]) == prefix))


def test_prefixes_belong_to_their_sentences():
    model = ending_early(small_model())
    src, mask, _ = random_batch(LENGTHS, target_size=1, seed=3)
    prefixes = [[4, 5, 6], [], [7], [4, 4, 4, 4]]
    found = beam_search(
        model.decoder, model.encode(src, mask), SearchSettings(4, 2), [ForcedPrefix(prefixes, src.device)]
    )
    _, _, free = search(model, beam_size=4, n_best=2)
    for prefix, hypotheses in zip(prefixes, found, strict=True):
        assert all(each.tokens[: len(prefix)] == prefix for each in hypotheses)
    assert [each.tokens for each in found[1]] == [each.tokens for each in free[1]]


@pytest.mark.parametrize("phrases", [[(4,)], [(4, 5)], [(4,), (9,)], [(6, 6)]])
def test_required_phrases_in_a_wide_beam_are_exhaustive_search(exhaustive, phrases):
    def says(tokens):
        return all(
            any(tokens[start : start + len(phrase)] == phrase for start in range(len(tokens)))
            for phrase in phrases
        )

    model, src, mask, _ = exhaustive
    settings = SearchSettings(500, 3, max_length_ratio=0, max_length_offset=1)
    required = RequiredPhrases([phrases], ALL_START_WORDS)
    found = beam_search(model.decoder, model.encode(src, mask), settings, (), required)[0]
    longest = 1 + sum(map(len, phrases))
    assert_same(found, best_of(exhaustive, per_length, says, longest, count=3))


@pytest.mark.parametrize("beam_size", [1, 2, 5])
def test_even_a_narrow_beam_says_what_it_must(beam_size):
    model = ending_early(small_model())
    src, mask, _ = random_batch(LENGTHS, target_size=1, seed=3)
    phrases = [[(4, 5), (9,)], [], [(6, 6, 6)], [(7,), (8,), (10, 1)]]
    required = RequiredPhrases(phrases, ALL_START_WORDS)
    settings = SearchSettings(beam_size)
    found = beam_search(model.decoder, model.encode(src, mask), settings, (), required)
    for wanted, hypotheses in zip(phrases, found, strict=True):
        (best,) = hypotheses
        text = " ".join(map(str, best.tokens))
        assert all(f" {' '.join(map(str, phrase))} " in f" {text} " for phrase in wanted)
    _, _, free = search(model, beam_size=beam_size)
    assert found[1][0].tokens == free[1][0].tokens


def test_a_required_word_is_not_the_beginning_of_another():
    starts_word = ALL_START_WORDS.clone()
    starts_word[5] = False  # 4 5 is one word, and not the word 4
    required = RequiredPhrases([[(4,)]], starts_word)
    progress = [required._measure(((4,),), tokens) for tokens in [(4, 5), (4, 5, 4), (4, 6), (4,)]]
    assert [each.is_complete for each in progress] == [False, True, True, True]
    assert [each.ends_phrase for each in progress] == [False, True, False, True]


def test_diverse_groups_differ_more_and_scores_are_the_models():
    model = ending_early(small_model())
    src, mask, plain = search(model, beam_size=4, n_best=4)
    _, _, diverse = search(model, beam_size=4, n_best=4, num_groups=4, diversity=5.0)

    def kinds(hypotheses):
        return len({tuple(each.tokens[:2]) for each in hypotheses})

    assert sum(map(kinds, diverse)) > sum(map(kinds, plain))
    for sentence, hypotheses in enumerate(diverse):
        assert [each.score for each in hypotheses] == sorted(
            (each.score for each in hypotheses), reverse=True
        )
        assert len({tuple(each.tokens) for each in hypotheses}) == len(hypotheses)
        for each in hypotheses:
            tgt_in, tgt_out = torch.tensor([[BOS_ID, *each.tokens]]), torch.tensor([[*each.tokens, EOS_ID]])
            row = slice(sentence, sentence + 1)
            forced = force_decode(model, src[row], mask[row], tgt_in, tgt_out, tgt_out >= 0)
            assert each.log_probability == pytest.approx(float(forced.log_probabilities.sum()), rel=1e-9)


def test_the_first_group_searches_as_if_alone_and_without_diversity_all_do():
    model = ending_early(small_model())
    _, _, alone = search(model, beam_size=2, n_best=2)
    _, _, grouped = search(model, beam_size=6, n_best=6, num_groups=3, diversity=0.0)
    assert [[each.tokens for each in one] for one in grouped] == [
        [each.tokens for each in one] for one in alone
    ]
    _, _, diverse = search(model, beam_size=6, n_best=6, num_groups=3, diversity=2.0)
    for one, several in zip(alone, diverse, strict=True):
        assert one[0].tokens in [each.tokens for each in several]


# --- sampling


def samples(model, src, mask, **options):
    sources = [[int(token) for token in row[keep]] for row, keep in zip(src, mask, strict=True)]
    return SamplingSettings(**options).search(model.decoder, model.encode(src, mask), sources)


def test_samples_have_the_models_distribution(exhaustive):
    model, src, mask, scores = exhaustive
    (found,) = samples(
        model, src, mask, num_samples=4000, n_best=4000, max_length_ratio=0, max_length_offset=2
    )
    counts: dict[tuple[int, ...], int] = {}
    for each in found:
        tokens = tuple(each.tokens)
        counts[tokens] = counts.get(tokens, 0) + 1
        assert each.log_probability == pytest.approx(scores[tokens][0], rel=1e-9)
    for tokens in scores:
        if len(tokens) < 2:  # the longest ones also hold what had to end
            expected = probability_without_padding(model, src, mask, tokens)
            bound = 4 * (expected / 4000) ** 0.5 + 1e-3
            assert counts.get(tokens, 0) / 4000 == pytest.approx(expected, abs=bound)


def probability_without_padding(model, src, mask, tokens):
    """Of `tokens` and the end, where no padding and no beginning can come."""
    with torch.no_grad():
        logits, _ = model(src, mask, torch.tensor([[BOS_ID, *tokens]]))
    logits[..., [0, BOS_ID]] = -torch.inf
    return float(logits.softmax(dim=2)[0, range(len(tokens) + 1), [*tokens, EOS_ID]].prod())


@pytest.mark.parametrize("options", [{}, {"top_k": 3}, {"top_p": 0.8}, {"temperature": 0.5}])
def test_neighbours_do_not_change_samples(options):
    model = ending_early(small_model())
    src, mask, _ = random_batch(LENGTHS, target_size=1, seed=3)
    together = samples(model, src, mask, num_samples=3, n_best=3, **options)
    for sentence, length in enumerate(LENGTHS):
        row = slice(sentence, sentence + 1)
        (alone,) = samples(model, src[row, :length], mask[row, :length], num_samples=3, n_best=3, **options)
        assert [each.tokens for each in alone] == [each.tokens for each in together[sentence]]
    other = samples(model, src, mask, num_samples=3, n_best=3, seed=2, **options)
    assert [[each.tokens for each in one] for one in other] != [
        [each.tokens for each in one] for one in together
    ]


def test_drawing_is_the_inverse_of_the_cumulative_distribution():
    logits = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.double).log().expand(1, 101, 4)
    numbers = torch.linspace(0, 0.9999, 101, dtype=torch.double).unsqueeze(0)

    def shares(**options):
        drawn = draw(logits, numbers, SamplingSettings(**options))
        return [round(float((drawn == token).double().mean()), 1) for token in range(4)]

    assert shares() == [0.1, 0.2, 0.3, 0.4]
    assert shares(top_k=2) == [0, 0, 0.4, 0.6]
    assert shares(top_p=0.5) == [0, 0, 0.4, 0.6]  # 0.4 alone has less
    assert shares(top_p=0.4) == [0, 0, 0, 1]
    assert shares(temperature=0.01) == [0, 0, 0, 1]


def test_a_sentence_has_its_own_random_numbers():
    one = random_numbers([[4, 5]], 1, 2, [6])
    two = random_numbers([[7], [4, 5]], 1, 2, [9, 6])
    assert torch.equal(one[0], two[1, :, :7]) and not torch.equal(two[0, :, :7], one[0])
    assert not torch.equal(one, random_numbers([[4, 5]], 2, 2, [6]))


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (
            SearchSettings,
            {"num_groups": 2},
            "search.num_groups=2 groups cannot share search.beam_size=5 evenly.*",
        ),
        (
            SearchSettings,
            {"coverage_penalty": -1.0},
            r"search.coverage_penalty=-1.0: give 0 \(for none\) or more",
        ),
        (SearchSettings, {"min_length": -1}, "search.min_length=-1: a length cannot be negative"),
        (
            SamplingSettings,
            {"top_p": 0.0},
            "search.temperature=1.0 must be above 0, and search.top_p=0.0 above 0.*",
        ),
        (SamplingSettings, {"n_best": 2}, "search.n_best=2 is not within 1 and search.num_samples=1; .*"),
    ],
)
def test_wrong_options_are_one_clear_line(make, options, message):
    with pytest.raises(NMTError, match=message):
        make(**options)


def test_the_coverage_penalty_needs_attention():
    with pytest.raises(NMTError, match="search.coverage_penalty needs attention"):
        search(small_model("none"), coverage_penalty=0.2)
