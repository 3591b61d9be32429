from __future__ import annotations

import itertools

import pytest
import torch

from nersery.taggers.output_layer.crf import FORBIDDEN, ConditionalRandomField, log_partition, marginals, viterbi
from nersery.taggers.output_layer.tag_set import TagSet


@pytest.fixture
def batch():
    torch.manual_seed(0)
    emissions = torch.randn(5, 7, 4)
    lengths = torch.tensor([7, 1, 3, 5, 2])
    mask = torch.arange(7) < lengths.unsqueeze(1)
    return emissions, torch.randint(0, 4, (5, 7)) * mask, mask


def test_loss_and_decoding_equal_pytorch_crf(batch) -> None:
    from torchcrf import CRF

    emissions, tags, mask = batch
    oracle = CRF(4, batch_first=True)
    ours = ConditionalRandomField(TagSet(("O", "B-X", "I-X", "I-Y"), strict=False))
    with torch.no_grad():
        ours.transitions.copy_(oracle.transitions)
        ours.start.copy_(oracle.start_transitions)
        ours.end.copy_(oracle.end_transitions)
    whole = torch.ones(5, dtype=torch.bool)
    expected = -oracle(emissions, tags, mask, reduction="token_mean")
    torch.testing.assert_close(ours.loss(emissions, tags, mask, whole, whole), expected)
    paths = ours.decode(emissions, mask)
    for row, path in enumerate(oracle.decode(emissions, mask)):
        assert paths[row, : len(path)].tolist() == path


@pytest.mark.parametrize("scheme", ["IOB2", "BIOES"])
def test_decodes_the_best_of_all_legal_sequences(scheme) -> None:
    tags = TagSet.of(["X"], scheme)
    size = len(tags.names)
    crf = ConditionalRandomField(tags)
    torch.manual_seed(1)
    emissions = torch.randn(20, 4, size) * 3
    paths = crf.decode(emissions, torch.ones(20, 4, dtype=torch.bool)).tolist()

    def legal(path) -> bool:
        return (
            bool(tags.allowed_start[path[0]])
            and bool(tags.allowed_end[path[-1]])
            and all(bool(tags.allowed[a, b]) for a, b in itertools.pairwise(path))
        )

    candidates = [path for path in itertools.product(range(size), repeat=4) if legal(path)]
    for row, path in enumerate(paths):
        best = max(candidates, key=lambda c: sum(emissions[row, i, tag].item() for i, tag in enumerate(c)))
        assert tuple(path) == best


def test_padding_changes_nothing(batch) -> None:
    emissions, _, mask = batch
    none = torch.zeros(4)
    together = viterbi(emissions, mask, torch.zeros(4, 4), none, none)
    for row in range(5):
        length = int(mask[row].sum())
        alone = viterbi(emissions[row : row + 1, :length], mask[row : row + 1, :length], torch.zeros(4, 4), none, none)
        assert together[row, :length].tolist() == alone[0].tolist()


def test_marginals_equal_an_enumeration_of_all_sequences(batch) -> None:
    emissions, _, mask = batch
    torch.manual_seed(2)
    transitions, start, end = torch.randn(4, 4), torch.randn(4), torch.randn(4)
    found = marginals(emissions, mask, transitions, start, end)
    for row in range(5):
        length = int(mask[row].sum())
        if length > 5:
            continue
        expected = torch.zeros(length, 4)
        for path in itertools.product(range(4), repeat=length):
            score = start[path[0]] + end[path[-1]] + sum(emissions[row, i, tag] for i, tag in enumerate(path))
            score = score + sum(transitions[a, b] for a, b in itertools.pairwise(path))
            for i, tag in enumerate(path):
                expected[i, tag] += score.exp()
        torch.testing.assert_close(found[row, :length], expected / expected.sum(1, keepdim=True))


def test_gradient_of_marginals_needs_no_square_of_tags_per_row() -> None:
    tags, sizes = 150, list[int]()
    mask = torch.arange(6) < torch.tensor([[6], [4]])
    given = [torch.randn(*shape, requires_grad=True) for shape in ((2, 6, tags), (tags, tags), (tags,), (tags,))]
    with torch.autograd.graph.saved_tensors_hooks(lambda one: sizes.append(one.numel()) or one, lambda x: x):
        found = marginals(given[0], mask, *given[1:])
    (found[mask] ** 2).sum().backward()
    assert all(one.grad.isfinite().all() for one in given)
    squares = sum(size == tags**2 for size in sizes)
    assert max(sizes) == tags**2, "nothing that has a square of tags for each row"
    assert squares <= 12, "the transitions once for each product"


@pytest.mark.parametrize("apart", [50.0, 1e3])
def test_marginals_of_nearly_certain_illegal_tags_sum_to_one(apart: float) -> None:
    tags = TagSet(("O", "B-A", "I-A", "B-B", "I-B"))
    crf = ConditionalRandomField(tags)
    emissions = torch.zeros(2, 4, 5)
    emissions[0, :, 2] = emissions[1, 1, 4] = apart  # I tags from the first word, and one after O
    found = crf.marginals(emissions, torch.ones(2, 4, dtype=torch.bool)).detach()
    torch.testing.assert_close(found.sum(2), torch.ones(2, 4))
    assert found[0, 0, 2] < 1e-6


def by_logarithms(emissions, mask, transitions, start, end):
    """The plain forward algorithm, with the gradient of autograd."""
    found = start + emissions[:, 0]
    for position in range(1, emissions.shape[1]):
        following = torch.logsumexp(found.unsqueeze(2) + transitions, dim=1) + emissions[:, position]
        found = torch.where(mask[:, position].unsqueeze(1), following, found)
    return torch.logsumexp(found + end, dim=1)


@pytest.mark.parametrize("words", [1, 7])
@pytest.mark.parametrize("scale", [1.0, 60.0])
def test_log_partition_and_its_gradient_are_exact(batch, words: int, scale: float) -> None:
    emissions, _, mask = batch
    emissions, mask = emissions[:, :words].double() * scale, mask[:, :words]
    torch.manual_seed(2)
    transitions, start, end = torch.randn(4, 4).double(), torch.randn(5, 4).double(), torch.randn(5, 4).double()
    transitions[0, 2], start[0, 1], end[1, 3] = FORBIDDEN, FORBIDDEN, FORBIDDEN
    weights = torch.linspace(-1, 2, 5)
    found = []
    for way in (log_partition, by_logarithms):
        given = [part.clone().requires_grad_() for part in (emissions, transitions, start, end)]
        value = way(given[0], mask, *given[1:])
        (value * weights).sum().backward()
        found.append([value.detach(), *(torch.zeros_like(part) if part.grad is None else part.grad for part in given)])
    torch.testing.assert_close(found[0], found[1], rtol=1e-9, atol=1e-9)
    assert all(not gradient[..., ~mask, :].any() for gradient in [found[0][1]])
