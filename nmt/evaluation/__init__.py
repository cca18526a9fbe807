"""How good translations are: sacreBLEU's scores with their signatures, and validation during training."""

from nmt.evaluation.scores import Scores, score
from nmt.evaluation.warnings import hypothesis_warnings

__all__ = ["Scores", "hypothesis_warnings", "score"]
