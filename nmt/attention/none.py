"""No attention: the fixed-vector encoder-decoder (Cho et al. 2014; Sutskever, Vinyals & Le 2014)."""

from torch import Tensor

from nmt.attention.base import Attended, Attention


class NoAttention(Attention):
    """c_t = c: the decoder sees one vector for the whole source, whatever its length, the same at every step.

    With `feed` that vector is given to every step, as Cho 2014 does (equation 9); we take the mean of the
    annotations, so that both directions of the encoder count, where Cho takes its last state. Without it the
    context is empty, C = 0, and the decoder knows of the source only what it started from (Sutskever 2014).
    There are no weights, and `aligns` is false.

    Args:
        query_size: H.
        annotation_size: M; None = H.
        feed: whether the fixed vector is given to every step.
    """

    aligns = False

    def __init__(self, query_size: int, annotation_size: int | None = None, *, feed: bool = True) -> None:
        super().__init__()
        self.context_size = (annotation_size or query_size) if feed else 0
        self.feed = feed

    def prepare(self, annotations: Tensor, mask: Tensor) -> Tensor:
        """The fixed vector (B, 1, C) of `annotations` (B, S, M) and `mask` (B, S)."""
        if not self.feed:
            return annotations.new_empty(annotations.shape[0], 1, 0)
        length = mask.sum(1).clamp(min=1).view(-1, 1, 1)
        return (annotations * mask.unsqueeze(2)).sum(1, keepdim=True) / length

    def attend(
        self, query: Tensor, source: Tensor, memo: None, need_weights: bool = True
    ) -> tuple[Attended, None]:
        """The fixed vector for each `query` (B, T, H): contexts (B, T, C), no weights."""
        return Attended(source.expand(-1, query.shape[1], -1), None), None
