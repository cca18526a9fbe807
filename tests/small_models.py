"""Small random models of every kind, for the laws that all of them keep."""

from pathlib import Path
from typing import Any

import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf

from nmt.models.seq2seq import Seq2Seq

CONFIGS = Path(__file__).resolve().parent.parent / "configs"
ATTENTIONS = sorted(path.stem for path in (CONFIGS / "attention").glob("*.yaml"))
DECODERS = {
    "bahdanau": {},
    "bahdanau-two-lstm-layers": {"num_layers": 2, "cell": "lstm", "readout": "maxout", "start": "mean"},
    "luong": {},
    "luong-no-feeding": {"input_feeding": False},
    "luong-no-feeding-two-layers": {"input_feeding": False, "num_layers": 2, "cell": "rnn", "bridge": False},
    "bahdanau-lexical": {"lexical": True},
    "luong-lexical": {"lexical": True},
    "luong-no-feeding-lexical": {"lexical": True, "input_feeding": False},
    "luong-lstm": {"num_layers": 2, "cell": "lstm", "start": "zero"},
    "transformer": {"num_layers": 2, "num_heads": 2, "feed_forward_size": 10, "norm": "post"},
    "transformer-learned": {"num_layers": 3, "num_heads": 4, "positions": "learned", "activation": "swiglu"},
}
VOCABULARY_SIZE = 11


def part(group: str, name: str, **settings: Any) -> Any:
    """The factory that a group's file describes, with some settings changed."""
    config = OmegaConf.load(CONFIGS / group / f"{name}.yaml")
    return instantiate(OmegaConf.merge(config, settings))


ENCODERS = {
    "birnn": {},
    "self_attention": {},
    "self_attention-dot": {"score": "dot"},
    "self_attention-positions": {"score": "scaled_dot", "positions": "sinusoidal"},
    "transformer": {"num_layers": 2, "num_heads": 2, "feed_forward_size": 10, "norm": "post"},
    "transformer-learned": {"num_layers": 1, "num_heads": 4, "positions": "learned", "activation": "gelu"},
}


def small_model(
    attention: str = "additive",
    decoder: str = "bahdanau",
    encoder: str = "birnn",
    seed: int = 0,
    attention_settings: dict[str, Any] | None = None,
    decoder_settings: dict[str, Any] | None = None,
    **settings: Any,
) -> Seq2Seq:
    """A model of width 8 in float64 and eval mode, its random weights large enough to make sharp choices."""
    torch.manual_seed(seed)
    options = DECODERS[decoder]
    reading = dict(ENCODERS[encoder])
    if encoder == "birnn":
        reading = {"cell": options.get("cell", "gru"), "num_layers": options.get("num_layers", 1)}
    made = instantiate(
        OmegaConf.merge(
            OmegaConf.load(CONFIGS / "model" / "rnn.yaml"),
            {"embedding_size": 6, "hidden_size": 8, "dropout": 0.1},
            settings,
        ),
        encoder=part("encoder", encoder.split("-")[0], **reading),
        decoder=part("decoder", decoder.split("-")[0], **options, **(decoder_settings or {})),
        attention=part("attention", attention, **(attention_settings or {})),
        source_vocabulary_size=VOCABULARY_SIZE,
        target_vocabulary_size=VOCABULARY_SIZE,
        joint_vocabulary=True,
    )
    made = made.double().eval()
    for parameter in made.parameters():
        parameter.data.mul_(2.0)
    return made


def random_batch(
    lengths: list[int], target_size: int, seed: int = 0
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Source (B, S), its mask (B, S) and a shifted target (B, `target_size`) of random words."""
    generator = torch.Generator().manual_seed(seed)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    src = torch.randint(4, VOCABULARY_SIZE, mask.shape, generator=generator) * mask
    tgt = torch.randint(4, VOCABULARY_SIZE, (len(lengths), target_size), generator=generator)
    tgt[:, 0] = 2
    return src, mask, tgt
