"""The best ways to go on, of all words after all hypotheses, without sorting the vocabulary for each.

Shapes: **B** sentences, **K** hypotheses a sentence, **V** target vocabulary.
"""

import torch
from torch import Tensor

_BLOCK = 64  # words


def best_continuations(scores: Tensor, totals: Tensor, number: int) -> tuple[Tensor, Tensor]:
    """Hypotheses (B, N) and words (B, N) of the N = `number` (or all, if they are fewer) largest sums of
    `scores` (B, K, V) and `totals` (B, K), largest first.

    They stand in no more than N blocks of neighbouring words: those with the N largest maxima. So the
    vocabulary is read once for maxima, and sorting sees N blocks of each sentence.
    """
    vocabulary_size = scores.shape[2]
    num_blocks = vocabulary_size // _BLOCK
    whole = num_blocks * _BLOCK
    starts = torch.arange(scores.shape[1], device=scores.device).unsqueeze(1) * vocabulary_size
    if scores.shape[1] * num_blocks <= number:
        whole = 0
        places = starts.new_empty(scores.shape[0], 0)
    else:
        maxima = scores[:, :, :whole].unflatten(2, (num_blocks, _BLOCK)).amax(dim=3) + totals.unsqueeze(2)
        blocks = maxima.flatten(1).topk(number, dim=1).indices  # (B, N)
        firsts = blocks // num_blocks * vocabulary_size + blocks % num_blocks * _BLOCK
        places = (firsts.unsqueeze(2) + torch.arange(_BLOCK, device=scores.device)).flatten(1)
    others = starts + torch.arange(whole, vocabulary_size, device=scores.device)  # in no block
    places = torch.cat([places, others.flatten().expand(scores.shape[0], -1)], dim=1)
    sums = scores.flatten(1).gather(1, places) + totals.gather(1, places // vocabulary_size)
    chosen = places.gather(1, sums.topk(min(number, places.shape[1]), dim=1).indices)
    return chosen // vocabulary_size, chosen % vocabulary_size
