"""How far the pyramid may be from one in double precision: an error and its bound, by output.

An error is ||found - reference|| over the *size* of what was added up: for levels and for the
gradient by words the norm of the reference; for a weight gradient, which sums over all cells, the
root of the summed squares of its terms where that is larger. The terms of a gate's gradient are
themselves differences, omega_i g . (x_i - h), and are taken as large as omega_i |g| |x_i|, over the
dimensions of its group. So is the slope of tanh, 1 - c^2, taken as large as 1 + c^2: towards the
ends little is left of it, and what is left has lost its digits. What rounding leaves of a sum has
nothing to do with how far its terms happen to cancel: the gradient by b_G may be a hundredth of its
terms, and then has a hundred times their relative error.

The bound follows from what is rounded. A cell makes an independent relative error

    rho = p sqrt(2)                     operands of the matrix products, p their unit roundoff,
        + q sqrt(2)                     the products of both children as they are stored,
        + u sqrt(2)                     stored units and compositions, u that of the type,
        + u (sqrt(2 D) + 32)            sums over 2 D products, and some 32 elementary operations,

and with the weights of :func:`calm` no cell makes an error that it is given larger, so that the
errors of T levels add up to sqrt(T) rho, as independent errors do. A margin of 2 covers what is not
independent. A gradient through a maximum or a relu jumps where rounding takes the other side: that
befalls a share of the cells as large as the error of the units, e, and each moves a whole term, so
that the error of the sum is sqrt(e).

A mistake in the algorithm shows in float64 and float32, whose bounds are below 1e-4: they and TF32
differ in nothing else. What bfloat16 adds is how operands and products are stored.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from adasent.pyramid import RELU_CAP
from adasent.pyramid.weights import ACTIVATIONS, PyramidWeights

#: What is compared: the levels, then the gradients by words and by the six weights.
NAMES = ("levels", "words", "W_L", "W_R", "b_W", "G_L", "G_R", "b_G")

#: Unit roundoff of an operand of a product, of a stored product, and of every other number. TF32
#: keeps 10 bits behind the point, and the matrix units of a GPU cut off the rest; bfloat16 keeps 7,
#: and is rounded to nearest.
MODES = {
    "float64": (2.0**-53, 2.0**-53, 2.0**-53),
    "float32": (2.0**-24, 2.0**-24, 2.0**-24),
    "tf32": (2.0**-10, 2.0**-24, 2.0**-24),
    "bfloat16": (2.0**-8, 2.0**-8, 2.0**-24),
}
_OPERATIONS = 32
_MARGIN = 2


def bounds(mode: str, size: int, n_words: int, *, kinked: bool) -> dict[str, float]:
    """The error that each output may have.

    Parameters
    ----------
    size, n_words
        D, and the words of the longest sentence.
    kinked
        Whether there is a maximum or a relu.
    """
    multiplied, stored, other = MODES[mode]
    cell = 2**0.5 * (multiplied + stored + other) + other * ((2 * size) ** 0.5 + _OPERATIONS)
    smooth = _MARGIN * n_words**0.5 * cell
    return {name: smooth**0.5 if kinked and name != "levels" else smooth for name in NAMES}


def calm(weights: Sequence[Tensor]) -> list[Tensor]:
    """Weights, each row of norm 1, with the two matrices of the composition halved.

    Together they then keep the size of a unit, as those of a network at its start do. Larger ones
    make the recurrence chaotic: rounding grows with every level, and no bound holds.
    """
    return [weights[0] / 2, weights[1] / 2, *weights[2:]]


def errors(
    found: Sequence[Tensor], expected: Sequence[Tensor], sizes: Sequence[float]
) -> dict[str, float]:
    """Error of each output; NaN passes no bound, and what should be zero must be."""
    relative = {}
    for name, one, other, size in zip(NAMES, found, expected, sizes, strict=True):
        distance = float((one.to(other) - other.nan_to_num(0.0)).norm())
        relative[name] = distance / size if size else distance
    return relative


def sizes(
    expected: Sequence[Tensor],
    words: Tensor,
    lengths: Sequence[int],
    weights: Sequence[Tensor],
    target: Tensor,
    *,
    activation: str,
    pooling: str,
) -> list[float]:
    """The size of each output, by which its error is judged.

    Parameters
    ----------
    expected
        Levels and the seven gradients of ``(levels * target).sum()``, in double precision; NaN at
        the padding of words.
    words, lengths, weights, target
        Of one model, in double precision: (B, T, D), B numbers, six tensors, (B, T, D).
    """
    squares = torch.zeros(6, dtype=words.dtype, device=words.device)
    for i, length in enumerate(lengths):
        if length > 1:  # one word has no cell
            squares += _squared_terms(words[i, :length], weights, target[i], activation, pooling)
    norms = torch.stack([tensor.nan_to_num(0.0).norm() for tensor in expected])
    norms[2:] = torch.maximum(norms[2:], squares.sqrt())
    return [float(norm) for norm in norms]


def _squared_terms(
    words: Tensor, weights: Sequence[Tensor], target: Tensor, activation: str, pooling: str
) -> Tensor:
    """(6,) squared terms of the weight gradients, summed over the cells of a sentence."""
    own = PyramidWeights(*[weight.detach() for weight in weights])
    n = own.n_groups
    levels, cells = [words.detach().requires_grad_()], []
    for _ in range(1, len(words)):
        left, right = levels[-1][:-1], levels[-1][1:]
        argument = left @ own.compose_left.T + right @ own.compose_right.T + own.compose_bias
        composed = ACTIVATIONS[activation](argument)
        scores = left @ own.gate_left.T + right @ own.gate_right.T + own.gate_bias
        children = torch.stack([left, right, composed], dim=1)  # (cells, 3, D)
        gates = torch.softmax(scores.unflatten(1, (3, n)), dim=1)  # (cells, 3, N)
        shares = gates.repeat(1, 1, children.shape[2] // n)  # (cells, 3, D): d is of group d mod N
        levels.append((shares * children).sum(dim=1))
        cells.append((argument, children, gates, shares[:, 2]))
    pooled = [level.mean(dim=0) if pooling == "mean" else level.amax(dim=0) for level in levels]
    loss = (torch.stack(pooled) * target[: len(words)]).sum()
    gradients = torch.autograd.grad(loss, levels[1:])
    totals = torch.zeros(6, dtype=loss.dtype, device=loss.device)
    for (argument, children, gates, share), gradient in zip(cells, gradients, strict=True):
        if activation == "tanh":
            slope = 1 + children[:, 2].square()
        else:
            slope = ((argument >= 0) & (argument <= RELU_CAP)).to(argument)
        through = (share * gradient * slope).square().sum(dim=1)  # |z|^2 of each cell
        child = children.square().unflatten(2, (-1, n)).sum(dim=2)  # (cells, 3, N)
        of_groups = gradient.square().unflatten(1, (-1, n)).sum(dim=1)  # (cells, N)
        score = (gates.square() * child * of_groups[:, None]).sum(dim=(1, 2))
        left, right = (child[:, side].sum(dim=1) for side in (0, 1))
        terms = (through * left, through * right, through, score * left, score * right, score)
        totals += torch.stack(terms).sum(dim=1).detach()
    return totals
