"""Hidden alignments: the chain against the sum over all alignments, and what it teaches the attention."""

from itertools import product

import numpy as np
import pytest
import torch
from hydra.errors import InstantiationException
from small_models import random_batch, small_model
from torch import Tensor

from nmt.alignment.reading import PieceAttention, Reading
from nmt.data.batches import Batch
from nmt.errors import NMTError
from nmt.models.hidden_alignment import HiddenAlignment, lexicon_of
from nmt.training.loss import LabelSmoothedCrossEntropy


def random_lexicon(lengths: list[int], target_lengths: list[int]) -> tuple[Tensor, Tensor, Tensor]:
    """p(y_t | x_j) (B, T, S), the last position being the end, and the masks of both sides."""
    size = (len(lengths), max(target_lengths), max(lengths) + 1)
    lexicon = torch.rand(size, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    sources = torch.arange(size[2]) <= torch.tensor(lengths).unsqueeze(1)
    targets = torch.arange(size[1]) < torch.tensor(target_lengths).unsqueeze(1)
    return lexicon, sources, targets


def small_chain() -> HiddenAlignment:
    torch.manual_seed(3)
    chain = HiddenAlignment(longest=2).double()
    torch.nn.init.normal_(chain.jumps)
    return chain


def enumerated(chain: HiddenAlignment, lexicon: Tensor) -> tuple[float, np.ndarray]:
    """log p(y | x) and the posterior of one pair (T, S), by summing over all alignments."""
    num_rows, end = lexicon.shape[0], lexicon.shape[1] - 1
    jump = {
        offset: float(value) for offset, value in zip(range(-2, 3), chain.jumps.detach().exp(), strict=True)
    }
    null = float(chain.null.detach().sigmoid())

    def move(old: int, new: int) -> float:
        clipped = [jump[max(-2, min(2, position - old))] for position in range(end)]
        return clipped[new] / sum(clipped)

    total, posterior = 0.0, np.zeros(lexicon.shape)
    for path in product(range(end), repeat=num_rows):
        for empty in product((False, True), repeat=num_rows):
            probability, old = 1.0, -1
            for row, (place, nothing) in enumerate(zip(path, empty, strict=True)):
                probability *= move(old, place)
                probability *= float(
                    null * lexicon[row, end] if nothing else (1 - null) * lexicon[row, place]
                )
                old = place
            total += probability
            for row, (place, nothing) in enumerate(zip(path, empty, strict=True)):
                posterior[row, end if nothing else place] += probability
    return float(np.log(total)), posterior / total


def test_the_chain_sums_over_all_alignments() -> None:
    chain = small_chain()
    lexicon, sources, targets = random_lexicon([3, 2], [3, 2])
    posterior = chain.posterior(lexicon, sources, targets).detach()
    expected = 0.0
    for row, (width, height) in enumerate([(4, 3), (3, 2)]):
        likelihood, right = enumerated(chain, lexicon[row, :height, :width])
        expected += likelihood
        np.testing.assert_allclose(posterior[row, :height, :width].numpy(), right, atol=1e-9)
    assert chain(lexicon, sources, targets).item() == pytest.approx(expected)


def test_posteriors_sum_to_one_also_where_there_is_nothing_to_align_to() -> None:
    lexicon, sources, targets = random_lexicon([4, 1, 0], [5, 3, 4])
    posterior = small_chain().posterior(lexicon, sources, targets).detach()
    assert posterior.sum(2)[targets].numpy() == pytest.approx(1)
    assert (posterior[~sources.unsqueeze(1).expand_as(posterior)] == 0).all()


def test_the_posterior_is_the_gradient_of_the_likelihood() -> None:
    chain = small_chain()
    lexicon, sources, targets = random_lexicon([5], [6])
    lexicon.requires_grad_()
    (gradient,) = torch.autograd.grad(chain(lexicon, sources, targets), lexicon)
    torch.testing.assert_close(gradient * lexicon, chain.posterior(lexicon, sources, targets))


def test_the_lexicon_holds_each_words_translations() -> None:
    logits = torch.randn(3, 7, dtype=torch.float64)
    words, targets = torch.tensor([[0, 2, 2], [1, 0, 0]]), torch.tensor([[6, 1], [0, 3]])
    found = lexicon_of(logits, words, targets)
    for sentence, row, column in product(range(2), range(2), range(3)):
        expected = logits[words[sentence, column]].softmax(0)[targets[sentence, row]]
        torch.testing.assert_close(found[sentence, row, column], expected)


@pytest.mark.parametrize("decoder", ["luong-no-feeding-lexical", "bahdanau-lexical"])
def test_attention_and_lexicon_learn_from_it_in_training_alone(decoder: str) -> None:
    model = small_model(decoder=decoder, decoder_settings={"hidden_alignment": 0.5})
    plain = small_model(decoder=decoder)
    assert not any("chain" in name for name in plain.state_dict())
    plain.load_state_dict({key: value for key, value in model.state_dict().items() if "chain" not in key})
    src, mask, tgt = random_batch([5, 3], target_size=4)
    batch = Batch(src, mask, tgt, tgt, torch.ones_like(tgt, dtype=torch.bool), [0, 1], tgt.numel())
    loss = LabelSmoothedCrossEntropy(0.1)
    assert loss(model, batch).objective.equal(loss(plain, batch).objective)
    for each in (model, plain):
        torch.manual_seed(1)
        each.train()
        loss(each, batch).objective.backward()
    assert model.decoder.chain.jumps.grad.abs().max() > 0 and model.decoder.chain.null.grad != 0
    others = dict(plain.named_parameters())
    for name in ("decoder.lexical.map.weight", "decoder.attention.vector", "encoder.embedding.weight"):
        assert not model.get_parameter(name).grad.allclose(others[name].grad), name


def test_links_teach_the_posterior() -> None:
    model = small_model(
        decoder="luong-no-feeding-lexical", decoder_settings={"hidden_alignment": 0.1}
    ).train()
    src, mask, tgt = random_batch([5, 3], target_size=4)
    links = torch.tensor([[0, 0, 0, 1], [0, 1, 2, 1], [1, 3, 0, 2]])
    batch = Batch(src, mask, tgt, tgt, torch.ones_like(tgt, dtype=torch.bool), [0, 1], tgt.numel(), links)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(60):
        LabelSmoothedCrossEntropy(0.0, 1.0)(model, batch).objective.backward()
        optimizer.step()
        optimizer.zero_grad()
    posterior = model.decoder.posterior(model.features(src, mask, tgt), tgt, batch.tgt_mask)
    assert posterior.argmax(2)[links[0], links[1]].equal(links[2])


def test_it_needs_a_lexical_model() -> None:
    with pytest.raises(InstantiationException, match=r"hidden_alignment=0.5: needs decoder.lexical=true"):
        small_model(decoder="luong", decoder_settings={"hidden_alignment": 0.5})


def test_the_posterior_is_read_with_the_end_as_no_word() -> None:
    posterior = np.array([[0.3, 0.1, 0.6], [0.5, 0.2, 0.3], [0, 0, 1]])
    found = PieceAttention(["a", "b"], ["x", "y"], [0, 1], [0, 1], np.eye(3), posterior=posterior)
    alignment = Reading(step="posterior", threshold=0.4).align(found)
    assert alignment.links == [(0, 1)] and np.allclose(alignment.eos, [0.6, 0.3])
    assert Reading(step="posterior").align(found).links == [(0, 0), (0, 1)]
    with pytest.raises(NMTError, match="trained without decoder.hidden_alignment"):
        Reading(step="posterior").align(found._replace(posterior=None))
