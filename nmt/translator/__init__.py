"""Text in, text out: translating, aligning and scoring with a trained run."""

from nmt.translator.translation import TextHypothesis, Translation
from nmt.translator.translator import Forced, Translator

__all__ = ["Forced", "TextHypothesis", "Translation", "Translator"]
