"""The laws of encoder, decoder and state, for every attention and both orders."""

import itertools
import math

import pytest
import torch
from small_models import ATTENTIONS, DECODERS, ENCODERS, VOCABULARY_SIZE, part, random_batch, small_model
from torch import nn

from nmt.errors import NMTError
from nmt.models.gru import GatedSequence
from nmt.models.lexical import LexicalModel
from nmt.models.positions import sinusoidal_positions
from nmt.models.recurrent import LAYERS, RecurrentLayer

ORDERS = ("bahdanau", "luong", "luong-no-feeding")
COMBINATIONS = [(a, order, "birnn") for order in ORDERS for a in ATTENTIONS]
COMBINATIONS += [("additive", d, "birnn") for d in DECODERS] + [("additive", "bahdanau", e) for e in ENCODERS]
COMBINATIONS += [("none", "luong", "self_attention")]
COMBINATIONS += [(a, "transformer", "transformer") for a in ATTENTIONS]
COMBINATIONS += [("multihead", "transformer-learned", e) for e in ENCODERS]
COMBINATIONS += [("multihead", d, "transformer") for d in DECODERS]
every_model = pytest.mark.parametrize(("attention", "decoder", "encoder"), list(dict.fromkeys(COMBINATIONS)))


def same(left, right):
    torch.testing.assert_close(left, right, rtol=1e-9, atol=1e-11)


@every_model
def test_stepping_equals_teacher_forcing(attention, decoder, encoder):
    model = small_model(attention, decoder, encoder)
    src, mask, tgt = random_batch([5, 3, 1], target_size=6)
    logits, weights = model(src, mask, tgt)
    state = model.decoder.init_state(model.encode(src, mask))
    for position in range(tgt.shape[1]):
        step = model.decoder.step(tgt[:, position], state)
        state = step.state
        same(step.logits, logits[:, position])
        if weights is not None:
            same(step.weights, weights[:, position])


@every_model
def test_padding_and_neighbours_change_nothing(attention, decoder, encoder):
    model = small_model(attention, decoder, encoder)
    src, mask, tgt = random_batch([7, 4, 2], target_size=5)
    logits, weights = model(src, mask, tgt)
    alone_logits, alone_weights = model(src[1:2, :4], mask[1:2, :4], tgt[1:2])
    same(logits[1:2], alone_logits)
    if weights is not None:
        same(weights[1:2, :, :4], alone_weights)
        assert not weights[1, :, 4:].any()


@every_model
def test_hypotheses_of_a_sentence_are_independent(attention, decoder, encoder):
    """Two hypotheses a sentence, after a reordering, step like two sentences."""
    model = small_model(attention, decoder, encoder)
    src, mask, tgt = random_batch([5, 3], target_size=4)
    state = model.decoder.init_state(model.encode(src, mask))
    first = model.decoder.step(tgt[:, 0], state).state.reorder(torch.tensor([0, 0, 1, 1]))
    doubled = model.decoder.step(torch.tensor([4, 5, 6, 7]), first)
    alone = model.decoder.init_state(model.encode(src.repeat_interleave(2, 0), mask.repeat_interleave(2, 0)))
    alone = model.decoder.step(tgt[:, 0].repeat_interleave(2), alone).state
    expected = model.decoder.step(torch.tensor([4, 5, 6, 7]), alone)
    same(doubled.logits, expected.logits)
    kept = doubled.state.select(torch.tensor([1]), 2)
    tokens = torch.tensor([8, 9])
    both = model.decoder.step(torch.tensor([4, 5, 8, 9]), doubled.state)
    same(model.decoder.step(tokens, kept).logits, both.logits[2:])


@every_model
def test_gradients_reach_every_parameter(attention, decoder, encoder):
    model = small_model(attention, decoder, encoder)
    src, mask, tgt = random_batch([5, 3], target_size=5)
    logits, _ = model(src, mask, tgt)
    logits.log_softmax(dim=2)[..., 4].sum().backward()
    idle = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert idle == [name for name in idle if _cannot_matter(name, attention)]


def _cannot_matter(name: str, attention: str) -> bool:
    """Parameters that the loss does not depend on, by the architecture."""
    return attention in ("hard", "none") and "attention" in name


@pytest.mark.parametrize("cell", LAYERS)
def test_a_recurrent_layer_steps_as_it_runs(cell):
    torch.manual_seed(1)
    layer = RecurrentLayer(cell, 3, 4).double()
    inputs = torch.randn(2, 5, 3, dtype=torch.double)
    state = tuple(torch.randn(2, 4, dtype=torch.double) for _ in range(2 if cell == "lstm" else 1))
    stepper, states, at = layer.stepper(), [], state
    for projected in layer.project(inputs).unbind(dim=1):
        at = stepper.step(projected, at)
        states.append(at[0])
    same(torch.stack(states, dim=1), layer.run(inputs, state))


