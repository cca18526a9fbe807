"""The Transformer is the paper's, as PyTorch's own layers show, and its ways of computing agree."""

import pytest
import torch
from small_models import VOCABULARY_SIZE, part, random_batch, small_model
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from nmt.decoding.search import SearchSettings, beam_search
from nmt.errors import NMTError
from nmt.models.dropout import Dropout
from nmt.models.feed_forward import FeedForward
from nmt.models.residual import final_norm
from nmt.models.self_attention import Cache, SelfAttention
from nmt.models.state import Memory, map_tensors
from nmt.models.transformer_decoder import TIDY_EVERY, DecoderLayer
from nmt.models.transformer_encoder import EncoderLayer
from nmt.models.word_input import WordInput

SIZE, HEADS, INNER, LAYERS = 8, 2, 12, 3


def same(left, right):
    torch.testing.assert_close(left, right, rtol=1e-9, atol=1e-11)


@torch.no_grad()
def copy_attention(theirs, query, keys, values, output):
    """Our maps into PyTorch's attention, which has biases besides."""
    theirs.in_proj_weight.copy_(torch.cat([query, keys, values]))
    theirs.in_proj_bias.zero_()
    theirs.out_proj.weight.copy_(output)
    theirs.out_proj.bias.zero_()


def copy_self_attention(ours, theirs):
    copy_attention(theirs, *ours.input_map.weight.chunk(3), ours.output_map.weight)


@torch.no_grad()
def randomise(module):
    for parameter in module.parameters():
        parameter.copy_(torch.randn_like(parameter) * 0.5)


def settings(norm, activation):
    return {
        "dim_feedforward": INNER,
        "dropout": 0.0,
        "activation": activation,
        "batch_first": True,
        "norm_first": norm == "pre",
        "dtype": torch.double,
    }


every_kind = pytest.mark.parametrize(
    ("norm", "activation"), [(n, a) for n in ("pre", "post") for a in ("relu", "gelu")]
)


@every_kind
def test_the_encoder_is_a_stack_of_pytorchs_layers(norm, activation):
    torch.manual_seed(1)
    layers = [
        EncoderLayer(SIZE, HEADS, INNER, norm=norm, activation=activation).double() for _ in range(LAYERS)
    ]
    x = torch.randn(3, 6, SIZE, dtype=torch.double)
    mask = torch.arange(6) < torch.tensor([6, 4, 1]).unsqueeze(1)
    ours, expected = x, x
    for layer in layers:
        randomise(layer)
        theirs = nn.TransformerEncoderLayer(SIZE, HEADS, **settings(norm, activation))
        copy_self_attention(layer.self_attention, theirs.self_attn)
        theirs.norm1.load_state_dict(layer.self_residual.norm.state_dict())
        theirs.norm2.load_state_dict(layer.feed_forward_residual.norm.state_dict())
        theirs.linear1.load_state_dict(layer.feed_forward.inner_map.state_dict())
        theirs.linear2.load_state_dict(layer.feed_forward.output_map.state_dict())
        ours = layer(ours, mask[:, None, None])
        expected = theirs(expected, src_key_padding_mask=~mask)
    same(ours[mask], expected[mask])


@every_kind
def test_the_decoder_is_a_stack_of_pytorchs_layers(norm, activation):
    torch.manual_seed(1)
    x, annotations = torch.randn(3, 5, SIZE).double(), torch.randn(3, 6, SIZE).double()
    mask = torch.arange(6) < torch.tensor([6, 4, 1]).unsqueeze(1)
    causal = nn.Transformer.generate_square_subsequent_mask(5, dtype=torch.double)
    ours, expected = x, x
    for _ in range(LAYERS):
        attention = part("attention", "multihead", num_heads=HEADS)(SIZE)
        layer = DecoderLayer(SIZE, HEADS, INNER, attention, norm=norm, activation=activation).double()
        randomise(layer)
        theirs = nn.TransformerDecoderLayer(SIZE, HEADS, **settings(norm, activation))
        copy_self_attention(layer.self_attention, theirs.self_attn)
        maps = (attention.query_map, attention.key_map, attention.value_map, attention.output_map)
        copy_attention(theirs.multihead_attn, *(linear.weight for linear in maps))
        theirs.norm1.load_state_dict(layer.self_residual.norm.state_dict())
        theirs.norm2.load_state_dict(layer.attention_residual.norm.state_dict())
        theirs.norm3.load_state_dict(layer.feed_forward_residual.norm.state_dict())
        theirs.linear1.load_state_dict(layer.feed_forward.inner_map.state_dict())
        theirs.linear2.load_state_dict(layer.feed_forward.output_map.state_dict())
        ours, _ = layer(ours, attention.prepare(annotations, mask), need_weights=True)
        expected = theirs(expected, annotations, tgt_mask=causal, memory_key_padding_mask=~mask)
    same(ours, expected)


