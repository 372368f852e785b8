"""Keyed dropout: its rate, what its mask depends on, and three equal implementations."""

from __future__ import annotations

import os

import pytest
import torch
from torch import Tensor

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
if DEVICE.type == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"  # before triton is imported

from adasent.nn import dropout_numba, keyed_dropout  # noqa: E402
from adasent.nn.dropout import (  # noqa: E402
    HIDDEN,
    LEVELS,
    WORDS,
    _fast_module,
    dropout_reference,
    keyed_choice,
)


def scalar(value: float) -> Tensor:
    return torch.tensor(value, dtype=torch.float64)


def mask(
    shape: tuple[int, int, int] = (20, 30, 40), key: int = 5, rate: float = 0.3, site: int = LEVELS
) -> Tensor:
    return keyed_dropout(torch.ones(shape), torch.tensor(key), scalar(rate), site) == 0


def test_drops_at_its_rate_and_scales_the_rest() -> None:
    x = torch.ones(20, 30, 40, dtype=torch.float64)
    dropped = keyed_dropout(x, torch.tensor(3), scalar(0.3), LEVELS)
    assert set(dropped.unique().tolist()) == {0.0, 1 / 0.7}
    # 24,000 elements: a standard deviation is 0.003.
    assert (dropped == 0).double().mean().item() == pytest.approx(0.3, abs=0.012)
    for axes in ((0, 1), (0, 2), (1, 2)):  # no row, position or feature is spared
        shares = (dropped == 0).double().mean(dim=axes)
        assert shares.min() > 0.15
        assert shares.max() < 0.45


def test_neighbours_are_dropped_independently() -> None:
    found = mask((40, 40, 40), rate=0.5).double() - 0.5
    for axis in range(3):
        pairs = found * found.roll(1, dims=axis)
        assert abs(pairs.mean().item()) < 0.005  # 64,000 pairs of +-1/4: sd 0.001


def test_no_rate_is_no_work() -> None:
    x = torch.ones(2, 3, 4)
    assert keyed_dropout(x, torch.tensor(3), None, LEVELS) is x
    assert torch.equal(keyed_dropout(x, torch.tensor(3), scalar(0.0), LEVELS), x)


def test_mask_depends_on_key_and_site() -> None:
    assert torch.equal(mask(), mask())
    assert not torch.equal(mask(), mask(key=6))
    assert not torch.equal(mask(), mask(key=5 + 2**40))
    assert not torch.equal(mask(), mask(site=HIDDEN))


def test_mask_does_not_depend_on_padding() -> None:
    assert torch.equal(mask((3, 4, 5)), mask((7, 9, 6))[:3, :4, :5])


def test_backward_is_the_same_mask() -> None:
    x = torch.randn(3, 4, 5, dtype=torch.float64, requires_grad=True)
    key, rate = torch.tensor(8), scalar(0.4)
    assert torch.autograd.gradcheck(lambda v: keyed_dropout(v, key, rate, LEVELS), (x,))


@pytest.mark.parametrize("in_dims", [(0, 0, 0), (2, 0, None), (None, 0, 0)])
def test_vmap_equals_a_loop(in_dims: tuple[int | None, ...]) -> None:
    x = torch.randn(3, 3, 3, 3)
    keys, rates = torch.tensor([1, 2**62 + 7, 9]), torch.tensor([0.0, 0.3, 0.6]).double()
    given = (
        x if in_dims[0] is not None else x[0],
        keys,
        rates if in_dims[2] is not None else rates[1],
    )
    found = torch.vmap(lambda *one: keyed_dropout(*one, LEVELS), in_dims)(*given)
    for k in range(3):
        own = x.select(in_dims[0], k) if in_dims[0] is not None else x[0]
        rate = rates[k] if in_dims[2] is not None else rates[1]
        assert torch.equal(found[k], keyed_dropout(own, keys[k], rate, LEVELS))


def stacked(dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    x = torch.randn(3, 7, 5, 33, dtype=dtype, device=DEVICE)
    keys = torch.tensor([1, 2**62 + 12345, 77], device=DEVICE)
    return x, keys, torch.tensor([0.0, 0.3, 0.5], dtype=torch.float64, device=DEVICE)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_numba_equals_the_definition(dtype: torch.dtype) -> None:
    given = [tensor.cpu() for tensor in stacked(dtype)]
    found = dropout_numba.dropout(*given, 2)
    assert torch.equal(found, dropout_reference(*given, 2))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_triton_equals_the_definition(dtype: torch.dtype) -> None:
    pytest.importorskip("triton")
    from adasent.nn import dropout_triton

    given = stacked(dtype)
    assert torch.equal(dropout_triton.dropout(*given, 2), dropout_reference(*given, 2))


def test_devices_without_a_compiler_use_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _fast_module("cpu") is dropout_numba
    assert _fast_module("meta") is None

    def absent(name: str) -> None:
        raise ImportError(name)

    expected = mask((3, 4, 5))
    _fast_module.cache_clear()
    monkeypatch.setattr("importlib.import_module", absent)
    try:
        assert _fast_module("cpu") is None
        assert torch.equal(mask((3, 4, 5)), expected)
    finally:
        _fast_module.cache_clear()


def test_choice_of_places() -> None:
    keys, rates = torch.tensor([1, 2]), torch.tensor([0.0, 0.25], dtype=torch.float64)
    chosen = keyed_choice(torch.Size([2, 50, 60]), keys, rates, WORDS)
    assert not chosen[0].any()
    assert chosen[1].double().mean().item() == pytest.approx(0.25, abs=0.035)
