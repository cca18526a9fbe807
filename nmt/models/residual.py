"""What stands around each part of a Transformer's layer: residual connection, dropout, normalisation."""

from torch import Tensor, nn

from nmt.errors import NMTError
from nmt.models.dropout import Dropout

NORMS = ("pre", "post")


class Residual(nn.Module):
    """Around a part f. "post": norm(x + dropout(f(x))), Vaswani et al. 2017, section 3.1; "pre":
    x + dropout(f(norm(x))), which trains without a long warm-up (Xiong et al. 2020).

    f stands between `enter` and `leave`. `size` is that of x, `dropout` a probability.
    """

    def __init__(self, size: int, norm: str, dropout: float) -> None:
        super().__init__()
        if norm not in NORMS:
            raise NMTError(f"norm={norm} is no place of a normalisation; choose one of {', '.join(NORMS)}")
        self.pre = norm == "pre"
        self.norm = nn.LayerNorm(size)
        self.dropout = Dropout(dropout)

    def enter(self, x: Tensor) -> Tensor:
        """What f sees of `x` (..., size)."""
        return self.norm(x) if self.pre else x

    def leave(self, x: Tensor, y: Tensor) -> Tensor:
        """What comes after f, of `x` and of its result `y`, both (..., size)."""
        x = x + self.dropout(y)
        return x if self.pre else self.norm(x)


def final_norm(size: int, norm: str) -> nn.Module:
    """What a stack of layers ends in: with "pre" nothing has normalised its sum yet."""
    return nn.LayerNorm(size) if norm == "pre" else nn.Identity()
