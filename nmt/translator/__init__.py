"""Text in, text out: translating, aligning and scoring with a trained run."""

from nmt.translator.forced import Forced
from nmt.translator.requests import Request
from nmt.translator.translation import TextHypothesis, Translation
from nmt.translator.translator import Translator

__all__ = ["Forced", "Request", "TextHypothesis", "Translation", "Translator"]
