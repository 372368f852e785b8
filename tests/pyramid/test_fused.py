"""The fused pyramid equals the reference, outputs and every gradient.

On a machine with CUDA these tests run the compiled kernels, elsewhere the same kernels in Triton's
interpreter. Whatever the kernels allocate is poisoned first: NaN, or an index far outside.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_packed_sequence

HAS_CUDA = torch.cuda.is_available()
if not HAS_CUDA:
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are first imported

triton = pytest.importorskip("triton")

from adasent.errors import ConfigError  # noqa: E402
from adasent.pyramid import fused  # noqa: E402
from adasent.pyramid.fused import Tiling, fused_unavailable, pyramid_fused  # noqa: E402
from adasent.pyramid.packed import pyramid_packed  # noqa: E402
from adasent.pyramid.reference import pyramid_reference  # noqa: E402
from adasent.pyramid.weights import PyramidWeights  # noqa: E402
from pyramid_bounds import MODES, Mode, bounds, calm, errors, sizes  # noqa: E402
from pyramid_cases import pack, random_weights, random_words  # noqa: E402
from triton_interpreter import repair_interpreter  # noqa: E402

DEVICE = "cuda" if HAS_CUDA else "cpu"
SMALL = Tiling(group=2, rows=64 if HAS_CUDA else 16, resident=True, warps=4, backward_warps=4)
SMOOTH = {"activation": "tanh", "pooling": "mean"}


@pytest.fixture(scope="module", autouse=True)
def interpreter() -> None:
    if not HAS_CUDA:
        repair_interpreter()


@pytest.fixture(autouse=True)
def poisoned(monkeypatch: pytest.MonkeyPatch) -> None:
    def empty(*shape: Any, **options: Any) -> Tensor:
        tensor = torch.empty(*shape, **options)
        return tensor.fill_(float("nan") if tensor.is_floating_point() else -(2**30))

    monkeypatch.setattr(fused, "_empty", empty)
    monkeypatch.setattr(fused, "SPLITS", 2)  # few, for the interpreter's sake


class Outcome(NamedTuple):
    """Levels, then the gradients of a random projection of them by words and six weights."""

    found: list[Tensor]
    errors: dict[str, float]
    bounds: dict[str, float]  # at the precision that was asked for
    exact: dict[str, float]  # at the precision of the interpreter, which rounds no product


def outcome(lengths: list[int], size: int, *, seed: int = 0, **options: Any) -> Outcome:
    """The fused pyramid against the reference in double precision."""
    how = {name: options.get(name, default) for name, default in SMOOTH.items()}
    drawn = calm(random_weights(size, seed=seed)[:6])
    words = random_words(lengths, size, seed=seed + 1)
    inputs = [tensor.requires_grad_() for tensor in (words, *drawn)]
    # The packed pyramid is itself tested against the reference, and faster.
    build = pyramid_reference if max(lengths) < 40 else pyramid_packed
    packed = build(pack(words, lengths), PyramidWeights(*drawn), **how).levels
    levels, _ = pad_packed_sequence(packed, batch_first=True)
    target = torch.randn(levels.shape, generator=torch.Generator().manual_seed(2)).double()
    gradients = torch.autograd.grad((levels * target).sum(), inputs, materialize_grads=True)
    expected = [levels.detach(), *gradients]
    scale = sizes(expected, words.detach(), lengths, drawn, target, **how)

    inputs = [tensor.detach().float().to(DEVICE).requires_grad_() for tensor in inputs]
    levels = pyramid_fused(
        inputs[0], torch.tensor(lengths, device=DEVICE), PyramidWeights(*inputs[1:]), **options
    )
    gradients = torch.autograd.grad((levels * target.float().to(DEVICE)).sum(), inputs)
    found = [levels.detach(), *gradients]
    precision, storage = options.get("precision", "tf32"), options.get("storage", torch.float32)
    shape = {"size": size, "n_words": max(lengths), "kinked": how != SMOOTH}
    return Outcome(
        found,
        errors([tensor.cpu() for tensor in found], expected, scale),
        bounds(precision, storage, **shape),
        bounds(precision if HAS_CUDA else "ieee", storage, **shape),
    )


def assert_close(outcome: Outcome) -> None:
    for name, error in outcome.errors.items():
        assert error <= outcome.exact[name], name


@pytest.mark.parametrize(
    ("lengths", "size"),
    [
        ([1], 50),
        ([2, 2], 100),
        ([3], 128),
        ([31], 20),
        ([5, 1, 9, 5, 2], 1),
        ([4, 7, 1], 200),
    ],
)
def test_equals_reference(lengths: list[int], size: int) -> None:
    assert_close(outcome(lengths, size))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lengths", "size"), [([63, 1], 20), ([64], 50), ([65, 2], 100), ([120, 31, 3], 128)]
)
def test_equals_reference_for_long_sentences(lengths: list[int], size: int) -> None:
    assert_close(outcome(lengths, size))


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_equals_reference_for_every_variant(activation: str, pooling: str) -> None:
    options = {"activation": activation, "pooling": pooling, "precision": "ieee", "tiling": SMALL}
    assert_close(outcome([5, 1, 9, 5, 2], 7, **options))


@pytest.mark.parametrize(
    "tiling",
    [
        Tiling(group=1, rows=64 if HAS_CUDA else 16),
        Tiling(group=4, rows=64, resident=True),
        Tiling(group=4, rows=64, chunk=16, tile=16),
    ],
    ids=["chunked", "resident groups", "chunked blocks"],
)
def test_equals_reference_however_the_work_is_cut(tiling: Tiling) -> None:
    """23 features in blocks of 16, five sentences in groups of four: the edges are ragged."""
    assert_close(outcome([3, 1, 6, 4, 2], 23, tiling=tiling))


@pytest.mark.parametrize("precision", ["tf32x3", "ieee"])
def test_exact_products_are_near_float32(precision: str) -> None:
    assert_close(outcome([6, 3], 20, precision=precision))


def test_bfloat16_storage_is_near_the_reference() -> None:
    options = {"storage": torch.bfloat16, "tiling": SMALL}
    assert_close(outcome([5, 1, 9, 2], 20, **options))


def test_relu_passes_the_gradient_at_zero_as_the_reference_does() -> None:
    """All weights of the composition 0: its argument is exactly 0, where clamp has slope 1."""
    found = []
    for build in (_reference_levels, pyramid_fused):
        weights = _float_weights(4)
        zeros = [torch.zeros_like(tensor, requires_grad=True) for tensor in weights[:3]]
        words = random_words([3], 4).float().to(DEVICE)
        arguments = (words, torch.tensor([3], device=DEVICE), PyramidWeights(*zeros, *weights[3:]))
        levels = build(*arguments, activation="relu")
        found.append(torch.autograd.grad(levels.sum(), zeros))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=2e-3, atol=1e-5)
        assert other.abs().sum() > 0


def test_equal_maxima_share_the_gradient() -> None:
    found = []
    for build in (_reference_levels, pyramid_fused):
        word = random_words([1], 3)[0, 0].float()
        words = word.expand(2, 4, 3).clone().to(DEVICE).requires_grad_()
        lengths = torch.tensor([4, 3], device=DEVICE)
        levels = build(words, lengths, _float_weights(3), pooling="max")
        found.append(torch.autograd.grad(levels.sum(), words)[0])
    torch.testing.assert_close(found[1], found[0], rtol=2e-3, atol=1e-5)


def test_a_nan_reaches_the_maximum() -> None:
    words = random_words([3], 4).float().to(DEVICE)
    words[0, 1, 2] = float("nan")
    levels = pyramid_fused(
        words, torch.tensor([3], device=DEVICE), _float_weights(4), pooling="max", tiling=SMALL
    )
    assert levels[0, 0].isnan().tolist() == [False, False, True, False]
    assert levels[0, 2].isnan().all()


def test_padding_is_not_read_and_gets_neither_level_nor_gradient() -> None:
    words = random_words([2, 4], 5).float().to(DEVICE).requires_grad_()  # padding is NaN
    levels = pyramid_fused(
        words, torch.tensor([2, 4], device=DEVICE), _float_weights(5), tiling=SMALL
    )
    gradient = torch.autograd.grad(levels.sum(), words)[0]
    assert levels.isfinite().all()
    assert (levels[0, 2:] == 0).all()
    assert (gradient[0, 2:] == 0).all()
    assert (gradient[0, :2] != 0).all()


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_without_gradient_the_levels_are_the_same_bits(pooling: str) -> None:
    words = random_words([6, 1, 3], 5).float().to(DEVICE)
    arguments = (words, torch.tensor([6, 1, 3], device=DEVICE), _float_weights(5))
    options: dict[str, Any] = {"pooling": pooling, "tiling": SMALL}
    alone = pyramid_fused(*arguments, **options)
    kept = pyramid_fused(words.requires_grad_(), *arguments[1:], **options)
    assert torch.equal(alone, kept)
    assert not alone.requires_grad


def test_without_gradient_only_two_levels_are_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = []
    empty = fused._empty
    monkeypatch.setattr(fused, "_empty", lambda *n, **to: rows.append(n[0]) or empty(*n, **to))
    words = random_words([9, 4], 3).float().to(DEVICE)
    pyramid_fused(words, torch.tensor([9, 4], device=DEVICE), _float_weights(3), tiling=SMALL)
    assert rows == [2 * 2 * 9]


# A stack of models.

STACKED_LENGTHS = [[3, 4], [2, 1], [4, 4]]


def _float_weights(size: int, seed: int = 0) -> PyramidWeights:
    return PyramidWeights(*[w.float().to(DEVICE) for w in random_weights(size, seed=seed)[:6]])


def _reference_levels(
    words: Tensor, lengths: Tensor, weights: PyramidWeights, **options: Any
) -> Tensor:
    packed = pyramid_reference(pack(words, lengths.tolist()), weights, **options).levels
    return pad_packed_sequence(packed, batch_first=True)[0].to(words.device)


def _loss(words: Tensor, lengths: Tensor, *weights: Tensor) -> Tensor:
    return pyramid_fused(words, lengths, PyramidWeights(*weights), tiling=SMALL).square().sum()


@pytest.fixture(scope="module")
def stack() -> list[Tensor]:
    """words (3, 2, 4, 6), lengths (3, 2) and six weights of three models."""
    words = torch.randn(3, 2, 4, 6, generator=torch.Generator().manual_seed(5))
    models = [_float_weights(6, seed) for seed in range(3)]
    weights = [torch.stack(tensors) for tensors in zip(*[m[:6] for m in models], strict=True)]
    return [words.to(DEVICE), torch.tensor(STACKED_LENGTHS, device=DEVICE), *weights]


BY_ALL = (0, *range(2, 8))


@pytest.fixture
def singles(stack: list[Tensor]) -> list[Tensor]:
    """Gradients of each model alone, stacked."""
    alone = []
    for k in range(3):
        leaves = [tensor[k].clone() for tensor in stack]
        inputs = [leaves[i].requires_grad_() for i in BY_ALL]
        alone.append(torch.autograd.grad(_loss(*leaves), inputs))
    return [torch.stack(tensors) for tensors in zip(*alone, strict=True)]


def test_a_stack_is_bit_for_bit_its_models(stack: list[Tensor], singles: list[Tensor]) -> None:
    leaves = [tensor.clone() for tensor in stack]
    inputs = [leaves[i].requires_grad_() for i in BY_ALL]
    for one, other in zip(torch.autograd.grad(_loss(*leaves), inputs), singles, strict=True):
        assert torch.equal(one, other)


def test_vmap_lands_on_the_stack(
    stack: list[Tensor], singles: list[Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    launches = []
    run = fused._run_forward
    monkeypatch.setattr(fused, "_run_forward", lambda *a: launches.append(a[0].shape) or run(*a))
    leaves = [tensor.clone() for tensor in stack]
    inputs = [leaves[i].requires_grad_() for i in BY_ALL]
    found = {
        "vmap of grad": torch.func.vmap(torch.func.grad(_loss, argnums=BY_ALL))(*stack),
        "grad of vmap": torch.func.grad(
            lambda *tensors: torch.func.vmap(_loss)(*tensors).sum(), argnums=BY_ALL
        )(*stack),
        "backward of vmap": torch.autograd.grad(torch.func.vmap(_loss)(*leaves).sum(), inputs),
    }
    for name, gradients in found.items():
        for one, other in zip(gradients, singles, strict=True):
            assert torch.equal(one, other), name
    assert launches == [(3, 2, 4, 6)] * 3


def test_vmap_shares_what_has_no_model_axis(stack: list[Tensor]) -> None:
    """One set of weights, three batches: their gradient is the sum over the three."""
    weights = [tensor[0].clone().requires_grad_() for tensor in stack[2:]]
    in_dims = (0, 0, *[None] * 6)
    shared = torch.func.vmap(_loss, in_dims=in_dims)(*stack[:2], *weights).sum()
    alone = sum(_loss(stack[0][k], stack[1][k], *weights) for k in range(3))
    pairs = zip(
        torch.autograd.grad(shared, weights), torch.autograd.grad(alone, weights), strict=True
    )
    for one, other in pairs:
        torch.testing.assert_close(one, other)


def test_a_run_repeats_bit_for_bit() -> None:
    first, second = (outcome([4, 2, 5], 6, tiling=SMALL).found for _ in range(2))
    assert all(torch.equal(one, other) for one, other in zip(first, second, strict=True))


# Bounds, reasons and refusals.


def test_max_cells_may_be_exact() -> None:
    lengths = [4, 1, 2]
    assert_close(outcome(lengths, 5, max_cells=10 + 1 + 3, tiling=SMALL))


def test_levels_beyond_max_cells_are_nan_and_harm_no_other() -> None:
    words = random_words([4, 3, 4], 5).float().to(DEVICE).requires_grad_()
    lengths = torch.tensor([4, 3, 4], device=DEVICE)
    levels = pyramid_fused(words, lengths, _float_weights(5), max_cells=20, tiling=SMALL)
    assert levels[:2].isfinite().all()
    assert levels[2].isnan().all()
    gradient = torch.autograd.grad(levels[:2].sum(), words)[0]
    assert (gradient[0] != 0).all()


def test_says_why_it_is_unavailable() -> None:
    words, weights = (
        torch.zeros(1, 2, 4),
        PyramidWeights(*[w.float() for w in random_weights(4)[:6]]),
    )
    assert fused_unavailable(words, weights) == "words are on cpu, the kernel needs CUDA"


@pytest.mark.parametrize(
    ("capability", "found", "reason"),
    [
        ((7, 5), True, "the kernel needs a GPU of compute capability 8.0 or later"),
        ((9, 0), False, "triton is not installed"),
        ((9, 0), True, None),
    ],
)
def test_says_whether_a_gpu_will_do(
    capability: tuple[int, int], found: bool, reason: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = SimpleNamespace(is_cuda=True, device="cuda", shape=(1, 2, 4), dtype=torch.float32)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    monkeypatch.setattr(fused.importlib.util, "find_spec", lambda name: name if found else None)
    assert fused_unavailable(words, _float_weights(4)) == reason  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("size", "precision", "major", "shared", "fits"),
    [
        (128, "tf32", 9, 232448, True),
        (256, "tf32", 9, 232448, False),  # twice 256 KB
        (128, "ieee", 9, 232448, False),  # not by the matrix units
        (128, "tf32", 9, 101376, False),
        (128, "tf32", 8, 232448, False),  # not Hopper
    ],
)
def test_weights_stay_in_shared_memory_where_they_fit(
    size: int, precision: str, major: int, shared: int, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    properties = SimpleNamespace(major=major, shared_memory_per_block_optin=shared)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
    words = SimpleNamespace(shape=(50, 50, 9, size), device=torch.device("cuda"))
    options = fused.Options(False, False, precision, torch.float32, True, None, None)
    tiling = fused.choose_tiling(words, options)  # type: ignore[arg-type]
    assert tiling.resident is fits
    assert tiling.group == 4


@pytest.mark.parametrize(
    ("words", "weights", "options", "reason"),
    [
        (torch.zeros(1, 2, 4), random_weights(4), {}, "float32, compose_left are torch.float64"),
        (torch.zeros(1, 2, 4), random_weights(4, gate_size=5), {}, "no MLP gate"),
        (torch.zeros(1, 2, 300), random_weights(1), {}, "sizes up to 256, got 300"),
        (torch.zeros(1, 2, 4), None, {"storage": torch.float16}, "float32 or bfloat16"),
        (torch.zeros(1, 2, 4), None, {"precision": "fp8"}, "precision must be one of"),
        (torch.zeros(1, 2, 4), None, {"pooling": "sum"}, "pooling must be one of mean, max"),
    ],
)
def test_refuses_what_it_cannot_do(
    words: Tensor, weights: PyramidWeights | None, options: dict[str, Any], reason: str
) -> None:
    weights = weights or _float_weights(4)
    words = words.to(DEVICE)
    lengths = torch.ones(len(words), dtype=torch.int64, device=DEVICE)
    with pytest.raises(ConfigError, match=reason):
        pyramid_fused(words, lengths, weights, **options)


def test_refuses_more_cells_than_it_can_count() -> None:
    words = torch.zeros(1, 1, 4, device=DEVICE).expand(2**20, 2**6, 4)
    lengths = torch.ones(2**20, dtype=torch.int64, device=DEVICE)
    weights = PyramidWeights(*[tensor.requires_grad_() for tensor in _float_weights(4)[:6]])
    with pytest.raises(ConfigError, match="32 bits"):
        pyramid_fused(words, lengths, weights)


def test_without_interpreter_or_cuda_it_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused, "_interpreted", lambda: False)
    with pytest.raises(ConfigError, match="words are on cpu"):
        pyramid_fused(
            torch.zeros(1, 2, 4),
            torch.tensor([2]),
            PyramidWeights(*[w.float() for w in random_weights(4)[:6]]),
        )


def test_has_no_second_derivative() -> None:
    words = random_words([2], 3).float().to(DEVICE).requires_grad_()
    levels = pyramid_fused(words, torch.tensor([2], device=DEVICE), _float_weights(3), tiling=SMALL)
    (gradient,) = torch.autograd.grad(levels.square().sum(), words, create_graph=True)
    with pytest.raises(NotImplementedError, match="no second derivative"):
        gradient.sum().backward()


def test_no_gradient_in_is_no_gradient_out() -> None:
    class Stop(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, levels: Tensor) -> Tensor:
            return levels.clone()

        @staticmethod
        def backward(ctx: Any, *gradients: Tensor) -> None:
            return None

    words = random_words([2], 3).float().to(DEVICE).requires_grad_()
    levels = pyramid_fused(words, torch.tensor([2], device=DEVICE), _float_weights(3), tiling=SMALL)
    Stop.apply(levels).sum().backward()
    assert words.grad is None


# The bounds: they hold by far, and a mistake breaks them.

MISTAKES = {
    "sign of the gate's gradient": ("gate_1 * (d_gate_1 - mean)", "gate_1 * (d_gate_1 + mean)"),
    "slope of tanh": ("slope = 1.0 - kept * kept", "slope = 1.0 - kept"),
    "left for right child's score": ("[:, None] * right_2\n", "[:, None] * left_2\n"),
    "sign of a bias": ("bias += tl.sum(z.to", "bias -= tl.sum(z.to"),
    "left for right child in a weight": ("cell - step + side, live", "cell - step, live"),
    "gate of the right child": (
        "load(gates_1 + row, mask=is_right",
        "load(gates + row, mask=is_right",
    ),
    "units of a mean": (
        "pooled / tl.maximum(length - level,",
        "pooled / tl.maximum(length - level + 1,",
    ),
}


@pytest.mark.skipif(HAS_CUDA, reason="mutates what the interpreter runs")
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_exceeds_even_the_bounds_of_tf32(
    mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right, wrong = MISTAKES[mistake]
    source = Path(fused._kernels().__file__).read_text(encoding="utf-8")
    assert source.count(right) == 1
    path = tmp_path / "mistaken_kernels.py"
    path.write_text(source.replace(right, wrong), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(fused, "_kernels", lambda: module)
    result = outcome([5, 1, 9, 2], 7, tiling=SMALL)
    assert any(error > result.bounds[name] for name, error in result.errors.items())


# The compiled kernels, at sizes the interpreter is too slow for.


@pytest.mark.gpu
@pytest.mark.skipif(not HAS_CUDA, reason="needs a CUDA device")
@pytest.mark.parametrize("size", [20, 50, 100, 128, 200, 256])
@pytest.mark.parametrize("mode", MODES, ids=[mode.name for mode in MODES])
def test_compiled_kernels_equal_reference(size: int, mode: Mode) -> None:
    lengths = [1, 2, 3, 31, 63, 64, 65, 120, 17, 17]
    for group in (1, 4):
        tiling = fused.choose_tiling(
            torch.empty(1 if group == 1 else 100, 10, 1, size, device="cuda"),
            fused.Options(False, False, mode.precision, mode.storage, True, None, None),
        )
        options = {"precision": mode.precision, "storage": mode.storage, "tiling": tiling}
        assert_close(outcome(lengths, size, seed=size, **options))