def test_the_gated_network_is_its_formula():
    torch.manual_seed(0)
    network = FeedForward(SIZE, INNER, "swiglu").double()
    x = torch.randn(2, 3, SIZE, dtype=torch.double)
    gate, linear = network.inner_map(x).chunk(2, dim=-1)
    same(network(x), network.output_map(gate * gate.sigmoid() * linear))
    assert network.inner_map.out_features == 2 * INNER


def test_embeddings_are_scaled_and_positions_are_added():
    embedded = torch.randn(2, 4, 6).double()
    words = WordInput(6, 6).double()
    same(words(embedded) - words(torch.zeros_like(embedded)), embedded * 6**0.5)
    same(words(embedded[:, 2:], start=2), words(embedded)[:, 2:])
    learned = WordInput(6, 6, positions="learned", max_positions=4).double()
    same(learned(embedded)[:, 1], embedded[:, 1] * 6**0.5 + learned.learned.table[1])


def test_word_dropout_drops_whole_words_and_keeps_their_positions():
    torch.manual_seed(0)
    words = WordInput(6, 6, word_dropout=0.5).double().train()
    positions = words(torch.zeros(1, 50, 6).double())
    seen = words(torch.ones(1, 50, 6).double()) - positions
    kept = seen.abs().sum(dim=2) > 1e-9
    assert 5 < int(kept.sum()) < 45
    same(seen[kept], torch.full_like(seen[kept], 2 * 6**0.5))


@pytest.mark.parametrize("where", ["encoder", "decoder"])
@pytest.mark.parametrize(
    "name", ["dropout", "attention_dropout", "activation_dropout", "word_dropout", "embedding_dropout"]
)
def test_every_dropout_drops_in_training_alone(where, name):
    torch.manual_seed(0)
    sizes = {"encoder": {"annotation_size": 8}, "decoder": {"memory_size": 8, "hidden_size": 8}}[where]
    if where == "decoder":
        sizes["attention"] = part("attention", "multihead")
    module = part(where, "transformer", num_heads=2, num_layers=1, **{name: 0.5})(
        embedding=nn.Embedding(VOCABULARY_SIZE, 8), **sizes
    )
    src, mask, tgt = random_batch([5, 3], target_size=5)
    memory = Memory.of(torch.randn(2, 5, 8), mask)

    def run():
        torch.manual_seed(1)
        first = module(src, mask).annotations if where == "encoder" else module(tgt, memory)[0]
        return first, module(src, mask).annotations if where == "encoder" else module(tgt, memory)[0]

    assert not torch.equal(*run())
    module.eval()
    torch.testing.assert_close(*run())


@pytest.mark.parametrize("encoder", ["birnn", "transformer"])
@pytest.mark.parametrize("attention", ["multihead", "scaled_dot", "qkv", "additive", "local_p"])
def test_features_are_the_same_with_and_without_weights(attention, encoder):
    model = small_model(attention, "transformer", encoder)
    src, mask, tgt = random_batch([5, 3, 1], target_size=6)
    with_weights = model.features(src, mask, tgt)
    without = model.features(src, mask, tgt, need_weights=False)
    same(with_weights.hidden, without.hidden)
    assert without.head_weights is None
    assert (without.weights is None) == (attention in ("multihead", "scaled_dot", "qkv"))


