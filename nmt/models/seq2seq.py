"""Encoder and decoder put together."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from nmt.attention.base import Attention
from nmt.errors import NMTError
from nmt.models.feed_forward import FeedForward
from nmt.models.interfaces import Decoder, Encoder, Features
from nmt.models.recurrent import RecurrentLayer
from nmt.models.scheduled_sampling import sample_inputs
from nmt.models.self_attention import SelfAttention
from nmt.models.state import Memory

PAD_ID = 0  # the vocabulary's padding, whose embedding stays zero


class Seq2Seq(nn.Module):
    """An encoder-decoder. Shapes: **B** batch, **S** source length, **T** target length, **V** target
    vocabulary.
    """

    def __init__(self, encoder: Encoder, decoder: Decoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def encode(self, src: Tensor, src_mask: Tensor) -> Memory:
        """The memory of `src` (B, S), whose real tokens are true in `src_mask` (B, S)."""
        return self.encoder(src, src_mask)

    def features(
        self,
        src: Tensor,
        src_mask: Tensor,
        tgt_in: Tensor,
        teacher_forcing_rate: float = 1.0,
        need_weights: bool = True,
    ) -> Features:
        """Readouts (B, T, R) and weights (B, T, S) of the shifted target `tgt_in` (B, T), without the
        vocabulary.

        Below a `teacher_forcing_rate` of 1 the model's own words stand for some of the target's, see
        `sample_inputs`. With `need_weights=False` a decoder may leave the weights out.
        """
        memory = self.encode(src, src_mask)
        if teacher_forcing_rate < 1:
            tgt_in = sample_inputs(self.decoder, memory, tgt_in, teacher_forcing_rate)
        return self.decoder.features(tgt_in, memory, need_weights)

    def compile_features(self) -> None:
        """Have `features` compiled by torch.compile for batches of any shape: the same to float precision."""
        self.features = torch.compile(self.features, dynamic=True)  # type: ignore[method-assign]

    def forward(self, src: Tensor, src_mask: Tensor, tgt_in: Tensor) -> tuple[Tensor, Tensor | None]:
        """Logits (B, T, V) and weights (B, T, S) of the shifted target `tgt_in` (B, T)."""
        return self.decoder(tgt_in, self.encode(src, src_mask))


def assemble(
    *,
    encoder: Callable[..., Encoder],
    decoder: Callable[..., Decoder],
    attention: Callable[..., Attention],
    source_vocabulary_size: int,
    target_vocabulary_size: int,
    joint_vocabulary: bool,
    embedding_size: int,
    hidden_size: int,
    annotation_size: int | None = None,
    dropout: float = 0.0,
    tie_embeddings: str = "none",
) -> Seq2Seq:
    """A model of the given parts, with fresh weights.

    `encoder`, `decoder` and `attention` are factories. `embedding_size` (E) and `hidden_size` (H) hold on
    both sides; `annotation_size` (M) is H unless given, so that every attention fits. `tie_embeddings`:
    "none", "output" (target embeddings and vocabulary projection share weights) or "all" (source embeddings
    too, which needs a joint vocabulary).
    """
    if tie_embeddings not in ("none", "output", "all"):
        raise NMTError(f"model.tie_embeddings={tie_embeddings} is none of none, output, all")
    if tie_embeddings == "all" and not joint_vocabulary:
        raise NMTError(
            "model.tie_embeddings=all needs one vocabulary for both sides: set tokenizer.joint=true or "
            "model.tie_embeddings=output"
        )
    target = nn.Embedding(target_vocabulary_size, embedding_size, padding_idx=PAD_ID)
    source = target
    if tie_embeddings != "all":
        source = nn.Embedding(source_vocabulary_size, embedding_size, padding_idx=PAD_ID)
    made_encoder = encoder(embedding=source, annotation_size=annotation_size or hidden_size, dropout=dropout)
    made_decoder = decoder(
        embedding=target,
        attention=attention,
        memory_size=made_encoder.annotation_size,
        hidden_size=hidden_size,
        dropout=dropout,
        tie_output=tie_embeddings != "none",
    )
    model = Seq2Seq(made_encoder, made_decoder)
    initialise(model)
    return model


def initialise(model: Seq2Seq) -> None:
    """Fresh weights: Xavier for matrices (each gate or map for itself), orthogonal for recurrent ones, zero
    biases.

    Embeddings are normal with deviation 1, so that words move the gates from the start; where they also are
    the vocabulary projection, with deviation 1 / sqrt(E), which keeps the first logits small, and likewise
    where the model multiplies them by sqrt(E).
    """
    small = {id(module.weight) for module in model.modules() if isinstance(module, nn.Linear)}
    small |= {
        id(part.embedding.weight) for part in (model.encoder, model.decoder) if part.embedding_scale > 1
    }
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1 and parameter.numel():
            nn.init.xavier_uniform_(parameter)
        elif "bias" in name:
            nn.init.zeros_(parameter)
    for module in model.modules():
        if isinstance(module, nn.RNNBase):
            for name, parameter in module.named_parameters():
                fill = nn.init.orthogonal_ if "weight_hh" in name else nn.init.xavier_uniform_
                if "weight" in name:
                    _fill_gates(fill, parameter, module.hidden_size)
        elif isinstance(module, RecurrentLayer) and module.feedback is not None:
            _fill_gates(nn.init.xavier_uniform_, module.feedback.weight, module.hidden_size)
        elif isinstance(module, SelfAttention):
            _fill_gates(nn.init.xavier_uniform_, module.input_map.weight, module.size)
        elif isinstance(module, FeedForward):
            _fill_gates(nn.init.xavier_uniform_, module.inner_map.weight, module.output_map.in_features)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(
                module.weight, std=module.embedding_dim**-0.5 if id(module.weight) in small else 1.0
            )
            with torch.no_grad():
                module.weight[PAD_ID].zero_()


def _fill_gates(fill: Callable[[Tensor], Tensor], weight: Tensor, hidden_size: int) -> None:
    """Fill each gate's H rows of `weight` (G*H, I) by themselves."""
    for gate in weight.data.split(hidden_size):
        fill(gate)
