"""A target forced upon a model: what each of its words costs, and where the model looks for it.

Shapes: **B** batch, **S** source length, **T** target length, end of sentence included.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from nmt.models.seq2seq import Seq2Seq


class Forced(NamedTuple):
    """A forced target."""

    log_probabilities: Tensor  # (B, T) in nats, zero on padding
    weights: Tensor | None  # (B, T, S)
    head_weights: Tensor | None  # (B, L, N, T, S), where there are heads
    posterior: Tensor | None  # (B, T, S) of a hidden alignment, where there is one


@torch.inference_mode()
def force_decode(
    model: Seq2Seq, src: Tensor, src_mask: Tensor, tgt_in: Tensor, tgt_out: Tensor, tgt_mask: Tensor
) -> Forced:
    """The cost of `tgt_out` (B, T) given its shifted self `tgt_in` (B, T), and the weights; masks true on
    real tokens.
    """
    features = model.features(src, src_mask, tgt_in)
    logits = model.decoder.output(features.hidden[tgt_mask])
    costs = torch.nn.functional.cross_entropy(logits, tgt_out[tgt_mask], reduction="none")
    log_probabilities = costs.new_zeros(tgt_out.shape)
    log_probabilities[tgt_mask] = -costs
    posterior = model.decoder.posterior(features, tgt_out, tgt_mask)
    return Forced(log_probabilities, features.weights, features.head_weights, posterior)
