"""Level norm: the Triton kernels equal torch's layer norm, outputs and every gradient.

On a machine with CUDA these tests run the compiled kernels, elsewhere the same kernels in Triton's
interpreter. Whatever the kernels write to is NaN before.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn.functional import layer_norm

HAS_CUDA = torch.cuda.is_available()
DEVICE = "cuda" if HAS_CUDA else "cpu"
if not HAS_CUDA:
    os.environ["TRITON_INTERPRET"] = "1"  # before triton is imported

pytest.importorskip("triton")

from adasent.nn import LevelNorm, norm, norm_triton  # noqa: E402
from adasent.nn.norm import _has_kernels, _level_norm_triton, level_norm  # noqa: E402

EPS = 1e-5
EXACT = {"rtol": 1e-12, "atol": 1e-12}


@pytest.fixture(autouse=True)
def poisoned(monkeypatch: pytest.MonkeyPatch) -> None:
    def empty(*shape: Any, **options: Any) -> Tensor:
        return torch.empty(*shape, **options).fill_(float("nan"))

    monkeypatch.setattr(norm_triton, "_empty", empty)


def randn(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(DEVICE)


def inputs(*shape: int, models: tuple[int, ...] = ()) -> list[Tensor]:
    """x, weight, bias, and the gradient at the outcome."""
    weights = [randn(*models, shape[-1], seed=seed) for seed in (1, 2)]
    return [3 + 2 * randn(*shape), *weights, randn(*shape, seed=3)]


def by_torch(x: Tensor, weight: Tensor, bias: Tensor, eps: float = EPS) -> Tensor:
    return layer_norm(x, weight.shape, weight, bias, eps)


def by_triton(x: Tensor, weight: Tensor, bias: Tensor, eps: float = EPS) -> Tensor:
    return _level_norm_triton(x, weight, bias, eps)


def outcome(function: Callable[..., Tensor], *given: Tensor) -> list[Tensor]:
    """Outcome and three gradients."""
    *own, d_out = given
    own = [tensor.detach().requires_grad_() for tensor in own]
    out = function(*own)
    return [out.detach(), *torch.autograd.grad(out, own, d_out)]


def assert_equal(given: list[Tensor], **options: Any) -> None:
    """Torch's layer norm of a model is the definition."""
    found = outcome(lambda *own: by_triton(*own, **options), *given)
    expected = outcome(lambda *own: by_torch(*own, **options), *given)
    torch.testing.assert_close(found, expected, **EXACT)


# Against torch.


@pytest.mark.parametrize("size", [1, 7, 100, 128, 300])
@pytest.mark.parametrize("shape", [(1, 1), (4, 8), (5, 21)], ids=lambda n: f"{n}")
def test_equals_torch(size: int, shape: tuple[int, int]) -> None:
    """A program has 32 rows, or 8 where a row has 300 numbers."""
    assert_equal(inputs(*shape, size))


def test_one_row_and_axes_of_any_number() -> None:
    assert_equal(inputs(7))
    assert_equal(inputs(2, 3, 4, 5, 7))


def test_long_rows_are_a_program_each() -> None:
    assert norm_triton._tile(5000) == (1, 8192, 8)
    assert_equal(inputs(3, 5000))


@pytest.mark.parametrize("eps", [1e-12, 0.1])
def test_any_epsilon(eps: float) -> None:
    assert_equal(inputs(3, 4, 7), eps=eps)


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_rows_that_are_not_there_add_nothing_without_an_epsilon() -> None:
    assert_equal(inputs(3, 4, 7), eps=0.0)


def test_single_precision_is_near_double_precision() -> None:
    given = inputs(6, 21, 100)
    found = outcome(by_triton, *[tensor.float() for tensor in given])
    assert all(tensor.dtype == torch.float32 for tensor in found)
    expected = outcome(by_torch, *given)
    torch.testing.assert_close([x.double() for x in found], expected, rtol=2e-5, atol=2e-5)


def test_gradient_is_that_of_finite_differences() -> None:
    own = [tensor.requires_grad_() for tensor in inputs(2, 2, 3)[:3]]
    assert torch.autograd.gradcheck(by_triton, own)


