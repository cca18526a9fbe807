"""Text in, text out: translating, aligning and scoring with a trained run."""

from nmt.translator.requests import Request
from nmt.translator.translation import TextHypothesis, Translation
from nmt.translator.translator import Forced, Translator

__all__ = ["Forced", "Request", "TextHypothesis", "Translation", "Translator"]
