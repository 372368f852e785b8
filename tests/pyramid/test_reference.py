"""The definition itself: a case worked by hand, its gradient, and the paper's special cases."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn.utils.rnn import pad_packed_sequence

from adasent.pyramid.reference import pyramid_reference, sentence_pyramid
from adasent.pyramid.weights import PyramidWeights
from pyramid_cases import pack, random_weights, random_words

LN2 = math.log(2.0)


def tensor(*values: object) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def test_three_words_by_hand() -> None:
    """D = 1, words 1, 2, 4, f = relu, h~ = l + r, gate scores (l ln 2, 0, 0).

    Level 2: l = 1, r = 2: gates (2, 1, 1) / 4, h~ = 3, unit = (2 + 2 + 3) / 4 = 7/4.
             l = 2, r = 4: gates (4, 1, 1) / 6, h~ = 6, unit = (8 + 4 + 6) / 6 = 3.
    Level 3: l = 7/4, r = 3: with e = 2^(7/4), gates (e, 1, 1) / (e + 2), h~ = 19/4,
             unit = (7/4 e + 3 + 19/4) / (e + 2).
    """
    weights = PyramidWeights(
        tensor([1.0]),
        tensor([1.0]),
        tensor(0.0),
        tensor([LN2], [0.0], [0.0]),
        tensor([0.0], [0.0], [0.0]),
        tensor(0.0, 0.0, 0.0),
    )
    units, gates = sentence_pyramid(tensor([1.0], [2.0], [4.0]), weights, "relu")
    e = 2**1.75
    torch.testing.assert_close(units[1], tensor([7 / 4], [3.0]))
    torch.testing.assert_close(units[2], tensor([(7 / 4 * e + 31 / 4) / (e + 2)]))
    by_hand = tensor([1 / 2, 1 / 4, 1 / 4], [2 / 3, 1 / 6, 1 / 6])
    torch.testing.assert_close(gates[0][..., 0], by_hand)
    torch.testing.assert_close(gates[1][..., 0], tensor([e, 1.0, 1.0]) / (e + 2))

    words = pack(tensor([[1.0], [2.0], [4.0]]), [3])
    mean = pyramid_reference(words, weights, activation="relu", pooling="mean").levels.data
    maximum = pyramid_reference(words, weights, activation="relu", pooling="max").levels.data
    top = (7 / 4 * e + 31 / 4) / (e + 2)
    torch.testing.assert_close(mean, tensor([7 / 3], [19 / 8], [top]))
    torch.testing.assert_close(maximum, tensor([4.0], [3.0], [top]))


@pytest.mark.parametrize("pooling", ["mean", "max"])
@pytest.mark.parametrize("gate_size", [None, 4])
@pytest.mark.parametrize("n_groups", [1, 2, 4])
def test_gradient_in_double_precision(pooling: str, gate_size: int | None, n_groups: int) -> None:
    size, lengths = 4, [4, 1, 3]
    weights = random_weights(size, gate_size=gate_size, n_groups=n_groups, requires_grad=True)
    words = random_words(lengths, size).nan_to_num().requires_grad_()

    def build(words: torch.Tensor, *tensors: torch.Tensor) -> torch.Tensor:
        return pyramid_reference(
            pack(words, lengths), PyramidWeights(*tensors), pooling=pooling
        ).levels.data

    assert torch.autograd.gradcheck(build, (words, *[w for w in weights if w is not None]))


def test_two_groups_by_hand() -> None:
    """D = 4 in two groups, even and odd dimensions: one copies left, the other composes."""
    zero = torch.zeros(4, 4, dtype=torch.float64)
    bias = tensor(1e3, 0.0, 0.0, 0.0, 0.0, 1e3)  # left of group 0, composed of group 1
    gate = torch.zeros(6, 4, dtype=torch.float64)
    weights = PyramidWeights(zero, zero, tensor(5.0, 6.0, 7.0, 8.0), gate, gate, bias)
    words = tensor([1.0, 2.0, 3.0, 4.0], [9.0, 9.0, 9.0, 9.0])
    units, gates = sentence_pyramid(words, weights, "relu")
    torch.testing.assert_close(units[1], tensor([1.0, 6.0, 3.0, 8.0]))
    torch.testing.assert_close(gates[0], tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]))


def test_equal_gates_of_all_groups_are_the_paper_s_gate() -> None:
    one, lengths = random_weights(6), [5, 2]
    rows = [w.repeat_interleave(3, dim=0) for w in one[3:6]]
    words = pack(random_words(lengths, 6), lengths)
    found = pyramid_reference(words, PyramidWeights(*one[:3], *rows))
    torch.testing.assert_close(found.levels.data, pyramid_reference(words, one).levels.data)


def test_a_height_leaves_out_the_levels_above() -> None:
    weights, lengths = random_weights(4, n_groups=2), [6, 2, 4]
    words = pack(random_words(lengths, 4), lengths)
    whole, _ = pad_packed_sequence(pyramid_reference(words, weights).levels, batch_first=True)
    low = pyramid_reference(words, weights, height=3, keep_units=True)
    cut, n_levels = pad_packed_sequence(low.levels, batch_first=True)
    assert n_levels.tolist() == [3, 2, 3]
    torch.testing.assert_close(cut, whole[:, :3])
    assert low.units is not None
    assert [len(level) for level in low.units] == [12, 9, 6]


@pytest.mark.parametrize("n_groups", [1, 3])
def test_gates_are_convex_and_units_stay_within_their_children(n_groups: int) -> None:
    weights = random_weights(6, n_groups=n_groups)
    units, gates = sentence_pyramid(random_words([7], 6)[0], weights, "tanh")
    for t, omega in enumerate(gates):
        assert omega.shape == (6 - t, 3, n_groups)
        torch.testing.assert_close(omega.sum(1), torch.ones_like(omega[:, 0]))
        assert (omega >= 0).all()
        bound = torch.maximum(units[t][:-1].abs(), units[t][1:].abs()).clamp(min=1.0)
        assert (units[t + 1].abs() <= bound + 1e-12).all()


def test_gates_forced_left_to_right_give_the_recurrent_chain() -> None:
    """A marker on the first word makes every prefix compose and everything else copy right."""
    content, marker, big = 4, 4, 1e3
    weights = [w.clone() for w in random_weights(content + 1)[:6]]
    compose_left, compose_right, bias, gate_left, gate_right, gate_bias = weights
    for matrix in (compose_left, compose_right):
        matrix[marker, :] = matrix[:, marker] = 0.0
    compose_left[marker, marker] = 1.0  # a composition keeps the marker of its left child
    bias[marker] = 0.0
    gate_left.zero_()
    gate_right.zero_()
    gate_left[2, marker] = big
    gate_bias[:] = tensor(-big, big / 2, 0.0)  # unmarked: copy right
    words = torch.randn(6, content + 1, dtype=torch.float64)
    words[:, marker] = 0.0
    words[0, marker] = 1.0
    units, _ = sentence_pyramid(words, PyramidWeights(*weights), "relu")

    state = words[0]
    for word in words[1:]:
        state = torch.relu(compose_left @ state + compose_right @ word + bias)
    torch.testing.assert_close(units[-1][0], state)


def test_gates_forced_along_a_tree_give_the_recursive_net() -> None:
    """((a b) (c d)): markers a, b, c, d and closed-left, closed-right, junk steer the gates."""
    content, size, big = 3, 10, 1e3
    a, b, c, d, closed_left, closed_right, junk = range(content, size)
    random = random_weights(size)
    compose_left, compose_right = random.compose_left.clone(), random.compose_right.clone()
    bias = random.compose_bias.clone()
    for matrix in (compose_left, compose_right):
        matrix[content:, :] = matrix[:, content:] = 0.0
    bias[content:] = 0.0
    for marker, left, right in ((closed_left, a, b), (closed_right, c, d), (junk, b, c)):
        compose_left[marker, left] = compose_right[marker, right] = 1.0
        bias[marker] = -1.0  # relu(left + right - 1): both must be marked
    gate_left, gate_right = (torch.zeros(3, size, dtype=torch.float64) for _ in range(2))
    gate_left[0, closed_left] = gate_right[0, junk] = big  # (a b) beside junk: copy left
    gate_left[1, junk] = gate_right[1, closed_right] = big  # junk beside (c d): copy right
    gate_bias = tensor(-1.5 * big, -1.5 * big, 0.0)
    weights = PyramidWeights(compose_left, compose_right, bias, gate_left, gate_right, gate_bias)
    words = torch.randn(4, size, dtype=torch.float64)
    words[:, content:] = 0.0
    for row, marker in enumerate((a, b, c, d)):
        words[row, marker] = 1.0
    units, _ = sentence_pyramid(words, weights, "relu")

    def node(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        return torch.relu(compose_left @ left + compose_right @ right + bias)

    root = node(node(words[0], words[1]), node(words[2], words[3]))
    torch.testing.assert_close(units[-1][0], root)


def test_padding_is_never_read() -> None:
    lengths = [2, 5, 1]
    levels = pyramid_reference(pack(random_words(lengths, 4), lengths), random_weights(4)).levels
    padded, _ = pad_packed_sequence(levels, batch_first=True)
    assert torch.isfinite(padded).all()
