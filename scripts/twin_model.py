"""The same model in `transformers`: one of theirs with the weights of a Transformer of ours.

MarianMTModel is Vaswani et al. 2017's architecture: post-norm, ReLU, sinusoidal positions, one embedding for
source, target and output; PegasusForConditionalGeneration is the same in pre-norm. `twin_of` copies such a
model and then compares logits, so that what is timed side by side is the same computation. Their attention
has biases where ours has none: they are zero.
"""

from typing import Any

import torch
from torch import Tensor, nn

from nmt.data.pieces import BOS_ID, EOS_ID, PAD_ID
from nmt.errors import NMTError
from nmt.models.positions import sinusoidal_positions
from nmt.models.seq2seq import Seq2Seq

_LONGEST = 1024  # tokens
_TOLERANCE = 1e-3  # of logits; the order of sums differs
_SAME = (
    "theirs has the same norm (post or pre) on both sides, activation=relu, positions=sinusoidal, "
    "model.tie_embeddings=all and attention=multihead"
)


def installed() -> bool:
    """Whether `transformers` is there; without it there is no twin."""
    try:
        import transformers  # noqa: F401
    except ImportError:
        return False
    return True


def twin_of(model: Seq2Seq, dropout: float = 0.0) -> Any:
    """What computes the same as `model`, in evaluation mode; `NMTError` where nothing of theirs does."""
    try:
        twin = _made_like(model, dropout)
        with torch.no_grad():
            _copy(model, twin)
    except (AttributeError, RuntimeError) as error:  # other parts, other shapes
        raise NMTError(f"this model has no twin in transformers: {_SAME}") from error
    with torch.no_grad():
        _compare(model, twin)
    return twin


def _made_like(model: Seq2Seq, dropout: float) -> Any:
    """One of theirs of the sizes of `model`, with fresh weights."""
    import transformers

    theirs: Any = transformers
    encoder: Any = model.encoder
    decoder: Any = model.decoder
    first = encoder.layers[0]
    inner = first.feed_forward.output_map.in_features
    pre_norm = first.self_residual.pre
    kind = theirs.PegasusForConditionalGeneration if pre_norm else theirs.MarianMTModel
    config = kind.config_class(
        vocab_size=encoder.embedding.num_embeddings,
        d_model=encoder.annotation_size,
        encoder_layers=len(encoder.layers),
        decoder_layers=len(decoder.layers),
        encoder_ffn_dim=inner,
        decoder_ffn_dim=inner,
        encoder_attention_heads=first.self_attention.num_heads,
        decoder_attention_heads=decoder.layers[0].self_attention.num_heads,
        max_position_embeddings=_LONGEST,
        activation_function="relu",
        dropout=dropout,
        scale_embedding=True,
        pad_token_id=PAD_ID,
        bos_token_id=BOS_ID,
        eos_token_id=EOS_ID,
        forced_eos_token_id=None,
        decoder_start_token_id=BOS_ID,
    )
    return kind(config).eval()


def is_pre_norm(twin: Any) -> bool:
    """Whether `twin` normalises what enters each part of a layer, and once more at the end of a stack."""
    return hasattr(twin.model.encoder, "layer_norm")


def forbid_special(twin: Any) -> None:
    """Have `twin` never write padding or a beginning of sentence, as our search never does."""
    twin.final_logits_bias[:, [PAD_ID, BOS_ID]] = -1e9


def _copy(model: Seq2Seq, twin: Any) -> None:
    encoder: Any = model.encoder
    decoder: Any = model.decoder
    twin.get_input_embeddings().weight.copy_(encoder.embedding.weight)
    twin.final_logits_bias[0] = decoder.projection.bias
    for side, ours in ((twin.model.encoder, encoder), (twin.model.decoder, decoder)):
        table = side.embed_positions.weight
        table.copy_(sinusoidal_positions(table.shape[0], table.shape[1], like=table))
        if is_pre_norm(twin):
            _copy_parameters(ours.norm, side.layer_norm)
        for layer, own in zip(side.layers, ours.layers, strict=True):
            query, keys, values = own.self_attention.input_map.weight.chunk(3)
            _copy_attention(layer.self_attn, query, keys, values, own.self_attention.output_map.weight)
            _copy_parameters(own.self_residual.norm, layer.self_attn_layer_norm)
            _copy_parameters(own.feed_forward.inner_map, layer.fc1)
            _copy_parameters(own.feed_forward.output_map, layer.fc2)
            _copy_parameters(own.feed_forward_residual.norm, layer.final_layer_norm)
    for layer, own in zip(twin.model.decoder.layers, decoder.layers, strict=True):
        maps = (own.attention.query_map, own.attention.key_map, own.attention.value_map)
        weights = [each.weight for each in (*maps, own.attention.output_map)]
        _copy_attention(layer.encoder_attn, *weights)
        _copy_parameters(own.attention_residual.norm, layer.encoder_attn_layer_norm)


def _copy_attention(theirs: Any, query: Tensor, keys: Tensor, values: Tensor, output: Tensor) -> None:
    maps = (theirs.q_proj, theirs.k_proj, theirs.v_proj, theirs.out_proj)
    for linear, weight in zip(maps, (query, keys, values, output), strict=True):
        linear.weight.copy_(weight)
        linear.bias.zero_()


def _copy_parameters(ours: nn.Module, theirs: nn.Module) -> None:
    theirs.load_state_dict(ours.state_dict())


def _compare(model: Seq2Seq, twin: Any) -> None:
    """Raise unless both give a random batch the same logits."""
    generator = torch.Generator().manual_seed(1)
    size = twin.config.vocab_size
    src, tgt = (torch.randint(4, size, shape, generator=generator) for shape in ((3, 9), (3, 7)))
    mask = torch.arange(9) < torch.tensor([[9], [5], [1]])
    was_training = model.training
    model.eval()
    ours, _ = model(src * mask, mask, tgt)
    model.train(was_training)
    theirs = twin(input_ids=src * mask, attention_mask=mask.long(), decoder_input_ids=tgt).logits
    difference = (ours - theirs).abs().max().item()
    if not difference < _TOLERANCE:
        raise NMTError(f"the twin in transformers differs by {difference:.2g} in a logit: {_SAME}")
