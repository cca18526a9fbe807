"""Neural machine translation with attention: train, translate, align, compare."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmt.translator import Translator

__version__ = "0.1.0"
__all__ = ["Translator", "__version__"]


def __getattr__(name: str) -> Any:
    """Import `Translator` (and with it PyTorch) when first asked for: `import nmt` stays fast."""
    if name == "Translator":
        from nmt.translator import Translator

        return Translator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
