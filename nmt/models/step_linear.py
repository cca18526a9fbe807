"""A linear map that is applied step by step, and learns from all steps at once.

The gradient of W in u_t = W x_t + b, t = 1..T, is the sum of T products of few rows each. Here each step
leaves its x_t and its gradient g_t behind, and W's is one product over all of them, which keeps a processor
much busier and is added to nothing. Shapes: **B** rows, **I** and **O** elements of input and output.
"""

from typing import Any

import torch
from torch import Tensor

_Steps = list[tuple[Tensor, Tensor] | None]  # what each step leaves behind: x_t (B, I) and g_t (B, O)


class StepLinear:
    """x -> W x + b with `weight` W (O, I) and `bias` b (O), for the steps of one sequence.

    It is made anew for each sequence. Where no gradient is asked for, under autocast (whose cache knows
    parameters alone) and under torch.compile it is PyTorch's own map.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self.weight, self.bias = weight, bias
        self.steps: _Steps | None = None
        if torch.is_grad_enabled() and not (
            torch.is_autocast_enabled(weight.device.type) or torch.compiler.is_compiling()
        ):
            self.steps = []
            self.weight, self.bias = _Shared.apply(weight, bias, self.steps)

    def __call__(self, x: Tensor, added: Tensor | None = None) -> Tensor:
        """(B, O) of `x` (B, I); `added` (B, O) takes the place of the bias."""
        added = self.bias if added is None else added
        if self.steps is None:
            return _map(x, added, self.weight)
        self.steps.append(None)
        return _Step.apply(x, added, self.weight, self.steps, len(self.steps) - 1)


def _map(x: Tensor, added: Tensor | None, weight: Tensor) -> Tensor:
    """x W^T (B, O) and what is `added`, the bias (O) or rows (B, O)."""
    return torch.mm(x, weight.t()) if added is None else torch.addmm(added, x, weight.t())


class _Shared(torch.autograd.Function):
    """The weights as the steps see them. Its gradient comes last: when each step has left its part."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, bias: Tensor | None, steps: _Steps) -> tuple[Tensor, Tensor | None]:
        ctx.steps, ctx.has_bias = steps, bias is not None
        ctx.set_materialize_grads(False)  # the steps hand none on
        return weight.view_as(weight), None if bias is None else bias.view_as(bias)

    @staticmethod
    def backward(ctx: Any, *_: None) -> tuple[Tensor | None, Tensor | None, None]:
        left = [step for step in ctx.steps if step is not None]
        ctx.steps[:] = [None] * len(ctx.steps)
        if not left:
            return None, None, None
        inputs, gradients = (torch.cat(parts) for parts in zip(*left, strict=True))
        return gradients.t() @ inputs, gradients.sum(0) if ctx.has_bias else None, None


class _Step(torch.autograd.Function):
    """The map at one of the steps."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, added: Tensor | None, weight: Tensor, steps: _Steps, place: int
    ) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.steps, ctx.place, ctx.adds_rows = steps, place, added is not None and added.dim() == 2
        return _map(x, added, weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        gradient = gradients[0]
        ctx.steps[ctx.place] = x, gradient
        grad_x = gradient @ weight if ctx.needs_input_grad[0] else None
        return grad_x, gradient if ctx.adds_rows else None, None, None, None
