"""Packing a rounded table loses nothing, and rounding loses little."""

from __future__ import annotations

import numpy as np
import pytest

from adasent.saving.word_table import WordTable, from_int8, round_to_half, to_int8


@pytest.mark.parametrize("scale", [1e-20, 1e-3, 1.0, 127.0, 128.0, 1e6])
def test_eight_bits_are_idempotent_and_near(scale: float) -> None:
    rng = np.random.default_rng(0)
    table = (rng.normal(size=(200, 50)) * scale).astype(np.float32)
    numbers, powers = to_int8(table)
    rounded = from_int8(numbers, powers)
    # At worst 64 steps to the largest entry of a row, so half a step is 1/128 of it.
    largest = np.abs(table).max(axis=1, keepdims=True)
    assert (np.abs(rounded - table) <= largest / 127).all()
    again, same_powers = to_int8(rounded)
    np.testing.assert_array_equal(again, numbers)
    np.testing.assert_array_equal(same_powers, powers)
    np.testing.assert_array_equal(from_int8(again, same_powers), rounded)


def test_eight_bits_of_odd_rows() -> None:
    table = np.array([[0.0, 0.0], [127.0, -127.0], [254.0, 1.0], [64.0, 63.4]], dtype=np.float32)
    numbers, powers = to_int8(table)
    assert np.isfinite(powers).all()
    assert (powers > 0).all()
    np.testing.assert_array_equal(numbers[:2], [[0, 0], [127, -127]])
    np.testing.assert_array_equal(from_int8(numbers, powers)[2], [254.0, 0.0])


def test_no_rows() -> None:
    numbers, powers = to_int8(np.zeros((0, 5), dtype=np.float32))
    assert from_int8(numbers, powers).shape == (0, 5)


def test_half_precision_leaves_what_it_cannot_hold() -> None:
    small = np.array([[0.1, 3.0]], dtype=np.float32)
    np.testing.assert_array_equal(round_to_half(small), small.astype(np.float16))
    large = np.array([[1e6, 0.1]], dtype=np.float32)
    np.testing.assert_array_equal(round_to_half(large), large)
    assert round_to_half(np.zeros((0, 3), dtype=np.float32)).shape == (0, 3)


def make_table() -> WordTable:
    rng = np.random.default_rng(0)
    trained = round_to_half(rng.normal(size=(4, 3)).astype(np.float32))
    fixed = from_int8(*to_int8(rng.normal(size=(5, 3)).astype(np.float32)))
    return WordTable.wide(trained, fixed)


def test_packing_a_rounded_table_loses_nothing() -> None:
    table = make_table()
    packed = table.pack()
    assert (packed.trained.dtype, packed.fixed.dtype) == (np.float16, np.int8)
    for found, expected in zip(packed.unpack(), table.unpack(), strict=True):
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, expected)
    again = packed.pack()
    for name in ("trained", "fixed", "scale"):
        np.testing.assert_array_equal(getattr(again, name), getattr(packed, name))


def test_trained_rows_out_of_range_are_packed_whole() -> None:
    table = make_table()
    table.trained[0, 0] = 1e6
    packed = table.pack()
    assert packed.trained.dtype == np.float32
    np.testing.assert_array_equal(packed.trained, table.trained)


@pytest.mark.parametrize("ids", [[0], [8], [5, 1, 1, 8, 3, 4], []])
def test_rows_of_a_packed_table_are_those_of_the_whole(ids: list[int]) -> None:
    table = make_table()
    wanted = np.concatenate(table.unpack())[np.array(ids, dtype=np.int64)]
    for one in (table, table.pack()):
        found = one.rows(np.array(ids, dtype=np.int64))
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, wanted)
