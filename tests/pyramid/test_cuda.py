"""The pyramid on CUDA equals the reference, outputs and every gradient.

On a machine with CUDA these tests run the compiled kernels, elsewhere the same kernels in Triton's
interpreter. Whatever the pyramid allocates is NaN before it is written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

HAS_CUDA = torch.cuda.is_available()
if not HAS_CUDA:
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are first imported

pytest.importorskip("triton")

from adasent.errors import ConfigError  # noqa: E402
from adasent.pyramid import cuda, dispatch  # noqa: E402
from adasent.pyramid.cuda import cuda_unavailable, pyramid_cuda  # noqa: E402
from adasent.pyramid.weights import PyramidWeights  # noqa: E402
from pyramid_cases import assert_same, outcome, random_weights, random_words, reference  # noqa: E402
from triton_interpreter import repair_interpreter  # noqa: E402

DEVICE = "cuda" if HAS_CUDA else "cpu"
MIXED = [4, 1, 6, 4, 2]


@pytest.fixture(scope="module", autouse=True)
def interpreter() -> None:
    if not HAS_CUDA:
        repair_interpreter()


@pytest.fixture(autouse=True)
def poisoned(monkeypatch: pytest.MonkeyPatch) -> None:
    def empty(*shape: int, **options: Any) -> Tensor:
        return torch.empty(*shape, **options).fill_(float("nan"))

    monkeypatch.setattr(cuda, "_empty", empty)


def assert_equals_reference(
    lengths: list[int], size: int, *, tolerance: float = 1e-9, **options: Any
) -> None:
    got = outcome(pyramid_cuda, lengths, size, device=DEVICE, **options)
    options.pop("dtype", None)  # the reference is in double precision
    assert_same(got, outcome(reference, lengths, size, **options), tolerance)


def weights_of(size: int, *, n_groups: int = 1, seed: int = 0) -> PyramidWeights:
    drawn = random_weights(size, n_groups=n_groups, seed=seed)[:6]
    return PyramidWeights(*[w.to(DEVICE) for w in drawn])


def words_of(lengths: list[int], size: int) -> tuple[Tensor, Tensor]:
    """Words, NaN where there is padding, and lengths."""
    return random_words(lengths, size).to(DEVICE), torch.tensor(lengths, device=DEVICE)


# Against the reference.


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("pooling", ["mean", "max"])
@pytest.mark.parametrize(
    "lengths", [[1], [1, 1, 1], [2, 2], [3], [4, 3, 2], [1, 5, 2]], ids=lambda n: f"{n}"
)
def test_equals_reference(lengths: list[int], pooling: str, activation: str) -> None:
    assert_equals_reference(lengths, 7, activation=activation, pooling=pooling)


@pytest.mark.parametrize(("activation", "pooling"), [("tanh", "mean"), ("relu", "max")])
@pytest.mark.parametrize("n_groups", [1, 2, 3, 6])
@pytest.mark.parametrize("height", [None, 1, 3])
def test_gates_of_groups_and_height_equal_the_reference(
    n_groups: int, height: int | None, pooling: str, activation: str
) -> None:
    options = {"activation": activation, "pooling": pooling}
    assert_equals_reference([3, 1, 5], 6, n_groups=n_groups, height=height, **options)


@pytest.mark.parametrize(("size", "n_groups"), [(1, 1), (20, 1), (33, 11), (20, 20)])
def test_equals_reference_in_single_precision(size: int, n_groups: int) -> None:
    """Products of float32 are exact here: TF32 is off unless training asks for it."""
    options = {"pooling": "max", "n_groups": n_groups, "dtype": torch.float32}
    assert_equals_reference([6, 3], size, tolerance=2e-5, **options)


@pytest.mark.parametrize("size", [100, 128, 300])
def test_equals_reference_for_sizes_of_networks(size: int) -> None:
    assert_equals_reference([3, 2], size, n_groups=size // 4)


@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [1, 5, 20])
@pytest.mark.parametrize("lengths", [[31], [63, 1], [130, 31, 3]], ids=lambda n: f"{n}")
def test_equals_reference_for_long_sentences(lengths: list[int], n_groups: int) -> None:
    assert_equals_reference(lengths, 20, n_groups=n_groups, pooling="max")


@pytest.mark.parametrize("pooling", ["mean", "max"])
@pytest.mark.parametrize("segment", [1, 2, 4])
def test_segments_of_a_sentence_equal_the_whole(
    segment: int, pooling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda, "SEGMENT", segment)
    assert_equals_reference([3, 1, 5], 4, n_groups=2, pooling=pooling)


@pytest.mark.parametrize("height", [None, 3])
@pytest.mark.parametrize("most", [0, 200, 350])
def test_weight_gradients_of_a_few_levels_at_a_time(
    most: int, height: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lowest level has 14 rows of 12 numbers."""
    monkeypatch.setattr(cuda, "MOST_NUMBERS", most)
    assert_equals_reference([4, 5], 4, height=height)