def test_x_and_gradient_need_not_be_contiguous() -> None:
    x, weight, bias, d_out = inputs(5, 6, 7)
    for turn in ((1, 0, 2), (0, 2, 1), (2, 1, 0)):
        apart = [x.permute(turn).contiguous().permute(torch.tensor(turn).argsort().tolist())]
        apart.append(d_out.mT.contiguous().mT)
        assert not apart[0].is_contiguous()
        assert_equal([apart[0], weight, bias, apart[1]])
    assert_equal([x[:, ::2], weight, bias, d_out[:, ::2]])
    assert_equal([x, weight, bias, d_out[0, 0].expand(5, 6, 7)])
    wide = randn(2, 14)
    assert_equal([x, wide[0, ::2], wide[1, ::2], d_out])


# Rows that are hard.


def test_constant_rows() -> None:
    x, *rest = inputs(4, 5, 7)
    x[1], x[2] = 0.0, 3.25
    assert_equal([x, *rest])
    torch.testing.assert_close(by_triton(x, *rest[:2])[1:3], rest[1].expand(2, 5, 7), **EXACT)


@pytest.mark.parametrize("scale", [1e10, 1e17])
def test_large_values_are_finite_in_single_precision(scale: float) -> None:
    x, *rest = inputs(2, 3, 100)
    expected = outcome(by_torch, x * scale, *rest)
    found = outcome(by_triton, *[tensor.float() for tensor in (x * scale, *rest)])
    for got, wanted in zip(found, expected, strict=True):
        assert got.isfinite().all()
        error = (got.double() - wanted).abs().max() / wanted.abs().max()
        assert error < 1e-5


@pytest.mark.filterwarnings("ignore:overflow")
def test_values_whose_squares_overflow_are_finite_too() -> None:
    given = [tensor.float() for tensor in inputs(2, 3, 100)]
    for tensor in outcome(by_triton, 1e30 * given[0], *given[1:]):
        assert tensor.isfinite().all()


def test_a_nan_stays_in_its_row() -> None:
    x, weight, bias, _ = inputs(2, 3, 7)
    x[1, 1, 4] = float("nan")
    bad = by_triton(x, weight, bias).isnan()
    assert bad[1, 1].all()
    assert bad.sum() == 7


# Gradients that nobody asks for.


@pytest.mark.parametrize("asked", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)])
def test_gradients_of_some_inputs(asked: tuple[int, ...]) -> None:
    given = inputs(3, 20, 7)
    found = []
    for function in (by_triton, by_torch):
        own = [x.detach().requires_grad_(i in asked) for i, x in enumerate(given[:3])]
        function(*own).backward(given[3])
        assert [i for i, x in enumerate(own) if x.grad is not None] == list(asked)
        found.append([own[i].grad for i in asked])
    torch.testing.assert_close(found[0], found[1], **EXACT)


def test_no_gradient_at_all() -> None:
    x, weight, bias, _ = inputs(3, 4, 7)
    assert not by_triton(x, weight, bias).requires_grad
    with torch.no_grad():
        assert not by_triton(x.requires_grad_(), weight, bias).requires_grad


