"""The laws that every attention obeys, in float64 and eval mode."""

from typing import Any

import pytest
import torch
from attention_cases import CASES, NAMES, SIZE, case_id, make, mask_of, random_tensor
from torch import Tensor
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from nmt.attention import AdditiveAttention, HardAttention, LocationAttention, base
from nmt.errors import NMTError

LENGTHS = (9, 7, 3, 1)
every_case = pytest.mark.parametrize(("name", "settings"), CASES, ids=case_id)


def inputs(num_queries: int = 12) -> tuple[Tensor, Tensor, Tensor]:
    """Queries (4, T, 8), annotations (4, 9, 8) and a mask (4, 9): targets longer than every source."""
    return (
        random_tensor(len(LENGTHS), num_queries, SIZE, seed=1),
        random_tensor(len(LENGTHS), max(LENGTHS), SIZE, seed=2),
        mask_of(*LENGTHS),
    )


@every_case
def test_weights_are_zero_where_masked_and_sum_to_one(name: str, settings: dict[str, Any]) -> None:
    attention = make(name, settings)
    query, annotations, mask = inputs()
    context, weights = attention(query, annotations, mask)
    assert context.shape == (4, 12, attention.context_size)
    if not attention.aligns:
        assert weights is None
        return
    assert weights.shape == (4, 12, 9)
    assert (weights >= 0).all()
    assert (weights.masked_select(~mask.unsqueeze(1)) == 0).all()
    sums = weights.sum(2)
    if name == "local_p":  # a Gaussian multiplies what sums to 1
        assert (sums > 0).all() and (sums <= 1).all() and (sums < 0.999).any()
    else:
        assert_close(sums, torch.ones_like(sums))


@every_case
def test_padding_changes_nothing(name: str, settings: dict[str, Any]) -> None:
    attention = make(name, settings)
    query, annotations, mask = inputs()
    context, weights = attention(query, annotations, mask)
    garbage = torch.cat([annotations, 1e3 * random_tensor(4, 80, SIZE, seed=3)], dim=1)
    padded_context, padded_weights = attention(
        query, garbage, torch.cat([mask, mask.new_zeros(4, 80)], dim=1)
    )
    assert_close(padded_context, context)
    if weights is not None:
        assert_close(padded_weights[:, :, :9], weights)
        assert (padded_weights[:, :, 9:] == 0).all()


@every_case
def test_batch_changes_nothing(name: str, settings: dict[str, Any]) -> None:
    attention = make(name, settings)
    query, annotations, mask = inputs()
    context, weights = attention(query, annotations, mask)
    for row, length in enumerate(LENGTHS):
        one = slice(row, row + 1)
        alone, alone_weights = attention(query[one], annotations[one, :length])
        assert_close(alone, context[one])
        if weights is not None:
            assert_close(alone_weights, weights[one, :, :length])


@every_case
def test_one_step_at_a_time_is_the_sequence(name: str, settings: dict[str, Any]) -> None:
    attention = make(name, settings)
    query, annotations, mask = inputs()
    source = attention.prepare(annotations, mask)
    whole = attention.attend_sequence(query, source)
    memo, steps = attention.start(source), []
    for step in query.split(1, dim=1):
        attended, memo = attention.attend(step, source, memo)
        steps.append(attended)
    joined = base.concatenate_steps(steps)
    assert_close(joined.context, whole.context)
    for got, wanted in ((joined.weights, whole.weights), (joined.head_weights, whole.head_weights)):
        assert (got is None) == (wanted is None)
        if wanted is not None:
            assert_close(got, wanted)


@every_case
def test_hypotheses_are_each_alone(name: str, settings: dict[str, Any]) -> None:
    """K hypotheses of different pasts, as K queries against one source, equal each on its own."""
    attention = make(name, settings)
    _, annotations, mask = inputs()
    query = random_tensor(4, 3, 5, SIZE, seed=5)  # (B, K, T, H): hypothesis k has seen k + 2 steps
    source = attention.prepare(annotations, mask)
    expected, memos = [], []
    for k in range(3):
        memo = attention.start(source)
        for step in range(k + 2):
            if step == k + 1:
                memos.append(memo)
            attended, memo = attention.attend(query[:, k, step : step + 1], source, memo)
        expected.append(attended)
    together = None if memos[0] is None else torch.cat(memos, dim=1)
    last = torch.stack([query[:, k, k + 1] for k in range(3)], dim=1)
    attended, after = attention.attend(last, source, together)
    assert_close(attended.context, torch.cat([one.context for one in expected], dim=1))
    if attended.weights is not None:
        assert_close(attended.weights, torch.cat([one.weights for one in expected], dim=1))
    assert (after is None) == (together is None)
    if after is not None:
        assert after.shape == together.shape


