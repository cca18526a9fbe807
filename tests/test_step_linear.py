"""A map applied step by step learns what its steps' own products would teach it."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from nmt.models.step_linear import StepLinear

STEPS = 4


def recurrence(
    step: Callable[[Tensor, Tensor | None], Tensor], inputs: Tensor, added: Tensor | None
) -> Tensor:
    """The states (T, B, I) of x_t = tanh(step(x_{t-1}))."""
    states = [inputs]
    for _ in range(STEPS):
        states.append(torch.tanh(step(states[-1], added)))
    return torch.stack(states[1:])


@pytest.fixture(params=["bias", "rows", "nothing"])
def case(request: pytest.FixtureRequest) -> dict[str, Tensor]:
    """Weight, input and what is added; all want gradients."""
    torch.manual_seed(1)
    shapes = {"weight": (3, 3), "x": (5, 3), "bias": (3,), "rows": (5, 3)}
    wanted = {"weight", "x", request.param}
    return {
        name: torch.randn(shape, dtype=torch.double, requires_grad=True)
        for name, shape in shapes.items()
        if name in wanted
    }


def stepped(case: dict[str, Tensor]) -> Tensor:
    step = StepLinear(case["weight"], case.get("bias"))
    return recurrence(step, case["x"], case.get("rows"))


def plain(case: dict[str, Tensor]) -> Tensor:
    added = case.get("rows", case.get("bias", torch.zeros(3)))
    return recurrence(lambda x, added: x @ case["weight"].t() + added, case["x"], added)


def gradients(loss: Tensor, case: dict[str, Tensor], retain: bool = False) -> tuple[Tensor, ...]:
    return torch.autograd.grad(loss, list(case.values()), retain_graph=retain)


@pytest.mark.parametrize("counted", [1, STEPS])  # how many of the steps the loss looks at
def test_values_and_gradients_are_those_of_the_plain_map(case: dict[str, Tensor], counted: int) -> None:
    torch.testing.assert_close(stepped(case), plain(case))
    found = gradients(stepped(case)[:counted].square().sum(), case)
    expected = gradients(plain(case)[:counted].square().sum(), case)
    torch.testing.assert_close(found, expected)


def test_a_graph_may_be_gone_through_again(case: dict[str, Tensor]) -> None:
    loss = stepped(case).square().sum()
    first = gradients(loss, case, retain=True)
    only_x = torch.autograd.grad(loss, case["x"], retain_graph=True)  # leaves parts that nobody collects
    torch.testing.assert_close(only_x[0], first[1])
    torch.testing.assert_close(gradients(loss, case), first)


def test_without_gradients_and_with_frozen_weights_values_stay(case: dict[str, Tensor]) -> None:
    expected = plain(case).detach()
    with torch.no_grad():
        torch.testing.assert_close(stepped(case), expected)
    frozen = {name: tensor.detach().requires_grad_(name == "x") for name, tensor in case.items()}
    found = torch.autograd.grad(stepped(frozen).sum(), frozen["x"])
    torch.testing.assert_close(found, torch.autograd.grad(plain(frozen).sum(), frozen["x"]))


def test_each_weight_is_found_in_one_product() -> None:
    weight = torch.randn(3, 3, requires_grad=True)
    states = recurrence(StepLinear(weight), torch.randn(5, 3), None)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        states.sum().backward()
    products = {event.key: event.count for event in profile.key_averages()}["aten::mm"]
    assert products == STEPS - 1 + 1  # one a step but the first, whose input wants no gradient, and W's


def test_autocast_is_as_ever() -> None:
    weight = torch.randn(3, 3, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        states = recurrence(StepLinear(weight), torch.randn(5, 3), None)
    assert states.dtype == torch.bfloat16
    states.float().sum().backward()
    assert weight.grad is not None and weight.grad.dtype == torch.float32