# Products of bfloat16.


@pytest.fixture
def medium() -> Iterator[None]:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    yield
    torch.set_float32_matmul_precision(before)


@pytest.mark.usefixtures("medium")
@pytest.mark.parametrize(
    ("size", "n_groups", "most", "height"),
    [
        (12, 1, 300, None),
        (12, 12, 300, None),
        (12, 1, 2**28, 3),
        (12, 3, 2**28, 3),
        (16, 16, 2**28, 3),
    ],
)
def test_rounded_products_stay_near_the_reference(
    size: int, n_groups: int, most: int, height: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of 12, 28, 36 and 72 numbers begin at multiples of 8: some with a gap, some without."""
    monkeypatch.setattr(cuda, "MOST_NUMBERS", most)
    options: dict[str, Any] = {"n_groups": n_groups, "height": height}
    got = outcome(pyramid_cuda, MIXED, size, dtype=torch.float32, device=DEVICE, **options)
    found = zip(got, outcome(reference, MIXED, size, **options), strict=True)
    for i, (one, expected) in enumerate(found):
        assert one.dtype == torch.float32
        error = float((one.double().cpu() - expected).norm() / expected.norm())
        # bfloat16 has 8 bits; the gradients are sums that cancel.
        assert 1e-5 < error < (0.1 if i else 0.01)


@pytest.mark.usefixtures("medium")
@pytest.mark.parametrize("segment", [3, 128])
def test_what_fills_rounded_rows_up_is_written(
    segment: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Products read 16 numbers of a row of 12, and 32 of 28: one that nobody wrote is NaN."""
    monkeypatch.setattr(cuda, "SEGMENT", segment)
    found = outcome(pyramid_cuda, [7, 3], 12, dtype=torch.float32, device=DEVICE)
    assert all(tensor.isfinite().all() for tensor in found)
    words, lengths = words_of([7, 3], 12)
    weights = PyramidWeights(*[weight.float() for weight in weights_of(12)[:6]])
    alone = pyramid_cuda(words.float(), lengths, weights)  # without a gradient
    torch.testing.assert_close(alone.cpu(), found[0][:, :7])


@pytest.mark.usefixtures("medium")
def test_double_precision_is_never_rounded() -> None:
    assert_equals_reference(MIXED, 8, n_groups=4)


# What is particular.


def test_relu_passes_the_gradient_at_zero_as_the_reference_does() -> None:
    """All weights of the composition 0: its argument is exactly 0, where clamp has slope 1."""
    words, lengths = words_of([3], 4)
    found = []
    for build in (reference, pyramid_cuda):
        weights = weights_of(4)
        zeros = [torch.zeros_like(tensor, requires_grad=True) for tensor in weights[:3]]
        levels = build(words, lengths, PyramidWeights(*zeros, *weights[3:6]), activation="relu")
        found.append(torch.autograd.grad(levels.sum(), zeros))
    torch.testing.assert_close(found[1], found[0])
    assert all(gradient.abs().sum() > 0 for gradient in found[1])


@pytest.mark.parametrize("segment", [2, 128])
def test_equal_words_share_the_gradient_of_a_maximum(
    segment: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first level is pooled as it is: no product that rounds stands before its maximum."""
    monkeypatch.setattr(cuda, "SEGMENT", segment)
    word = torch.tensor([0.5, -1.25, 2.0], dtype=torch.float64, device=DEVICE)
    words = word.expand(2, 4, 3).clone().requires_grad_()
    lengths = torch.tensor([4, 3], device=DEVICE)
    levels = pyramid_cuda(words, lengths, weights_of(3), pooling="max")
    (got,) = torch.autograd.grad(levels[:, 0].sum(), words)
    expected = torch.zeros_like(words)
    expected[0] = 1 / 4
    expected[1, :3] = 1 / 3
    torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("segment", [2, 128])
def test_a_nan_reaches_the_maximum(segment: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "SEGMENT", segment)
    for place in range(3):
        words, lengths = words_of([3], 4)
        words[0, place, 2] = float("nan")
        levels = pyramid_cuda(words, lengths, weights_of(4), pooling="max")
        assert levels[0, 0].isnan().tolist() == [False, False, True, False]
        assert levels[0, 2].isnan().all()


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_padding_is_not_read_and_gets_neither_level_nor_gradient(pooling: str) -> None:
    words, lengths = words_of([2, 4], 5)
    levels = pyramid_cuda(words.requires_grad_(), lengths, weights_of(5), pooling=pooling)
    (gradient,) = torch.autograd.grad(levels.sum(), words)
    assert levels.isfinite().all()
    assert (levels[0, 2:] == 0).all()
    assert (gradient[0, 2:] == 0).all()
    assert (gradient[0, :2].abs().sum(dim=1) > 0).all()


def test_saturated_and_huge_values_stay_finite_in_single_precision() -> None:
    weights = PyramidWeights(*[100 * w.float() for w in weights_of(5, n_groups=5)[:6]])
    words, lengths = words_of([7], 5)
    words = (1e4 * words).float().requires_grad_()
    levels = pyramid_cuda(words, lengths, weights)
    (gradient,) = torch.autograd.grad(levels.sum(), words)
    assert levels.isfinite().all()
    assert gradient.isfinite().all()


def test_gradient_is_that_of_finite_differences() -> None:
    words, lengths = words_of([3, 2], 2)
    words = words.nan_to_num().requires_grad_()
    weights = [weight.requires_grad_() for weight in weights_of(2)[:6]]

    def levels(words: Tensor, *own: Tensor) -> Tensor:
        return pyramid_cuda(words, lengths, PyramidWeights(*own))

    assert torch.autograd.gradcheck(levels, (words, *weights), fast_mode=True)


def test_backward_may_come_twice_and_repeats_bit_for_bit() -> None:
    words, lengths = words_of([4, 3], 4)
    levels = pyramid_cuda(words.requires_grad_(), lengths, weights_of(4))
    first = torch.autograd.grad(levels.sum(), words, retain_graph=True)
    second = torch.autograd.grad(levels.sum(), words)
    assert torch.equal(first[0], second[0])


# Without a gradient.


@pytest.mark.parametrize("pooling", ["mean", "max"])
@pytest.mark.parametrize("segment", [2, 128])
def test_without_gradient_the_levels_are_the_same(
    segment: int, pooling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda, "SEGMENT", segment)
    words, lengths = words_of([6, 1, 3], 5)
    alone = pyramid_cuda(words, lengths, weights_of(5), pooling=pooling)
    kept = pyramid_cuda(words.requires_grad_(), lengths, weights_of(5), pooling=pooling)
    assert not alone.requires_grad
    torch.testing.assert_close(alone, kept.detach(), rtol=1e-12, atol=1e-14)


def test_without_gradient_only_two_levels_are_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    empty = cuda._empty

    def counted(*shape: int, **options: Any) -> Tensor:
        made = empty(*shape, **options)
        taken.append(made.numel())
        return made

    monkeypatch.setattr(cuda, "_empty", counted)
    n_texts, n_words, size = 2, 9, 3
    words, lengths = words_of([9, 4], size)
    pyramid_cuda(words, lengths, weights_of(size))
    level = n_texts * n_words * size
    product = n_texts * n_words * (2 * size + 4)
    assert sum(taken) == level + 2 * level + product  # the pooled levels, two levels, a product


# Without a gradient, by lengths that the host knows.


def levels_of(
    build: Callable[..., Tensor],
    lengths: list[int],
    size: int,
    *,
    n_groups: int = 1,
    dtype: torch.dtype = torch.float64,
    padding: int = 2,
    **options: Any,
) -> Tensor:
    """Pooled levels from words behind which there is more padding, and lengths on the CPU."""
    weights = PyramidWeights(*[w.to(dtype) for w in weights_of(size, n_groups=n_groups)[:6]])
    words = random_words([*lengths, max(lengths) + padding], size)[:-1].to(DEVICE, dtype)
    return build(words, torch.tensor(lengths), weights, **options)


def assert_levels_equal_reference(
    lengths: list[int], size: int, *, tolerance: float = 1e-11, **options: Any
) -> None:
    got = levels_of(pyramid_cuda, lengths, size, **options)
    options.pop("dtype", None)
    expected = levels_of(reference, lengths, size, **options)
    assert_same([got], [expected], tolerance)
    for row, length in zip(got, lengths, strict=True):
        assert (row[length:] == 0).all()


ASCENDING = [[1], [4], [1, 1], [3, 3, 3], [1, 1, 4], [1, 2, 2, 5, 7]]
IN_ANY_ORDER = [[4, 1, 1], [5, 2, 7, 2, 1], [3, 3, 2]]


@pytest.mark.parametrize("pooling", ["mean", "max"])
@pytest.mark.parametrize("padding", [0, 2])
@pytest.mark.parametrize("lengths", ASCENDING + IN_ANY_ORDER, ids=lambda n: f"{n}")
def test_known_lengths_in_any_order(lengths: list[int], padding: int, pooling: str) -> None:
    assert_levels_equal_reference(lengths, 5, padding=padding, pooling=pooling)


@pytest.mark.parametrize(("activation", "pooling"), [("tanh", "mean"), ("relu", "max")])
@pytest.mark.parametrize("n_groups", [1, 3, 6])
@pytest.mark.parametrize("height", [1, 3, 6])
def test_known_lengths_with_gates_of_groups_and_a_height(
    n_groups: int, height: int, pooling: str, activation: str
) -> None:
    options = {"activation": activation, "pooling": pooling, "height": height}
    assert_levels_equal_reference([1, 2, 4, 5], 6, n_groups=n_groups, **options)


@pytest.mark.parametrize("pooling", ["mean", "max"])
@pytest.mark.parametrize("segment", [1, 2, 4])
def test_known_lengths_of_sentences_in_segments(
    segment: int, pooling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda, "SEGMENT", segment)
    assert_levels_equal_reference([1, 3, 3, 6], 4, n_groups=2, pooling=pooling)


@pytest.mark.slow
def test_known_lengths_of_long_sentences() -> None:
    assert_levels_equal_reference([3, 31, 130], 20, n_groups=5, pooling="max")


def test_known_lengths_in_single_precision() -> None:
    options = {"n_groups": 20, "dtype": torch.float32}
    assert_levels_equal_reference([1, 3, 6], 20, tolerance=2e-5, **options)


@pytest.mark.usefixtures("medium")
@pytest.mark.parametrize(("size", "n_groups"), [(12, 1), (12, 12), (16, 16)])
def test_known_lengths_with_rounded_products(size: int, n_groups: int) -> None:
    options = {"n_groups": n_groups, "dtype": torch.float32}
    assert_levels_equal_reference([1, 2, 5, 9], size, tolerance=0.01, **options)


@pytest.mark.parametrize("kind", [torch.int32, torch.int16])
def test_known_lengths_of_another_type(kind: torch.dtype) -> None:
    def build(words: Tensor, lengths: Tensor, weights: PyramidWeights) -> Tensor:
        return pyramid_cuda(words, lengths.to(kind), weights)

    got, expected = (levels_of(one, [1, 2, 5], 4) for one in (build, pyramid_cuda))
    assert torch.equal(got, expected)


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[int]]:
    """Rows that each product multiplies, and sentences that each kernel is launched for."""
    found: dict[str, list[int]] = {"rows": [], "sentences": []}
    multiply, kernels = torch.bmm, cuda._kernels()

    def bmm(left: Tensor, right: Tensor, **to: Any) -> Tensor:
        found["rows"].append(left.shape[0] * left.shape[1])
        return multiply(left, right, **to)

    class Counted:
        def __getitem__(self, grid: tuple[int, int]) -> Any:
            found["sentences"].append(grid[0])
            return kernels.forward_kernel[grid]

    monkeypatch.setattr(torch, "bmm", bmm)
    monkeypatch.setattr(cuda, "_kernels", lambda: SimpleNamespace(forward_kernel=Counted()))
    monkeypatch.setattr(cuda, "_interpreted", lambda: not HAS_CUDA)
    return found


@pytest.mark.parametrize("height", [None, 3])
def test_known_lengths_save_all_of_the_padding(
    height: int | None, work: dict[str, list[int]]
) -> None:
    """A level multiplies the units below it, of sentences that reach it; the padding is 4 wide."""
    lengths = [1, 2, 2, 5, 7]
    levels_of(pyramid_cuda, lengths, 4, padding=4, height=height)
    n_levels = height or 7
    reached = [[n for n in lengths if n > level] for level in range(n_levels)]
    below = [sum(n - level + 1 for n in reached[level]) for level in range(1, n_levels)]
    assert work["rows"] == below
    assert work["sentences"] == [len(sentences) for sentences in reached]
    if height is None:
        assert below == [16, 10, 8, 6, 3, 2]


def test_without_known_order_nothing_is_saved(work: dict[str, list[int]]) -> None:
    levels_of(pyramid_cuda, [5, 2], 4, padding=1)
    assert work["rows"] == [2 * n for n in (6, 5, 4, 3, 2)]
    assert work["sentences"] == [2] * 6


def test_with_a_gradient_nothing_is_saved(work: dict[str, list[int]]) -> None:
    words, _ = words_of([2, 5], 4)
    pyramid_cuda(words.requires_grad_(), torch.tensor([2, 5]), weights_of(4))
    assert work["rows"] == [2 * n for n in (5, 4, 3, 2)]
    assert work["sentences"] == [2] * 5


def test_a_gradient_by_lengths_on_the_cpu() -> None:
    def build(words: Tensor, lengths: Tensor, weights: PyramidWeights) -> Tensor:
        return pyramid_cuda(words, lengths.cpu(), weights)

    lengths = [1, 3, 4]
    got = outcome(build, lengths, 4, device=DEVICE)
    assert_same(got, outcome(reference, lengths, 4), 1e-9)


def test_a_stack_by_lengths_on_the_cpu(work: dict[str, list[int]]) -> None:
    generator = torch.Generator().manual_seed(5)
    words = torch.randn(3, 2, 4, 6, generator=generator, dtype=torch.float64).to(DEVICE)
    lengths, weights = torch.tensor([2, 4]), weights_of(6, n_groups=3)
    stacked = torch.func.vmap(lambda own: pyramid_cuda(own, lengths, weights))(words)
    assert work["rows"] == [3 * 2 * n for n in (4, 3, 2)]
    alone = torch.stack([pyramid_cuda(own, lengths, weights) for own in words])
    torch.testing.assert_close(stacked, alone, rtol=1e-12, atol=1e-14)


def test_the_host_does_not_ask_a_device_for_lengths() -> None:
    """With torch's device without memory, which could not answer."""
    lengths = torch.tensor([1, 2, 2, 5])
    assert cuda._packed(lengths, 4) == ([4, 3, 1, 1], [10, 6, 3, 2])
    assert cuda._packed(lengths.to("meta"), 4) is None
    assert cuda._packed(lengths.flip(0), 4) is None


# A stack of models.


@pytest.fixture
def stack() -> list[Tensor]:
    """words (3, 2, 4, 6), lengths (3, 2) and six weights of three models; leaves of a graph."""
    generator = torch.Generator().manual_seed(5)
    words = torch.randn(3, 2, 4, 6, generator=generator, dtype=torch.float64).to(DEVICE)
    models = [weights_of(6, n_groups=3, seed=seed)[:6] for seed in range(3)]
    weights = [torch.stack(tensors) for tensors in zip(*models, strict=True)]
    lengths = torch.tensor([[3, 4], [2, 1], [4, 4]], device=DEVICE)
    leaves = [tensor.requires_grad_() for tensor in (words, *weights)]
    return [leaves[0], lengths, *leaves[1:]]


def loss(words: Tensor, lengths: Tensor, *weights: Tensor) -> Tensor:
    levels = pyramid_cuda(words, lengths, PyramidWeights(*weights), pooling="max")
    return levels.square().sum()


def by_all(stack: list[Tensor]) -> list[Tensor]:
    return [stack[0], *stack[2:]]


def test_models_under_vmap_equal_models_alone(
    stack: list[Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    launches = []
    climb = cuda._climb
    monkeypatch.setattr(cuda, "_climb", lambda *a: launches.append(a[1].shape) or climb(*a))
    found = torch.autograd.grad(torch.func.vmap(loss)(*stack).sum(), by_all(stack))
    assert launches == [(3, 2, 4, 6)]  # one climb for all
    alone = sum(loss(*[tensor[k] for tensor in stack]) for k in range(3))
    expected = torch.autograd.grad(alone, by_all(stack))
    torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.usefixtures("medium")
def test_rounded_products_of_a_stack_are_those_of_models_alone(stack: list[Tensor]) -> None:
    stack = [x.detach().float().requires_grad_() if x.requires_grad else x for x in stack]
    found = torch.autograd.grad(torch.func.vmap(loss)(*stack).sum(), by_all(stack))
    alone = sum(loss(*[tensor[k] for tensor in stack]) for k in range(3))
    expected = torch.autograd.grad(alone, by_all(stack))
    torch.testing.assert_close(found, expected, rtol=2e-2, atol=2e-2)


def test_vmap_shares_what_has_no_model_axis(stack: list[Tensor]) -> None:
    """One set of weights, three batches: their gradient is the sum over the three."""
    weights = [tensor[0].detach().clone().requires_grad_() for tensor in stack[2:]]
    in_dims = (0, 0, *[None] * 6)
    shared = torch.func.vmap(loss, in_dims=in_dims)(*stack[:2], *weights).sum()
    alone = sum(loss(stack[0][k], stack[1][k], *weights) for k in range(3))
    got, expected = (torch.autograd.grad(total, weights) for total in (shared, alone))
    torch.testing.assert_close(got, expected, rtol=1e-11, atol=1e-13)


def test_models_need_not_lie_along_the_first_axis(stack: list[Tensor]) -> None:
    straight = torch.func.vmap(loss)(*stack)
    turned = torch.func.vmap(loss, in_dims=(2, 0, *[0] * 6))(stack[0].movedim(0, 2), *stack[1:])
    torch.testing.assert_close(turned, straight, rtol=1e-12, atol=1e-14)


def test_small_pieces_of_a_stack_equal_the_whole(
    stack: list[Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 936 numbers, 13 of 18 rows lie together, and the 8 of the lowest level by themselves."""
    found = []
    for segment, most in ((128, 2**28), (2, 936)):
        monkeypatch.setattr(cuda, "SEGMENT", segment)
        monkeypatch.setattr(cuda, "MOST_NUMBERS", most)
        total = torch.func.vmap(loss)(*stack).sum()
        found.append(torch.autograd.grad(total, by_all(stack)))
    torch.testing.assert_close(found[1], found[0], rtol=1e-11, atol=1e-13)


# Reasons and refusals.


def test_says_why_it_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    words, weights = torch.zeros(1, 2, 4), random_weights(4)
    assert cuda_unavailable(words, weights) == "words are on cpu, the kernels need CUDA"
    monkeypatch.setattr(cuda, "_interpreted", lambda: False)
    with pytest.raises(ConfigError, match=r"words are on cpu.*use pyramid_packed"):
        pyramid_cuda(words, torch.tensor([2]), weights)


class OnCuda:
    """What the choice asks of a tensor, where there is no device to have one on."""

    is_cuda = True
    device = torch.device("cuda")

    def __init__(self, dtype: torch.dtype = torch.float32) -> None:
        self.dtype = dtype


def test_dispatch_takes_it_where_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    def choice(words: OnCuda, weights: PyramidWeights) -> tuple[str, str]:
        return dispatch.choose(words, weights)  # type: ignore[arg-type]

    weights = random_weights(4)
    assert choice(OnCuda(), weights) == ("cuda", "")
    assert choice(OnCuda(), random_weights(4, n_groups=4)) == ("cuda", "")
    mlp = random_weights(4, gate_size=5)
    assert choice(OnCuda(), mlp) == ("packed", "the kernels have no MLP gate")
    half = "the kernels take float32 and float64, words are torch.float16"
    assert choice(OnCuda(torch.float16), weights) == ("packed", half)
    monkeypatch.setattr(cuda.importlib.util, "find_spec", lambda name: None)
    assert choice(OnCuda(), weights) == ("packed", "triton is not installed")


@pytest.mark.parametrize(
    ("dtype", "gate_size", "options", "reason"),
    [
        (torch.bfloat16, None, {}, "float32 and float64, words are torch.bfloat16"),
        (torch.float64, 5, {}, "no MLP gate"),
        (torch.float64, None, {"pooling": "sum"}, "pooling must be one of mean, max, got 'sum'"),
        (torch.float64, None, {"activation": "gelu"}, "activation must be one of tanh, relu"),
    ],
)
def test_refuses_what_it_cannot_do(
    dtype: torch.dtype, gate_size: int | None, options: dict[str, Any], reason: str
) -> None:
    words, lengths = words_of([2], 4)
    drawn = random_weights(4, gate_size=gate_size)
    weights = PyramidWeights(*[None if w is None else w.to(DEVICE) for w in drawn])
    with pytest.raises(ConfigError, match=reason):
        pyramid_cuda(words.to(dtype), lengths, weights, **options)


# On a device.


@pytest.mark.gpu
@pytest.mark.skipif(not HAS_CUDA, reason="no CUDA device")
def test_a_recorded_step_repeats_what_was_recorded() -> None:
    """Nothing waits for the host, so that forward and backward are one graph."""
    words, lengths = words_of(MIXED, 20)
    inputs = [x.requires_grad_() for x in (words.nan_to_num(), *weights_of(20, n_groups=5)[:6])]

    def step() -> list[Tensor]:
        levels = pyramid_cuda(inputs[0], lengths, PyramidWeights(*inputs[1:]), pooling="max")
        return [levels.detach(), *torch.autograd.grad(levels.square().sum(), inputs)]

    expected = step()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = step()
    graph.replay()
    torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.gpu
@pytest.mark.skipif(not HAS_CUDA, reason="no CUDA device")
def test_float32_follows_the_precision_that_torch_is_set_to() -> None:
    before = torch.get_float32_matmul_precision()
    found = {}
    try:
        for precision in ("highest", "high", "medium"):
            torch.set_float32_matmul_precision(precision)
            levels, *_ = outcome(pyramid_cuda, MIXED, 100, dtype=torch.float32, device=DEVICE)
            found[precision] = levels
    finally:
        torch.set_float32_matmul_precision(before)
    expected, *_ = outcome(reference, MIXED, 100)
    errors = {name: float((one - expected).norm()) for name, one in found.items()}
    assert errors["highest"] < 1e-5 * float(expected.norm())
    assert errors["high"] > 10 * errors["highest"]
    assert errors["medium"] > 2 * errors["high"]