@every_case
def test_contexts_do_not_depend_on_who_wants_weights(name: str, settings: dict[str, Any]) -> None:
    attention = make(name, settings)
    query, annotations, mask = inputs()
    mask[2] = False
    assert_close(
        attention(query, annotations, mask, need_weights=False)[0], attention(query, annotations, mask)[0]
    )


@every_case
def test_fully_masked_sentence(name: str, settings: dict[str, Any]) -> None:
    """It gets zeros, and neither values nor gradients are ever NaN."""
    attention = make(name, settings)
    query, annotations, mask = inputs()
    mask[1] = False
    query.requires_grad_()
    annotations.requires_grad_()
    for need_weights in (True, False):
        context, weights = attention(query, annotations, mask, need_weights)
        assert (context[1] == 0).all()
        if weights is not None:
            assert (weights[1] == 0).all()
        if context.numel():
            context.sum().backward()
            assert annotations.grad is not None and annotations.grad.isfinite().all()
            assert query.grad is None or query.grad.isfinite().all()


@every_case
def test_edges_of_shape(name: str, settings: dict[str, Any]) -> None:
    attention = make(name, settings)
    query, annotations, mask = inputs(num_queries=0)
    context, weights = attention(query, annotations, mask)  # an empty target
    assert context.shape == (4, 0, attention.context_size)
    assert weights is None or weights.shape == (4, 0, 9)
    context, weights = attention(random_tensor(4, SIZE), annotations[:, :1])  # S = 1, and a query (B, H)
    assert context.shape == (4, 1, attention.context_size)
    if weights is not None and name != "local_p":
        assert_close(weights, torch.ones(4, 1, 1, dtype=torch.float64))


@every_case
def test_gradients_are_right(name: str, settings: dict[str, Any]) -> None:
    if name == "hard":
        pytest.skip("a choice has no gradient")
    attention = make(name, settings)
    if attention.context_size == 0:
        pytest.skip("nothing to differentiate")
    query, annotations, _ = inputs(num_queries=3)
    names = [key for key, _ in attention.named_parameters()]
    wanted = (query[:2], annotations[:2, :7].contiguous(), *attention.parameters())
    leaves = tuple(value.detach().clone().requires_grad_() for value in wanted)

    def function(query: Tensor, annotations: Tensor, *parameters: Tensor) -> tuple[Tensor, ...]:
        named = dict(zip(names, parameters, strict=True))
        out = torch.func.functional_call(attention, named, (query, annotations, mask_of(7, 4)))
        return tuple(part for part in out if part is not None)

    assert torch.autograd.gradcheck(function, leaves, fast_mode=True)


@every_case
def test_gradients_reach_every_parameter(name: str, settings: dict[str, Any]) -> None:
    attention = make(name, settings).train()
    query, annotations, mask = inputs()
    attended = attention.attend_sequence(query, attention.prepare(annotations, mask))
    loss = (attended.context * random_tensor(*attended.context.shape, seed=9)).sum()
    if attended.log_probability is not None:
        loss = loss + attended.log_probability.sum()
    parameters = dict(attention.named_parameters())
    for key, grad in zip(
        parameters, torch.autograd.grad(loss, list(parameters.values())) if parameters else (), strict=True
    ):
        assert grad.abs().max() > 1e-8, f"no gradient reaches {key}"


@pytest.mark.parametrize("name", NAMES)
def test_sizes_may_differ(name: str) -> None:
    if name in ("dot", "scaled_dot"):
        with pytest.raises(
            NMTError, match="^a dot score needs .* query_size=8 and annotation_size=6: .*general"
        ):
            make(name, {}, 8, 6)
        return
    attention = make(name, {}, 8, 6)
    context, _ = attention(random_tensor(2, 3, 8), random_tensor(2, 5, 6))
    assert context.shape == (2, 3, attention.context_size)


