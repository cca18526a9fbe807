"""What encoder and decoder hand each other, and what search may do with a decoder's state.

Shapes: **B** batch (sentences), **S** source length, **M** annotation size, **K** hypotheses a sentence.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor


class Memory(NamedTuple):
    """An encoded source: enough for every published way to start a decoder, and for no attention at all."""

    annotations: Tensor  # (B, S, M)
    mask: Tensor  # (B, S), true = a real token
    summary: Tensor  # (B, M): the mean of the annotations
    final: Any = None  # final states of the layers, first axis B; None where there are none
    words: Tensor | None = None  # (B, S, E): the embedded words themselves
    tokens: Tensor | None = None  # (B, S): which words these are

    @classmethod
    def of(
        cls,
        annotations: Tensor,
        mask: Tensor,
        final: Any = None,
        words: Tensor | None = None,
        tokens: Tensor | None = None,
    ) -> "Memory":
        """Of `annotations` (B, S, M), whatever stands in them where `mask` (B, S) is false."""
        annotations = annotations * mask.unsqueeze(2)
        mean = annotations.sum(dim=1) / mask.sum(dim=1).clamp(min=1).unsqueeze(1)
        return cls(annotations, mask, mean, final, words, tokens)


def map_tensors(function: Callable[[Tensor], Tensor], tree: Any) -> Any:
    """`tree` (nested tuples, named tuples, lists, dicts, None) with `function` applied to each of its
    tensors.
    """
    if isinstance(tree, Tensor):
        return function(tree)
    if isinstance(tree, dict):
        return {key: map_tensors(function, value) for key, value in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(map_tensors(function, value) for value in tree))
    if isinstance(tree, list | tuple):
        return type(tree)(map_tensors(function, value) for value in tree)
    return tree


class DecoderState(NamedTuple):
    """A value with two halves, opaque to search: `source` has one row a sentence, `prefix` one row a
    hypothesis.

    The rows of `prefix` are sentence by sentence: row b * K + k is hypothesis k of sentence b.
    """

    source: Any
    prefix: Any

    def reorder(self, rows: Tensor) -> "DecoderState":
        """The hypotheses at `rows` (B * K', integers) of the old prefix; K' may differ from K."""
        return self._replace(prefix=map_tensors(lambda tensor: tensor.index_select(0, rows), self.prefix))

    def select(self, sentences: Tensor, num_hypotheses: int) -> "DecoderState":
        """Only the sentences at the indices `sentences` (B',), each with its K = `num_hypotheses` rows."""
        offsets = torch.arange(num_hypotheses, device=sentences.device)
        rows = (sentences.unsqueeze(1) * num_hypotheses + offsets).flatten()
        source = map_tensors(lambda tensor: tensor.index_select(0, sentences), self.source)
        return DecoderState(source, self.prefix).reorder(rows)
