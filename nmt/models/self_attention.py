"""Multi-head self-attention (Vaswani et al. 2017, section 3.2.2), with a cache for decoding step by step.

The cache is never reordered. The words of a sentence's K hypotheses stand in it side by side, and each
hypothesis knows which places are its own: K queries against one set of keys, masked. A step adds K places,
and search moves nothing but masks; places that no hypothesis owns any more can be left out (`Cache.at`).

Shapes: **B** sentences, **K** hypotheses a sentence, **T** words, **P** places in the cache, **N** heads,
**D** elements of a head.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from nmt.errors import NMTError

_HEAD_SIZE = 64  # elements, where nobody says how many heads
_FIRST_PLACES = 32


def heads_for(size: int, num_heads: int | None) -> int:
    """`num_heads`, or as many as leave each 64 elements; `NMTError` where they do not divide `size`."""
    num_heads = max(1, size // _HEAD_SIZE) if num_heads is None else num_heads
    if num_heads < 1 or size % num_heads:
        raise NMTError(f"num_heads={num_heads} does not divide a layer's size of {size}: choose a divisor")
    return num_heads


class Cache(NamedTuple):
    """Keys and values of the words so far. A value: a step leaves the caches before it as they are.

    The buffers hold more places than are used. Whoever adds first to a buffer's end may write there
    (`claimed` is how many places are taken, by any cache that shares the buffers); others copy it.
    """

    keys: Tensor  # (B, N, room, D)
    values: Tensor  # (B, N, room, D)
    length: int  # P
    claimed: list[int]

    @classmethod
    def empty(cls, like: Tensor) -> "Cache":
        """Without places, as `like` (B, N, D)."""
        nothing = like.new_empty(like.shape[0], like.shape[1], 0, like.shape[2])
        return cls(nothing, nothing, 0, [0])

    def extend(self, keys: Tensor, values: Tensor) -> "Cache":
        """With K more places, `keys` and `values` (B, N, K, D)."""
        end = self.length + keys.shape[2]
        if torch.is_grad_enabled():  # what a gradient has to pass must not be written over
            old_keys, old_values = self.used()
            return Cache(
                torch.cat([old_keys, keys], dim=2), torch.cat([old_values, values], dim=2), end, [end]
            )
        grown = self
        if self.claimed[0] != self.length or end > self.keys.shape[2]:
            grown = self._with_room(max(_FIRST_PLACES, 2 * end))
        grown.keys[:, :, self.length : end] = keys
        grown.values[:, :, self.length : end] = values
        grown.claimed[0] = end
        return grown._replace(length=end)

    def at(self, places: Tensor) -> "Cache":
        """Only the `places` (B, P'), in their order."""
        index = places[:, None, :, None].expand(-1, self.keys.shape[1], -1, self.keys.shape[3])
        length = places.shape[1]
        return Cache(self.keys.gather(2, index), self.values.gather(2, index), length, [length])

    def used(self) -> tuple[Tensor, Tensor]:
        """Keys and values (B, N, P, D)."""
        return self.keys[:, :, : self.length], self.values[:, :, : self.length]

    def _with_room(self, room: int) -> "Cache":
        def moved(buffer: Tensor) -> Tensor:
            wider = buffer.new_empty(*buffer.shape[:2], room, buffer.shape[3])
            wider[:, :, : self.length] = buffer[:, :, : self.length]
            return wider

        return Cache(moved(self.keys), moved(self.values), self.length, [self.length])


class SelfAttention(nn.Module):
    """W_o [head_1; ...; head_N], head_n = softmax(Q_n K_n^T / √D) V_n, Q, K and V made by one product.

    As in the paper there are no biases. `size` is that of a word, `num_heads` N divides it, `dropout` is the
    probability of dropping a weight.
    """

    def __init__(self, size: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.size = size
        self.num_heads = num_heads
        self.dropout = dropout
        self.input_map = nn.Linear(size, 3 * size, bias=False)  # W_q, W_k, W_v
        self.output_map = nn.Linear(size, size, bias=False)  # W_o

    def forward(self, words: Tensor, allowed: Tensor | None = None, causal: bool = False) -> Tensor:
        """(B, T, size) of `words` (B, T, size), of which each sees those that `allowed` (broadcastable to
        B, N, T, T) is true for or, with `causal`, itself and those before it.
        """
        query, keys, values = self._mapped(words)
        heads = functional.scaled_dot_product_attention(
            query, keys, values, allowed, self.dropout if self.training else 0.0, causal
        )
        return self._joined(heads)

    def first_cache(self, like: Tensor, sentences: int) -> Cache:
        """The cache of `sentences` before their first words; type and device as `like`."""
        return Cache.empty(like.new_empty(sentences, self.num_heads, self.size // self.num_heads))

    def step(self, words: Tensor, own: Tensor | None, cache: Cache) -> tuple[Tensor, Cache]:
        """(B, K, size) of the newest `words` (B, K, size), and the cache with their places at its end.

        `own` (B, K, P) is true where a place of that cache is the hypothesis's own; None = all are.
        """
        query, keys, values = self._mapped(words)
        cache = cache.extend(keys, values)
        allowed = None if own is None else own.unsqueeze(1)
        dropout = self.dropout if self.training else 0.0
        heads = functional.scaled_dot_product_attention(query, *cache.used(), allowed, dropout)
        return self._joined(heads), cache

    def _mapped(self, words: Tensor) -> tuple[Tensor, ...]:
        """Queries, keys and values (B, N, T, D)."""
        mapped = self.input_map(words).chunk(3, dim=2)  # so their gradients are joined as they are laid out
        return tuple(part.unflatten(2, (self.num_heads, -1)).transpose(1, 2) for part in mapped)

    def _joined(self, heads: Tensor) -> Tensor:
        """(B, T, size) of `heads` (B, N, T, D)."""
        return self.output_map(heads.transpose(1, 2).flatten(2))
