"""Scheduled sampling: in training, some of the words a decoder reads are its own (Bengio et al. 2015)."""

import torch
from torch import Tensor

from nmt.models.interfaces import Decoder
from nmt.models.state import Memory


def sample_inputs(decoder: Decoder, memory: Memory, tgt_in: Tensor, teacher_forcing_rate: float) -> Tensor:
    """The shifted target `tgt_in` (B, T) in which each word after the first is kept with the probability
    `teacher_forcing_rate` and otherwise sampled from what `decoder` expects after the words before it.

    Bengio 2015, section 2.4, coin by coin for each word. No gradient flows through the sampling, as there.
    Any decoder can do it: it walks through the target once in search's steps, and is then trained on the
    result as on any target (its dropout is drawn anew, the only difference to sampling on the way).
    """
    forced = torch.rand(tgt_in.shape, device=tgt_in.device) < teacher_forcing_rate
    words = tgt_in[:, 0]
    inputs = [words]
    with torch.no_grad():
        state = decoder.init_state(memory)
        for position in range(1, tgt_in.shape[1]):
            step = decoder.step(words, state)
            state = step.state
            sampled = torch.multinomial(step.logits.float().softmax(-1), 1).squeeze(1)
            words = torch.where(forced[:, position], tgt_in[:, position], sampled)
            inputs.append(words)
    return torch.stack(inputs, dim=1)