def test_the_gru_step_differentiates():
    torch.manual_seed(1)
    layer = RecurrentLayer("gru", 3, 4).double()
    projected = torch.randn(2, 12, dtype=torch.double, requires_grad=True)
    state = torch.randn(2, 4, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, h: layer.stepper().step(x, (h,))[0], (projected, state))


def test_the_gru_sequence_differentiates():
    torch.manual_seed(1)
    shapes = [(4, 2, 3, 6), (2, 3, 2), (2, 6, 2), (2, 6)]
    x, start, weight, bias = (torch.randn(shape, dtype=torch.double, requires_grad=True) for shape in shapes)
    mask = torch.rand(4, 2, 3, 1) < 0.6
    assert torch.autograd.gradcheck(
        lambda *a: GatedSequence.apply(a[0], mask, *a[1:]), (x, start, weight, bias)
    )


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("num_layers", [1, 2])
def test_our_gru_is_pytorchs(bidirectional, num_layers):
    """Annotations, final states and every gradient of the encoder, either way."""
    torch.manual_seed(0)
    factory = part("encoder", "birnn", num_layers=num_layers, bidirectional=bidirectional)
    encoder = factory(embedding=nn.Embedding(VOCABULARY_SIZE, 6), annotation_size=8).double()
    src, mask, _ = random_batch([2, 5, 3], target_size=1)
    results = []
    for run in (encoder._run_gru, encoder._run_packed):
        encoder.zero_grad()
        annotations, final = run(encoder.embedding(src), mask)
        annotations = annotations * mask.unsqueeze(2)
        (annotations.square().sum() + final.hidden.sin().sum()).backward()
        gradients = [parameter.grad.clone() for parameter in encoder.parameters()]
        results.append([annotations.detach(), final.hidden.detach(), *gradients])
    for ours, theirs in zip(*results, strict=True):
        same(ours, theirs)


@pytest.mark.parametrize("cell", LAYERS)
@pytest.mark.parametrize("bidirectional", [True, False])
def test_the_encoder_reads_each_sentence_alone(cell, bidirectional):
    torch.manual_seed(0)
    factory = part("encoder", "birnn", cell=cell, num_layers=2, bidirectional=bidirectional)
    encoder = factory(embedding=nn.Embedding(VOCABULARY_SIZE, 6), annotation_size=8).double().eval()
    src, mask, _ = random_batch([2, 5, 3], target_size=1)
    memory = encoder(src, mask)
    for sentence, length in enumerate([2, 5, 3]):
        alone = encoder(src[sentence : sentence + 1, :length], mask[sentence : sentence + 1, :length])
        same(memory.annotations[sentence, :length], alone.annotations[0])
        assert not memory.annotations[sentence, length:].any()
        same(memory.summary[sentence], alone.annotations[0].mean(dim=0))
        same(memory.final.hidden[sentence], alone.final.hidden[0])
    assert memory.annotations.shape == (3, 5, 8)


def test_a_forward_encoder_never_looks_ahead():
    encoder = part("encoder", "rnn")(embedding=nn.Embedding(VOCABULARY_SIZE, 6), annotation_size=8).eval()
    src, mask, _ = random_batch([5], target_size=1)
    torch.testing.assert_close(
        encoder(src, mask).annotations[:, :3], encoder(src[:, :3], mask[:, :3]).annotations
    )


def test_all_embeddings_are_one_when_tied():
    model = small_model(tie_embeddings="all")
    assert model.encoder.embedding.weight is model.decoder.embedding.weight is model.decoder.projection.weight


@pytest.mark.parametrize("tie", ["none", "output"])
def test_each_side_has_its_embeddings_when_not_joint(tie):
    model = small_model(tie_embeddings=tie)
    assert model.encoder.embedding.weight is not model.decoder.embedding.weight
    assert (model.decoder.projection.weight is model.decoder.embedding.weight) == (tie == "output")


@pytest.mark.parametrize(
    ("group", "name", "setting", "message"),
    [
        (
            "encoder",
            "self_attention",
            {"score": "general"},
            "encoder.score=general is no score here; choose one of dot, scaled_dot, qkv",
        ),
        (
            "encoder",
            "self_attention",
            {"positions": "learned"},
            "encoder.positions=learned: choose none or sinusoidal",
        ),
        ("encoder", "birnn", {"cell": "grü"}, "cell=grü is no recurrent cell; choose one of gru, lstm, rnn"),
        (
            "decoder",
            "bahdanau",
            {"start": "end"},
            "start=end is no way to start a decoder; choose one of mean, last, zero",
        ),
        ("decoder", "luong", {"readout": "relu"}, "readout=relu is no readout; choose tanh or maxout"),
    ],
)
def test_a_wrong_setting_is_one_clear_line(group, name, setting, message):
    factory = part(group, name, **setting)
    arguments = {"embedding": nn.Embedding(VOCABULARY_SIZE, 6)}
    if group == "encoder":
        arguments["annotation_size"] = 8
    else:
        arguments |= {"memory_size": 8, "hidden_size": 8, "attention": part("attention", "additive")}
    with pytest.raises(NMTError) as error:
        factory(**arguments)
    assert str(error.value) == message


