"""Where does this query look? The family of attentions, each a class in a file of its own."""

from nmt.attention.additive import AdditiveAttention
from nmt.attention.base import Attended, Attention
from nmt.attention.concat import ConcatAttention
from nmt.attention.coverage import CoverageAttention
from nmt.attention.dot import DotAttention
from nmt.attention.general import GeneralAttention
from nmt.attention.hard import HardAttention
from nmt.attention.local import MonotonicLocalAttention, PredictiveLocalAttention
from nmt.attention.location import LocationAttention
from nmt.attention.multihead import MultiHeadAttention
from nmt.attention.none import NoAttention
from nmt.attention.qkv import QKVAttention
from nmt.attention.scaled_dot import ScaledDotAttention

__all__ = [
    "AdditiveAttention",
    "Attended",
    "Attention",
    "ConcatAttention",
    "CoverageAttention",
    "DotAttention",
    "GeneralAttention",
    "HardAttention",
    "LocationAttention",
    "MonotonicLocalAttention",
    "MultiHeadAttention",
    "NoAttention",
    "PredictiveLocalAttention",
    "QKVAttention",
    "ScaledDotAttention",
]
