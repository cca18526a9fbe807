"""What `nmt-align` and `nmt-evaluate` share: how a run's attention is read, and a second run beside it."""

import logging
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

from nmt.cli.run_settings import Settings, load_translator
from nmt.config.types import describe, fits
from nmt.errors import NMTError

if TYPE_CHECKING:
    from nmt.alignment.alignment import Alignment
    from nmt.alignment.reading import Reading
    from nmt.translator import Translator

log = logging.getLogger(__name__)


class Aligner(Protocol):
    """Aligns pairs of texts as they come; a target None is translated first."""

    def __call__(self, pairs: Iterable[tuple[str, str | None]]) -> "Iterator[Alignment]": ...


def check_reading(own: dict[str, Any]) -> "Reading":
    """What the settings say of reading the attention; raises for those that make no sense."""
    from nmt.alignment.reading import Reading
    from nmt.alignment.symmetrise import check_method

    for name, kind in (("layer", int | None), ("head", int | None), ("threshold", float | None)):
        if not fits(own[name], kind):
            raise NMTError(f"{name}={own[name]}: expected {describe(kind)}")
    if own["choose"] not in (None, "gold", "agreement"):
        raise NMTError(f"choose={own['choose']}: choose gold or agreement")
    for name in ("symmetrise", "choose"):
        needs = own[name] is not None and (name == "symmetrise" or own[name] == "agreement")
        if needs and own["reverse"] is None:
            raise NMTError(f"{name}={own[name]}: needs reverse=RUN, a run of the other direction, too")
    if own["symmetrise"] is not None:
        check_method(own["symmetrise"])
    chosen = [name for name in ("layer", "head", "threshold") if own[name] is not None]
    if own["choose"] and chosen:
        raise NMTError(f"choose={own['choose']} and {chosen[0]}={own[chosen[0]]}: give one of them")
    return Reading(own["layer"], own["head"], own["step"], own["fold"], own["threshold"])


def load_aligner(settings: Settings, translator: "Translator", data: Any) -> Aligner:
    """What aligns as the settings say; `data` is the configuration that names the set to choose on."""
    from nmt.alignment.symmetrise import DEFAULT_METHOD
    from nmt.translator.directions import BothDirections

    own = settings.own
    reading, words = check_reading(own), own["words"]
    backward = None
    if own["reverse"] is not None:
        backward = load_translator(settings._replace(own={**own, "run": own["reverse"]}))
    if own["choose"]:
        reading = choose(own, translator, backward, data)
    if backward is None:
        return lambda pairs: translator.align_pairs(pairs, words, reading)
    both = BothDirections(translator, backward, own["symmetrise"] or DEFAULT_METHOD)
    return lambda pairs: both.align_pairs(pairs, words, reading)


def choose(
    own: dict[str, Any], translator: "Translator", backward: "Translator | None", data: Any
) -> "Reading":
    """The reading that is best on the set `choose_on` of `data`, which the log says."""
    from nmt.alignment.choice import choose_by_agreement, choose_by_gold
    from nmt.data.corpus import open_corpus

    corpus = open_corpus(data, own["choose_on"])
    pairs = list(corpus.lines())
    forward = list(translator.attend_pairs(pairs, own["words"], heads=True))
    if own["choose"] == "gold":
        gold = corpus.links(every=True)
        if gold is None:
            raise NMTError(f"choose=gold: {corpus.name} names no links; give choose_on= another set")
        choice = choose_by_gold(forward, list(gold))
    else:
        assert backward is not None
        turned = [(target, source) for source, target in pairs]
        choice = choose_by_agreement(forward, list(backward.attend_pairs(turned, own["words"], heads=True)))
    log.info(
        "chosen on %s by %s: %s (AER %.2f)", corpus.name, own["choose"], choice.reading.text(), choice.aer
    )
    return choice.reading