@pytest.mark.parametrize("decoder", ["bahdanau", "luong"])
def test_a_decoder_without_contexts_still_decodes(decoder):
    """Sutskever's model: the encoder speaks through the first state alone."""
    options = DECODERS[decoder]
    made = part("decoder", decoder, **options)(
        embedding=nn.Embedding(VOCABULARY_SIZE, 6),
        attention=part("attention", "none", feed=False),
        memory_size=8,
        hidden_size=8,
    )
    encoder = part("encoder", "birnn")(embedding=nn.Embedding(VOCABULARY_SIZE, 6), annotation_size=8)
    src, mask, tgt = random_batch([5, 3], target_size=4)
    logits, weights = made(tgt, encoder(src, mask))
    assert logits.shape == (2, 4, VOCABULARY_SIZE)
    assert weights is None


def test_words_without_positions_are_a_bag() -> None:
    """Another order of the words is another order of the annotations, and nothing else."""
    src, mask, _ = random_batch([5], target_size=2)
    order = torch.tensor([3, 0, 4, 1, 2])
    for encoder, bag in (
        ("self_attention", True),
        ("self_attention-dot", True),
        ("self_attention-positions", False),
    ):
        model = small_model(encoder=encoder)
        there, here = model.encode(src[:, order], mask).annotations, model.encode(src, mask).annotations
        assert torch.allclose(there, here[:, order]) is bag


def test_self_attention_is_its_formula() -> None:
    """a_i = sum_j softmax_j(x_i . x_j) x_j, word by word; its map to another size comes after."""
    model = small_model(encoder="self_attention-dot")
    src, mask, _ = random_batch([4], target_size=2)
    words = model.encoder.embedding(src)[0]
    for word, annotation in zip(words, model.encode(src, mask).annotations[0], strict=True):
        energies = torch.stack([word @ other for other in words]).exp()
        mean = sum(energy / energies.sum() * other for energy, other in zip(energies, words, strict=True))
        same(model.encoder.output_map(mean), annotation)


def test_the_lexical_model_is_its_formula():
    """Nguyen and Chiang 2018, equations 8-9 but for the first tanh: word by word."""
    model = LexicalModel(4, 4).double()
    weights, words = torch.rand(2, 3, 5, dtype=torch.float64), torch.randn(2, 5, 4, dtype=torch.float64)
    added = model(weights, words)
    for b, t in itertools.product(range(2), range(3)):
        f = sum(weights[b, t, s] * words[b, s] for s in range(5))
        same(added[b, t], torch.tanh(model.map.weight @ f + model.map.bias) + f)


def test_a_lexical_model_needs_readouts_of_the_embeddings_size():
    with pytest.raises(
        NMTError, match="^decoder.lexical needs readouts of the embeddings' size: set decoder.re"
    ):
        LexicalModel(embedding_size=4, readout_size=5)
    assert (
        small_model("none", "luong-lexical").decoder.lexical is None
    )  # nothing is looked at, nothing is added


@pytest.mark.parametrize("decoder", ["bahdanau-lexical", "luong-no-feeding-lexical"])
def test_a_readout_without_its_context_knows_words_and_states_only(decoder):
    """Every context dropped, training's readout is that of contexts of zeros; evaluation drops none."""
    model = small_model("additive", decoder, dropout=0.0)
    src, mask, tgt = random_batch([5, 3], target_size=4)
    whole = model.features(src, mask, tgt).hidden
    model.decoder.context_dropout = 1.0
    same(model.features(src, mask, tgt).hidden, whole)
    dropped = model.train().features(src, mask, tgt).hidden
    columns = model.decoder.attention.context_size
    with torch.no_grad():
        model.decoder.readout.linear.weight[:, :columns] = 0.0
    same(model.eval().features(src, mask, tgt).hidden, dropped)


def test_sinusoidal_positions_are_the_papers() -> None:
    table = sinusoidal_positions(40, 6, like=torch.zeros((), dtype=torch.float64))
    for position, i in itertools.product(range(40), range(3)):
        angle = position / 10000 ** (2 * i / 6)
        assert table[position, 2 * i] == pytest.approx(math.sin(angle))
        assert table[position, 2 * i + 1] == pytest.approx(math.cos(angle))
    assert sinusoidal_positions(3, 5, like=torch.zeros(())).shape == (3, 5)