def test_any_layer_and_head_can_be_the_alignment():
    src, mask, tgt = random_batch([5, 3], target_size=4)
    layers, heads = 3, 4  # of transformer-learned
    all_heads = small_model("multihead", "transformer-learned").features(src, mask, tgt).head_weights
    assert all_heads.shape == (2, layers, heads, 4, 5)
    same(all_heads.sum(dim=4), torch.ones_like(all_heads[..., 0]))
    for layer in range(layers):
        for head in (None, *range(heads)):
            model = small_model("multihead", "transformer-learned")
            model.decoder.align_layer, model.decoder.align_head = (
                layer + 1,
                None if head is None else head + 1,
            )
            expected = all_heads[:, layer].mean(dim=1) if head is None else all_heads[:, layer, head]
            same(model.features(src, mask, tgt).weights, expected)
            state = model.decoder.init_state(model.encode(src, mask))
            same(model.decoder.step(tgt[:, 0], state).weights, expected[:, 0])


def test_the_alignment_is_the_last_layers_but_one_unless_chosen():
    assert small_model("multihead", "transformer-learned").decoder.align_layer == 2


def test_layers_of_attentions_without_heads_show_their_weights():
    src, mask, tgt = random_batch([5, 3], target_size=4)
    features = small_model("additive", "transformer").features(src, mask, tgt)
    assert features.head_weights.shape == (2, 2, 1, 4, 5)
    same(features.head_weights[:, 0, 0], features.weights)
    assert small_model("none", "transformer").features(src, mask, tgt).head_weights is None


def test_cross_attention_takes_heads_and_dropout_from_the_decoder_unless_told():
    def attention(**own):
        return (
            part("decoder", "transformer", num_heads=2, attention_dropout=0.25)(
                embedding=nn.Embedding(VOCABULARY_SIZE, 8),
                attention=part("attention", "multihead", **own),
                memory_size=8,
                hidden_size=8,
            )
            .layers[0]
            .attention
        )

    assert (attention().num_heads, attention().dropout) == (2, 0.25)
    assert (attention(num_heads=8, dropout=0.0).num_heads, attention(num_heads=8, dropout=0.0).dropout) == (
        8,
        0,
    )


def test_one_embedding_serves_three_places():
    model = small_model("multihead", "transformer", "transformer", tie_embeddings="all")
    assert model.encoder.embedding.weight is model.decoder.embedding.weight is model.decoder.projection.weight


@pytest.mark.parametrize("tie", ["none", "output", "all"])
def test_fresh_embeddings_have_unit_variance_once_scaled(tie):
    torch.manual_seed(0)
    made = small_model("multihead", "transformer", "transformer", tie_embeddings=tie, embedding_size=200)
    for side in (made.encoder, made.decoder):  # small models double what they start with
        assert float(side.embedding.weight[1:].detach().std()) * side.embedding_scale == pytest.approx(
            2, abs=0.2
        )


# Decoding


@pytest.mark.parametrize("gradients", [True, False])
def test_a_cache_is_a_value(gradients):
    """Two steps from one cache, either first, and what came before stays as it was."""
    with torch.set_grad_enabled(gradients):
        cache = Cache.empty(torch.zeros(2, 1, 3))
        first, left, right = (torch.randn(2, 1, 2, 3) for _ in range(3))
        cache = cache.extend(first, -first)
        one, other = cache.extend(left, -left), cache.extend(right, -right)
        for extended, new in ((one, left), (other, right), (one, left)):
            assert torch.equal(extended.used()[0], torch.cat([first, new], dim=2))
            assert torch.equal(extended.used()[1], -torch.cat([first, new], dim=2))
        assert torch.equal(cache.used()[0], first)
        picked = map_tensors(lambda tensor: tensor[[1]], one)
        again = picked.extend(right[[1]], right[[1]])
        assert torch.equal(again.used()[0], torch.cat([first, left, right], dim=2)[[1]])
        assert torch.equal(one.used()[0], torch.cat([first, left], dim=2))


