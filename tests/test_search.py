"""The laws of search: it finds what there is to find, and reports what the model says of it."""

import itertools

import pytest
import torch
from small_models import ATTENTIONS, DECODERS, VOCABULARY_SIZE, random_batch, small_model

from nmt.data.pieces import BOS_ID, EOS_ID
from nmt.decoding.forced import force_decode
from nmt.decoding.search import SearchSettings, beam_search
from nmt.errors import NMTError
from nmt.models.interfaces import Step
from nmt.models.state import DecoderState, Memory

every_attention = pytest.mark.parametrize("attention", ATTENTIONS)
LENGTHS = [6, 2, 4, 1]


def search(model, lengths=LENGTHS, seed=3, **settings):
    src, mask, _ = random_batch(lengths, target_size=1, seed=seed)
    return src, mask, beam_search(model.decoder, model.encode(src, mask), SearchSettings(**settings))


def ending_early(model, bias=1.5):
    """A random model that likes to end, so that hypotheses of many lengths finish."""
    with torch.no_grad():
        model.decoder.projection.bias[EOS_ID] += bias
    return model


def greedy(model, src, mask, limit):
    """Plain greedy search of one sentence: the best token at each step."""
    state = model.decoder.init_state(model.encode(src, mask))
    tokens, last = [], BOS_ID
    while len(tokens) < limit:
        step = model.decoder.step(torch.tensor([last]), state)
        scores = step.logits[0].clone()
        scores[[0, BOS_ID]] = -torch.inf
        last, state = int(scores.argmax()), step.state
        if last == EOS_ID:
            break
        tokens.append(last)
    return tokens


@every_attention
@pytest.mark.parametrize("decoder", ["bahdanau", "luong", "transformer"])
def test_a_beam_of_one_is_greedy(attention, decoder):
    model = ending_early(small_model(attention, decoder))
    src, mask, found = search(model, beam_size=1, max_length_ratio=2, max_length_offset=3)
    for sentence, length in enumerate(LENGTHS):
        alone = src[sentence : sentence + 1, :length], mask[sentence : sentence + 1, :length]
        assert found[sentence][0].tokens == greedy(model, *alone, limit=2 * (length - 1) + 3)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("decoder", ["bahdanau", "luong-lstm", "transformer"])
def test_a_wide_beam_is_exhaustive_search(decoder, alpha):
    model = ending_early(small_model("additive", decoder, seed=5), bias=0.5)
    src, mask, _ = random_batch([4], target_size=1)
    words = [token for token in range(VOCABULARY_SIZE) if token not in (0, BOS_ID, EOS_ID)]
    limit = 3
    scores = {}
    for length in range(limit + 1):
        combinations = list(itertools.product(words, repeat=length))
        candidates = torch.tensor(combinations, dtype=torch.long).view(len(combinations), length)
        tgt = torch.cat([torch.full((len(candidates), 1), BOS_ID), candidates], dim=1)
        with torch.no_grad():
            logits, _ = model(src.expand(len(tgt), -1), mask.expand(len(tgt), -1), tgt)
        out = torch.cat([candidates, torch.full((len(candidates), 1), EOS_ID)], dim=1)
        total = logits.log_softmax(2).gather(2, out.unsqueeze(2)).sum(dim=(1, 2))
        penalty = ((5 + length + 1) / 6) ** alpha
        scores |= {tuple(c.tolist()): float(t) / penalty for c, t in zip(candidates, total, strict=True)}
    best = sorted(scores.items(), key=lambda item: -item[1])[:5]
    settings = SearchSettings(2000, 5, alpha, max_length_ratio=0, max_length_offset=limit)
    found = beam_search(model.decoder, model.encode(src, mask), settings)[0]
    assert [tuple(hypothesis.tokens) for hypothesis in found] == [tokens for tokens, _ in best]
    assert [h.score for h in found] == pytest.approx([score for _, score in best], rel=1e-9)


