"""The gated recurrent unit (Cho et al. 2014; PyTorch's variant) where PyTorch has no fused kernel: on CPUs.

With x = W y + b the projected input and u = U h + c the projected state, each (..., 3H) for reset, update and
new: r = sigmoid(x_r + u_r), z = sigmoid(x_z + u_z), n = tanh(x_n + r u_n), h' = n + z (h - n).

A sequence differentiates by hand: one pass back over the steps, then each weight's gradient in one product
over all of them. Shapes: **T** steps, **D** directions, **B** sentences, **H** state size.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def _in_float32(forward: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """`forward` of inputs in float32 wherever autocast is on: gradients by hand need one type throughout."""
    for device in ("cpu", "cuda"):
        forward = torch.amp.custom_fwd(forward, device_type=device, cast_inputs=torch.float32)
    return forward


class GatedUpdate(torch.autograd.Function):
    """The element-wise part of one step: h' of x (B, 3H), u (B, 3H) and h (B, H)."""

    @staticmethod
    @_in_float32
    def forward(ctx: Any, x: Tensor, u: Tensor, h: Tensor) -> Tensor:
        size = h.shape[-1]
        gates = torch.add(x[..., : 2 * size], u[..., : 2 * size]).sigmoid_()
        new = torch.addcmul(x[..., 2 * size :], gates[..., :size], u[..., 2 * size :]).tanh_()
        ctx.save_for_backward(gates, new, u, h)
        return torch.lerp(new, h, gates[..., size:])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        gates, new, u, h = ctx.saved_tensors
        grad_x, grad_u = torch.empty_like(u), torch.empty_like(u)
        grad_h = _gate_gradients(gradients[0], gates, new, u[..., 2 * h.shape[-1] :], h, grad_x, grad_u)
        return grad_x, grad_u, grad_h


def _gate_gradients(
    gradient: Tensor, gates: Tensor, new: Tensor, u_new: Tensor, h: Tensor, grad_x: Tensor, grad_u: Tensor
) -> Tensor:
    """Fill `grad_x` and `grad_u` (..., 3H) from the `gradient` of h'; the part of h's (..., H) that goes past
    u.
    """
    size = h.shape[-1]
    past = gradient * gates[..., size:]
    grad_new = (gradient - past).mul_(1 - new * new)
    grad_x[..., 2 * size :] = grad_new
    torch.mul(grad_new, gates[..., :size], out=grad_u[..., 2 * size :])
    torch.mul(grad_new, u_new, out=grad_x[..., :size])
    torch.mul(gradient, h - new, out=grad_x[..., size : 2 * size])
    grad_x[..., : 2 * size] *= gates * (1 - gates)
    grad_u[..., : 2 * size] = grad_x[..., : 2 * size]
    return past


class GatedSequence(torch.autograd.Function):
    """The states (T, D, B, H) of D unrelated directions over T steps.

    Arguments: x (T, D, B, 3H); `mask` (T, D, B, 1), true where a step counts (elsewhere the state stays), or
    None; the first states (D, B, H); U (D, 3H, H) and c (D, 3H).
    """

    @staticmethod
    @_in_float32
    def forward(
        ctx: Any, x: Tensor, mask: Tensor | None, start: Tensor, weight: Tensor, bias: Tensor
    ) -> Tensor:
        steps, directions, rows, size = *x.shape[:3], weight.shape[2]
        states = x.new_empty(steps + 1, directions, rows, size)
        gates = x.new_empty(steps, directions, rows, 2 * size)
        new, u_new = torch.empty_like(states[1:]), torch.empty_like(states[1:])
        states[0] = start
        transposed, offset = weight.transpose(1, 2), bias.unsqueeze(1)
        for step in range(steps):
            u = torch.baddbmm(offset, states[step], transposed)
            u_new[step] = u[..., 2 * size :]
            torch.add(x[step, ..., : 2 * size], u[..., : 2 * size], out=gates[step]).sigmoid_()
            update = gates[step, ..., size:]
            if mask is not None:
                update.masked_fill_(~mask[step], 1.0)  # which passes state and gradient on as they are
            torch.addcmul(
                x[step, ..., 2 * size :], gates[step, ..., :size], u_new[step], out=new[step]
            ).tanh_()
            torch.lerp(new[step], states[step], update, out=states[step + 1])
        ctx.save_for_backward(states, gates, new, u_new, weight)
        return states[1:]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        states, gates, new, u_new, weight = ctx.saved_tensors
        steps, directions, rows, size = new.shape
        grad_x = new.new_empty(steps, directions, rows, 3 * size)
        grad_u = torch.empty_like(grad_x)
        later = torch.zeros_like(states[0])
        for step in reversed(range(steps)):
            past = _gate_gradients(
                gradients[0][step] + later,
                gates[step],
                new[step],
                u_new[step],
                states[step],
                grad_x[step],
                grad_u[step],
            )
            later = torch.baddbmm(past, grad_u[step], weight)
        over_steps = grad_u.transpose(0, 1).reshape(directions, steps * rows, 3 * size)
        before = states[:-1].transpose(0, 1).reshape(directions, steps * rows, size)
        return grad_x, None, later, over_steps.transpose(1, 2) @ before, over_steps.sum(dim=1)