class Written(TorchDispatchMode):
    """Counts the numbers that operations write: those of fresh results, and those written in place."""

    total = 0

    def __torch_dispatch__(self, operation, types, arguments=(), keywords=None):
        result = operation(*arguments, **(keywords or {}))
        given = {a.untyped_storage().data_ptr() for a in arguments if isinstance(a, torch.Tensor)}
        for made in result if isinstance(result, tuple) else (result,):
            if isinstance(made, torch.Tensor):
                is_fresh = made.untyped_storage().data_ptr() not in given
                self.total += made.numel() if is_fresh or operation._schema.is_mutable else 0
        return result


def test_a_steps_cost_grows_by_what_attention_reads():
    """Numbers written by a step and by search's reordering: as many more each time as there are new places,
    times a few masks and energies. Copied keys and values alone would be times their size.
    """
    size, width, steps = 64, 3, 120
    model = small_model("multihead", "transformer", "transformer", hidden_size=size)
    src, mask, _ = random_batch([6, 6], target_size=1)
    rows = torch.tensor([1, 0, 2, 5, 5, 3])
    written = []
    with torch.no_grad():
        state = model.decoder.init_state(model.encode(src, mask))
        state = model.decoder.step(torch.tensor([2, 2]), state).state.reorder(rows // width)
        for _ in range(steps):
            with Written() as counter:
                state = model.decoder.step(torch.full((6,), 4), state).state.reorder(rows)
            written.append(counter.total)
    usual = sorted(written)[: steps - 5]  # but for the steps at which a buffer doubles
    growth = (usual[-1] - usual[0]) / len(usual)
    new_places, layers, heads = 2 * width * width, 2, 2
    assert growth < new_places * layers * heads * 4
    assert growth < 0.2 * layers * 2 * (2 * width) * size  # keys and values of one more word each
    assert sum(written) < 2 * sum(usual)


def test_places_of_dead_hypotheses_leave_the_cache():
    """At any length the cache holds little more than what some hypothesis owns, and logits are those of the
    words of each.
    """
    width, steps = 3, 50
    model = small_model("multihead", "transformer", "transformer")
    src, mask, _ = random_batch([6, 4], target_size=1)
    memory = model.encode(src, mask)
    tokens = torch.full((2, 1), 2)
    with torch.no_grad():
        state = model.decoder.init_state(memory)
        for _ in range(steps):
            step = model.decoder.step(tokens[:, -1], state)
            parents = torch.randint(0, len(tokens) // 2, (2, width))
            rows = (parents + torch.arange(2).unsqueeze(1) * (len(tokens) // 2)).flatten()
            state = step.state.reorder(rows)
            tokens = torch.cat([tokens[rows], torch.randint(4, VOCABULARY_SIZE, (2 * width, 1))], dim=1)
            owned = state.prefix.own.unflatten(0, (2, width)).any(dim=1).sum(dim=1).max()
            assert state.source.caches[0].length <= 4 / 3 * owned + (TIDY_EVERY + 1) * width
        last = model.decoder.step(tokens[:, -1], state).logits
        forced, _ = model(src.repeat_interleave(width, 0), mask.repeat_interleave(width, 0), tokens)
    same(last, forced[:, -1])


def test_the_source_is_never_repeated_for_hypotheses():
    """Search of a beam of 5 prepares each sentence once and asks five queries at a time."""
    model = small_model("multihead", "transformer", "transformer")
    seen = []
    attention = model.decoder.layers[0].attention
    attend = attention.attend

    def spy(query, source, memo, need_weights=True):
        seen.append((query.shape[:2], source.keys.shape[0]))
        return attend(query, source, memo, need_weights)

    attention.attend = spy
    src, mask, _ = random_batch([6, 3], target_size=1)
    beam_search(model.decoder, model.encode(src, mask), SearchSettings(beam_size=5))
    assert seen[0] == ((2, 1), 2)
    assert all(sentences == queries[0] and queries[1] in (1, 5) for queries, sentences in seen)


def test_a_step_differentiates_as_teacher_forcing_does():
    model = small_model("multihead", "transformer", "transformer")
    src, mask, tgt = random_batch([5, 3], target_size=4)
    loss = model(src, mask, tgt)[0].square().sum()
    expected = torch.autograd.grad(loss, list(model.parameters()))
    state, total = model.decoder.init_state(model.encode(src, mask)), 0.0
    for position in range(tgt.shape[1]):
        step = model.decoder.step(tgt[:, position], state)
        total, state = total + step.logits.square().sum(), step.state
    for ours, theirs in zip(torch.autograd.grad(total, list(model.parameters())), expected, strict=True):
        same(ours, theirs)


# Mistakes


def made(group, **wrong):
    sizes = {"encoder": {"annotation_size": 8}, "decoder": {"memory_size": 8, "hidden_size": 8}}[group]
    attention = wrong.pop("attention", None)
    if group == "decoder":
        sizes["attention"] = attention or part("attention", "multihead", num_heads=2)
    return part(group, "transformer", **{"num_heads": 2, **wrong})(
        embedding=nn.Embedding(VOCABULARY_SIZE, 8), **sizes
    )


@pytest.mark.parametrize(
    ("group", "setting", "message"),
    [
        ("encoder", {"num_heads": 3}, "num_heads=3 does not divide a layer's size of 8: choose a divisor"),
        ("encoder", {"norm": "mid"}, "norm=mid is no place of a normalisation; choose one of pre, post"),
        ("decoder", {"activation": "tanh"}, "activation=tanh is none of relu, gelu, swiglu"),
        ("decoder", {"positions": "rotary"}, "positions=rotary are none of sinusoidal, learned"),
        ("decoder", {"align_layer": 4}, "decoder.align_layer=4 is not within 1 and num_layers=3"),
        ("decoder", {"align_head": 3}, "decoder.align_head=3 is not within 1 and the attention's 2 heads"),
    ],
)
def test_a_wrong_setting_is_one_clear_line(group, setting, message):
    with pytest.raises(NMTError) as error:
        made(group, **setting)
    assert str(error.value) == message


def test_a_decoder_that_sees_nothing_of_the_source_is_refused():
    with pytest.raises(NMTError, match="attention.feed=false shows a Transformer decoder nothing"):
        made("decoder", attention=part("attention", "none", feed=False))


def test_learned_positions_end():
    encoder = made("encoder", positions="learned", max_positions=4)
    src, mask, _ = random_batch([5], target_size=1)
    encoder(src[:, :4], mask[:, :4])
    with pytest.raises(NMTError, match="a sentence of 5 tokens is longer than the 4 learned positions"):
        encoder(src, mask)


def test_a_stack_ends_normalised():
    assert isinstance(final_norm(8, "pre"), nn.LayerNorm)
    assert isinstance(final_norm(8, "post"), nn.Identity)


def test_self_attention_sees_no_later_word():
    torch.manual_seed(0)
    attention = SelfAttention(SIZE, HEADS).double()
    x = torch.randn(1, 5, SIZE).double()
    same(attention(x, causal=True)[:, :3], attention(x[:, :3], causal=True))


def test_compiled_features_take_the_place_of_the_method(monkeypatch):
    asked = []

    def compiled(function, dynamic):
        asked.append(dynamic)
        return lambda *arguments: function(*arguments)

    monkeypatch.setattr(torch, "compile", compiled)
    model = small_model("multihead", "transformer", "transformer")
    src, mask, tgt = random_batch([5, 3], target_size=4)
    names = set(model.state_dict())
    expected = model.features(src, mask, tgt).hidden
    model.compile_features()
    same(model.features(src, mask, tgt).hidden, expected)
    assert asked == [True]
    assert set(model.state_dict()) == names


@pytest.mark.parametrize("probability", [0.0, 0.1, 0.5, 1.0])
def test_dropout_drops_its_share_and_keeps_the_mean(probability):
    torch.manual_seed(0)
    dropout = Dropout(probability)
    x = torch.full((300, 301), 2.0, requires_grad=True)
    y = dropout(x)
    assert float((y == 0).double().mean()) == pytest.approx(probability, abs=0.01)
    kept = y[y != 0]
    torch.testing.assert_close(kept, torch.full_like(kept, 2 / max(1e-9, 1 - probability)), rtol=1e-4, atol=0)
    torch.testing.assert_close(torch.autograd.grad(y.sum(), x)[0], y.detach() / 2)
    assert torch.equal(dropout.eval()(x), x)