@every_attention
@pytest.mark.parametrize("decoder", DECODERS)
def test_scores_and_weights_equal_teacher_forcing(attention, decoder):
    model = ending_early(small_model(attention, decoder))
    src, mask, found = search(model, beam_size=4, n_best=4)
    seen_lengths = set()
    for sentence, hypotheses in enumerate(found):
        assert [h.score for h in hypotheses] == sorted((h.score for h in hypotheses), reverse=True)
        assert len({tuple(h.tokens) for h in hypotheses}) == len(hypotheses)
        for hypothesis in hypotheses:
            seen_lengths.add(len(hypothesis.tokens))
            tgt_in = torch.tensor([[BOS_ID, *hypothesis.tokens]])
            tgt_out = torch.tensor([[*hypothesis.tokens, EOS_ID]])
            forced = force_decode(
                model,
                src[sentence : sentence + 1],
                mask[sentence : sentence + 1],
                tgt_in,
                tgt_out,
                tgt_out >= 0,
            )
            assert hypothesis.token_log_probabilities == pytest.approx(
                forced.log_probabilities[0].tolist(), rel=1e-9
            )
            assert hypothesis.log_probability == pytest.approx(
                float(forced.log_probabilities.sum()), rel=1e-9
            )
            if forced.weights is not None:
                torch.testing.assert_close(hypothesis.weights, forced.weights[0], rtol=1e-9, atol=1e-12)
    assert len(seen_lengths) > 1


@pytest.mark.parametrize("beam_size", [1, 3, 5])
@pytest.mark.parametrize(
    ("attention", "decoder", "encoder"),
    [("additive", "bahdanau", "birnn"), ("multihead", "transformer", "transformer")],
)
def test_neighbours_change_nothing(attention, decoder, encoder, beam_size):
    model = ending_early(small_model(attention, decoder, encoder))
    src, mask, together = search(model, beam_size=beam_size, n_best=beam_size)
    for sentence, length in enumerate(LENGTHS):
        memory = model.encode(src[sentence : sentence + 1, :length], mask[sentence : sentence + 1, :length])
        alone = beam_search(model.decoder, memory, SearchSettings(beam_size, beam_size))[0]
        assert [h.tokens for h in alone] == [h.tokens for h in together[sentence]]
        assert [h.score for h in alone] == pytest.approx([h.score for h in together[sentence]], rel=1e-9)


def test_hypotheses_end_at_the_limit():
    model = ending_early(small_model(), bias=-50)
    _, _, found = search(model, beam_size=3, n_best=3, max_length_ratio=1, max_length_offset=2)
    assert [{len(h.tokens) for h in hypotheses} for hypotheses in found] == [{n - 1 + 2} for n in LENGTHS]


class Scripted:
    """A decoder that is sure of one long translation, while every step offers a poor ending as its second
    choice.
    """

    def __init__(self, length):
        self.length = length

    def init_state(self, memory):
        return DecoderState((), (torch.zeros(memory.mask.shape[0], dtype=torch.long),))

    def step(self, tokens, state):
        (position,) = state.prefix
        probabilities = torch.full((len(tokens), VOCABULARY_SIZE), 1e-6, dtype=torch.double)
        probabilities[:, EOS_ID] = torch.where(position < self.length, 0.02, 0.97)
        probabilities[:, 4] = torch.where(position < self.length, 0.97, 0.02)
        return Step(probabilities.log(), None, DecoderState((), (position + 1,)))


@pytest.mark.parametrize("beam_size", [1, 2, 3, 5])
def test_poor_endings_do_not_end_the_search(beam_size):
    memory = Memory(
        torch.zeros(1, 9, 1, dtype=torch.double), torch.ones(1, 9, dtype=torch.bool), torch.zeros(1, 1)
    )
    found = beam_search(Scripted(8), memory, SearchSettings(beam_size))
    assert found[0][0].tokens == [4] * 8


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beam_size": 0}, "search.beam_size=0: a beam holds at least 1 hypothesis"),
        (
            {"beam_size": 2, "n_best": 3},
            "search.n_best=3 is not within 1 and search.beam_size=2; raise the beam size",
        ),
    ],
)
def test_wrong_settings_are_one_clear_line(settings, message):
    with pytest.raises(NMTError) as error:
        SearchSettings(**settings)
    assert str(error.value) == message