@pytest.mark.parametrize("need_weights", [True, False])
@every_case
def test_parts_of_the_queries_change_nothing(
    name: str, settings: dict[str, Any], need_weights: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is computed in parts along T has the same values and gradients."""
    if name == "none":
        pytest.skip("nothing is computed")
    attention = make(name, settings)
    query, annotations, mask = inputs()
    annotations = torch.cat([annotations, annotations], dim=1).requires_grad_()  # beyond two windows of D = 2
    mask = torch.cat([mask, mask.new_zeros(4, 9)], dim=1)
    whole = attention(query, annotations, mask, need_weights)[0]
    monkeypatch.setattr(base, "MAX_FLOATS_ALIVE", 1)
    parts = attention(query, annotations, mask, need_weights)[0]
    assert_close(parts, whole)
    assert_close(
        torch.autograd.grad(parts.square().sum(), annotations),
        torch.autograd.grad(whole.square().sum(), annotations),
    )
    with torch.no_grad():
        assert_close(attention(query, annotations, mask, need_weights)[0], whole)


@pytest.mark.parametrize("name", ["local_m", "local_p"])
def test_many_queries_see_what_each_sees(name: str) -> None:
    """Scored whole as one product or gathered window by window: contexts and weights are the same."""
    attention = make(name, {"window": 2})
    query, annotations, mask = inputs(num_queries=40)
    source = attention.prepare(annotations, mask)
    whole, memo = attention.attend_sequence(query, source), attention.start(source)
    for number, step in enumerate(query.split(1, dim=1)):
        attended, memo = attention.attend(step, source, memo)
        assert_close(attended.context[:, 0], whole.context[:, number])
        assert_close(attended.weights[:, 0], whole.weights[:, number])


def test_the_shapes_of_every_introduction() -> None:
    context, weights = AdditiveAttention(128)(torch.randn(32, 128), torch.randn(32, 10, 128))
    assert context.shape == (32, 1, 128)
    assert weights.shape == (32, 1, 10)


def test_mask_of_integers() -> None:
    attention = make("dot", {})
    query, annotations, mask = inputs()
    assert_close(attention(query, annotations, mask.long()), attention(query, annotations, mask))


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        (
            "additive",
            {"normalizer": "sofmax"},
            "^unknown normalizer 'sofmax': choose one of softmax, sparsemax, ",
        ),
        ("multihead", {"num_heads": 3}, "^attention.num_heads=3 does not divide query_size=8: "),
        ("local_p", {"window": 0}, "^attention.window is 0: give 1 or more "),
        (
            "local_m",
            {"score": "additive"},
            "^unknown attention.score 'additive': choose one of dot, general, concat",
        ),
        ("coverage", {"loss_weight": -1.0}, "^attention.loss_weight=-1.0 is negative: give 0 or more"),
        ("location", {"max_length": 0}, "^attention.max_length is 0: give 1 or more "),
        (
            "hard",
            {"estimator": "sample"},
            "^unknown attention.estimator 'sample': choose one of gumbel, reinforce",
        ),
    ],
    ids=case_id,
)
def test_wrong_settings_are_one_line(name: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(NMTError, match=message) as error:
        make(name, settings)
    assert "\n" not in str(error.value)


def test_location_beyond_its_length(caplog: pytest.LogCaptureFixture) -> None:
    attention = make("location", {"max_length": 5})
    assert isinstance(attention, LocationAttention)
    query, annotations, mask = inputs()
    _, weights = attention(query, annotations, mask)
    assert "a source of 9 tokens is longer than attention.max_length=5" in caplog.text
    assert (weights[:, :, 5:] == 0).all()
    assert_close(weights.sum(2), torch.ones(4, 12, dtype=torch.float64))
    with pytest.raises(
        NMTError, match="a source of 9 tokens is longer than attention.max_length=5: raise it"
    ):
        attention.train()(query, annotations, mask)
    attention(query, annotations, mask_of(5, 4, 3, 1, width=9))  # what is padding is not too long


@pytest.mark.parametrize("estimator", ["gumbel", "reinforce"])
def test_hard_samples_what_it_says(estimator: str) -> None:
    attention = make("hard", {"estimator": estimator}).train()
    assert isinstance(attention, HardAttention)
    query, annotations = random_tensor(1, 1, SIZE, seed=4), random_tensor(1, 4, SIZE, seed=5) / 2
    source = attention.prepare(annotations, mask_of(3, width=4))
    wanted = attention.energy(query, source.keys)[0, 0, :3].softmax(0)
    attended, _ = attention.attend(query.expand(1, 20_000, SIZE), source, None)
    weights = attended.weights.detach()
    assert set(weights.round(decimals=9).unique().tolist()) == {0.0, 1.0}
    assert_close(weights[0].mean(0)[:3], wanted, atol=0.02, rtol=0.0)
    assert attended.log_probability is not None
    assert_close(attended.log_probability[..., :3], wanted.log().expand(1, 20_000, 3))


@pytest.mark.parametrize("feeds_back", [False, True])
def test_reinforce_is_unbiased(feeds_back: bool) -> None:
    """Over many samples, the gradient of its loss is that of the expected reward, whatever the baseline.

    Two words are read off the choices; where choices feed back, the first one pays for the second word, too.
    """
    torch.manual_seed(1)
    attention = make("hard", {"estimator": "reinforce"}).train()
    assert isinstance(attention, HardAttention)
    attention.baseline.fill_(-0.7)
    query, annotations = random_tensor(1, 2, SIZE, seed=4), random_tensor(1, 3, SIZE, seed=5) / 2
    gains = torch.tensor([[-2.0, -0.5, -1.0], [-0.1, -3.0, -1.5]], dtype=torch.float64)  # step, position
    echo = torch.tensor([1.0, -1.0, 0.5], dtype=torch.float64) * feeds_back  # of the first choice, later
    source = attention.prepare(annotations, mask_of(3))
    expected = attention.energy(query, source.keys)[0].softmax(-1)
    reward = (expected * gains).sum() + expected[0] @ echo
    (wanted,) = torch.autograd.grad(-reward, attention.vector)

    copies = 40_000
    many = attention.prepare(annotations.expand(copies, -1, -1), mask_of(3).expand(copies, -1))
    attended = attention.attend_sequence(query.expand(copies, -1, -1), many)
    chosen = attended.weights.detach()
    likelihood = (chosen * gains).sum(2)
    likelihood[:, 1] += chosen[:, 0] @ echo
    loss = attention.loss(
        attended.weights, attended.log_probability, likelihood, mask_of(2).expand(copies, -1), feeds_back
    )
    (found,) = torch.autograd.grad(loss / copies, attention.vector)
    assert_close(found, wanted, atol=0.02 * wanted.abs().max().item(), rtol=0.05)


def test_location_reads_the_word_where_it_is_given() -> None:
    attention = make("location", {"embedding_size": 5})
    assert attention.reads_word
    query, annotations, mask = random_tensor(4, 2, SIZE + 5), random_tensor(4, 9, SIZE), mask_of(*LENGTHS)
    _, weights = attention(query, annotations, mask)
    _, others = attention(query + torch.eye(SIZE + 5)[-1], annotations, mask)
    assert (weights - others).abs().max() > 0.01
    assert not make("location", {"embedding_size": 5, "word": False}).reads_word


@pytest.mark.parametrize("settings", [{"window": 1}, {"window": 2}], ids=case_id)
@pytest.mark.parametrize("name", ["local_m", "local_p"])
def test_all_masked_window(name: str, settings: dict[str, Any]) -> None:
    """A window of which nothing may be attended gives zeros; steps past the end stay at the last position."""
    attention = make(name, settings)
    query, annotations, _ = inputs()
    mask = torch.zeros(4, 9, dtype=torch.bool)
    mask[:, 8] = True
    context, weights = attention(query, annotations, mask)
    assert context.isfinite().all()
    assert (context[weights.sum(2) == 0] == 0).all()
    if name == "local_m":
        near = torch.arange(12) >= 8 - settings["window"]
        assert_close(weights[:, :, 8], near.double().expand(4, 12))


class _LargestNewTensor(TorchDispatchMode):
    """Notes the most numbers that any operation inside it wrote to new memory."""

    numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        old = {arg.untyped_storage().data_ptr() for arg in args if isinstance(arg, Tensor)}
        for tensor in out if isinstance(out, tuple | list) else (out,):
            if isinstance(tensor, Tensor) and tensor.untyped_storage().data_ptr() not in old:
                self.numbers = max(self.numbers, tensor.numel())
        return out


@pytest.mark.parametrize("name", ["local_m", "local_p"])
def test_a_local_step_does_not_grow_with_the_source(name: str) -> None:
    attention = make(name, {"window": 10})
    largest = []
    for length in (50, 200, 800):
        source = attention.prepare(random_tensor(2, length, SIZE), mask_of(length, length))
        with torch.no_grad(), _LargestNewTensor() as new:
            attention.attend(random_tensor(2, 1, SIZE), source, attention.start(source), need_weights=False)
        largest.append(new.numbers)
    assert largest[0] == largest[1] == largest[2] == 2 * 21 * SIZE