def test_backward_may_come_twice_and_repeats_bit_for_bit() -> None:
    *own, d_out = inputs(5, 21, 7)
    own = [tensor.requires_grad_() for tensor in own]
    out = by_triton(*own)
    first = torch.autograd.grad(out, own, d_out, retain_graph=True)
    second = torch.autograd.grad(out, own, d_out)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_a_gradient_of_the_gradient_is_refused() -> None:
    x, weight, bias, _ = inputs(2, 3, 4)
    out = by_triton(x.requires_grad_(), weight, bias).square().sum()
    (gradient,) = torch.autograd.grad(out, x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


# A stack of models.


def assert_equals_a_loop(given: list[Tensor], in_dims: tuple[int | None, ...]) -> None:
    """Models under vmap, and one after the other with torch's layer norm."""

    def loop(*own: Tensor) -> Tensor:
        of_model = [
            tuple(
                x if dim is None else x.select(dim, k) for x, dim in zip(own, in_dims, strict=True)
            )
            for k in range(3)
        ]
        return torch.stack([by_torch(*one) for one in of_model])

    found = outcome(vmap(by_triton, in_dims), *given)
    torch.testing.assert_close(found, outcome(loop, *given), **EXACT)


@pytest.mark.parametrize("size", [1, 7, 100, 128])
def test_models_under_vmap_equal_models_alone(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    launches = []
    kernel = norm_triton.norm
    monkeypatch.setattr(
        norm_triton, "norm", lambda x, *rest: launches.append(x.shape) or kernel(x, *rest)
    )
    assert_equals_a_loop(inputs(3, 5, 9, size, models=(3,)), (0, 0, 0))
    assert launches == [(3, 45, size)]  # one for all


@pytest.mark.parametrize("in_dims", [(0, None, None), (0, 0, None), (0, None, 0), (None, 0, 0)])
def test_vmap_shares_what_has_no_model_axis(in_dims: tuple[int | None, ...]) -> None:
    *own, d_out = inputs(3, 5, 9, 7, models=(3,))
    own = [x[0] if dim is None else x for x, dim in zip(own, in_dims, strict=True)]
    assert_equals_a_loop([*own, d_out], in_dims)


def test_models_need_not_lie_along_the_first_axis() -> None:
    x, weight, bias, d_out = inputs(3, 5, 9, 7, models=(3,))
    assert_equals_a_loop([x.movedim(0, 2), weight.T, bias, d_out], (2, 1, 0))


def test_models_of_models() -> None:
    given = inputs(2, 3, 4, 5, 7, models=(2, 3))
    found = outcome(vmap(vmap(by_triton)), *given)
    torch.testing.assert_close(found, outcome(vmap(vmap(by_torch)), *given), **EXACT)


def test_weights_are_read_where_they_lie() -> None:
    """Those of a stack are parts of one long row a model: no copy is made of them."""
    flat, x = randn(3, 40), randn(3, 5, 9, 7)
    weight, bias = flat[:, 11:18], flat[:, 25:32]
    assert norm_triton._with_rows(weight) is weight
    assert_equals_a_loop([x, weight, bias, randn(3, 5, 9, 7, seed=3)], (0, 0, 0))


# The module.


def test_parameters_are_those_of_layer_norm() -> None:
    ours, theirs = LevelNorm(7), nn.LayerNorm(7)
    assert isinstance(ours, nn.LayerNorm)
    assert ours.eps == theirs.eps
    assert list(ours.state_dict()) == list(theirs.state_dict()) == ["weight", "bias"]
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(3, 4, 7)
    assert torch.equal(ours(x), theirs(x))


def test_module_in_a_stack_runs_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(norm, "_has_kernels", lambda *tensors: True)
    module = LevelNorm(7).to(DEVICE).double()

    def stacked(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        weights = {"weight": weight, "bias": bias}
        return vmap(lambda own, x: functional_call(module, own, (x,)))(weights, x)

    given = inputs(3, 5, 9, 7, models=(3,))
    torch.testing.assert_close(outcome(stacked, *given), outcome(vmap(by_torch), *given), **EXACT)
    assert "_LevelNorm" in type(stacked(given[0].requires_grad_(), *given[1:3]).grad_fn).__name__


class OnCuda:
    """What the choice asks of a tensor, where there is no device to have one on."""

    is_cuda = True

    def __init__(self, *shape: int, dtype: torch.dtype = torch.float32) -> None:
        self.shape, self.dtype = torch.Size(shape), dtype

    def numel(self) -> int:
        return self.shape.numel()


def test_kernels_are_taken_where_they_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    def choice(x: Any, weight: Any) -> bool:
        return _has_kernels(x, weight, weight)

    x, weight = OnCuda(2, 3, 7), OnCuda(7)
    assert choice(x, weight)
    assert choice(OnCuda(2, 7, dtype=torch.float64), OnCuda(7, dtype=torch.float64))
    assert not choice(torch.zeros(2, 3, 7), torch.zeros(7))
    assert not choice(x, OnCuda(7, dtype=torch.float64))
    assert not choice(OnCuda(7, dtype=torch.float16), OnCuda(7, dtype=torch.float16))
    assert not choice(x, OnCuda(3, 7))
    assert not choice(x, OnCuda(21))
    assert not choice(OnCuda(0, 3, 7), weight)
    monkeypatch.setattr(norm, "_kernels", lambda: None)
    assert not choice(x, weight)


def test_without_triton_it_is_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    norm._kernels.cache_clear()
    monkeypatch.setattr("importlib.import_module", absent)
    try:
        assert norm._kernels() is None
        x, weight, bias, _ = inputs(2, 3, 7)
        assert torch.equal(level_norm(x, weight, bias, EPS), by_torch(x, weight, bias))
    finally:
        norm._kernels.cache_clear()


# On a device.


@pytest.mark.gpu
@pytest.mark.skipif(not HAS_CUDA, reason="no CUDA device")
def test_a_recorded_step_repeats_what_was_recorded() -> None:
    """Nothing waits for the host, so that forward and backward are one graph."""
    given = inputs(3, 5, 21, 100, models=(3,))
    expected = outcome(vmap(by_triton), *given)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        outcome(vmap(by_triton), *given)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = outcome(vmap(by_triton), *given)
    graph.replay()
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
