"""Words translate words: a lexical model beside the decoder (Nguyen and Chiang 2018, section 4)."""

import torch
from torch import Tensor, nn

from nmt.errors import NMTError


class LexicalModel(nn.Module):
    """h^l_t = tanh(W f_t) + f_t with f_t = Σ_s alpha_ts f_s, the attended source words' embeddings.

    Added to the readout, it lets what the attention looks at say what it is called in the target language,
    whatever its neighbours are. So attention that looks at a word of another meaning costs something, where a
    recurrent encoder's annotations, which know their neighbours, would have let it pass: translations of
    rare words get better and alignments clearer.

    We differ from the paper (equations 8-10) twice: no tanh is put around f_t, whose embeddings are of
    deviation 1 here and would saturate it; and both readouts share one vocabulary projection, so that
    `readout_size` (R) must be `embedding_size` (E).
    """

    def __init__(self, embedding_size: int, readout_size: int) -> None:
        super().__init__()
        if readout_size != embedding_size:
            raise NMTError(
                f"decoder.lexical needs readouts of the embeddings' size: set decoder.readout_size="
                f"{embedding_size} (now {readout_size}), or decoder.lexical=false"
            )
        self.map = nn.Linear(embedding_size, embedding_size)

    def forward(self, weights: Tensor, words: Tensor) -> Tensor:
        """What to add to readouts (B, T, R), of `weights` (B, T, S) and embedded source `words` (B, S, E)."""
        return self.translate(weights @ words)

    def translate(self, words: Tensor) -> Tensor:
        """What embedded source `words` (..., E) say by themselves, as readouts (..., R)."""
        return torch.tanh(self.map(words)) + words
