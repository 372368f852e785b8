"""Which rows every model takes when: each text once an epoch, whoever else is in the stack."""

from __future__ import annotations

import numpy as np

from adasent.training.schedule import Plan, epoch_order, training_plan, validation_plan

FILLER = 99


def lengths(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(1, 30, n)


def own_steps(plan: Plan, model: int) -> list[tuple[list[int], int]]:
    """Rows and key of each step in which a model works."""
    return [
        (rows[:n].tolist(), int(key))
        for rows, n, key in zip(
            plan.rows[:, model], plan.n_rows[:, model], plan.keys[:, model], strict=True
        )
        if n
    ]


def test_every_text_once_and_batches_of_like_length() -> None:
    given = lengths(53, 0)
    plan = training_plan([epoch_order(given, 8, 3, 0)], [given], FILLER)
    steps = own_steps(plan, 0)
    assert sorted(row for rows, _ in steps for row in rows) == list(range(53))
    assert [len(rows) for rows, _ in steps].count(8) == 6
    spreads = [np.ptp(given[rows]) for rows, _ in steps]
    assert np.mean(spreads) < 6
    assert plan.widths == [max(given[rows]) for rows, _ in steps]
    assert len({key for _, key in steps}) == len(steps)
    assert (np.diff(plan.widths) < 0).any()  # not from short to long


def test_epochs_of_a_given_size_go_through_all_texts_before_any_comes_again() -> None:
    given = lengths(10, 0)
    taken = [
        np.concatenate(epoch_order(given, 3, 7, epoch, size=4).batches).tolist()
        for epoch in range(5)
    ]
    assert [len(rows) for rows in taken] == [4] * 5
    in_a_row = [row for rows in taken for row in rows]
    assert sorted(taken[0] + taken[1] + taken[3] + taken[4] + taken[2]) == sorted([*range(10)] * 2)
    assert len({*taken[0], *taken[1]}) == 8  # of the first pass, which the third one ends
    assert len({*taken[3], *taken[4]}) == 8
    assert in_a_row[:10] != in_a_row[10:]
    again = np.concatenate(epoch_order(given, 3, 7, 3, size=4).batches).tolist()
    assert again == taken[3]  # nothing but its number decides
    other_seed = np.concatenate(epoch_order(given, 3, 8, 3, size=4).batches).tolist()
    assert other_seed != again


def test_an_epoch_of_at_least_all_texts_is_a_pass() -> None:
    given = lengths(10, 0)
    plain, sized = epoch_order(given, 3, 7, 2), epoch_order(given, 3, 7, 2, size=10)
    assert np.array_equal(plain.keys, sized.keys)
    assert np.array_equal(np.concatenate(plain.batches), np.concatenate(sized.batches))


def test_a_height_leaves_long_texts_in_batches() -> None:
    given = np.full(20, 700)
    assert len(epoch_order(given, 8, 3, 0).batches) == 20
    assert [len(rows) for rows in epoch_order(given, 8, 3, 0, height=5).batches] == [8, 8, 4]
    assert len(validation_plan([given], 8, FILLER, height=5).widths) == 3


def test_seed_and_epoch_decide() -> None:
    given = lengths(53, 0)

    def steps(seed: int, epoch: int) -> list[tuple[list[int], int]]:
        order = epoch_order(given, 8, seed, epoch)
        return own_steps(training_plan([order], [given], FILLER), 0)

    assert steps(3, 0) == steps(3, 0)
    assert steps(3, 0) != steps(3, 1)
    assert steps(3, 0) != steps(4, 0)


def test_the_order_of_batches_is_of_the_epoch_and_their_texts_are_of_the_seed() -> None:
    given = lengths(53, 0)
    one, other = (epoch_order(given, 8, seed, 2) for seed in (3, 4))
    assert one.steps(7).tolist() == other.steps(7).tolist()
    assert sorted(one.steps(7).tolist()) == list(range(7))
    assert one.steps(7).tolist() != epoch_order(given, 8, 3, 5).steps(7).tolist()
    pairs = list(zip(one.batches, other.batches, strict=True))
    assert any(sorted(a) != sorted(b) for a, b in pairs)
    assert not set(one.keys.tolist()) & set(other.keys.tolist())


def test_a_model_does_the_same_in_any_company() -> None:
    data = [lengths(53, 0), lengths(20, 1), lengths(70, 2)]
    orders = [epoch_order(of, size, 5, 1) for of, size in zip(data, (8, 8, 4), strict=True)]
    together = training_plan(orders, data, FILLER)
    for k, (order, of) in enumerate(zip(orders, data, strict=True)):
        alone = training_plan([order], [of], FILLER)
        assert own_steps(together, k) == own_steps(alone, 0)
    unused = together.rows[np.arange(together.rows.shape[2]) >= together.n_rows[..., None]]
    assert (unused == FILLER).all()


def test_models_take_like_lengths_at_once_whatever_their_seeds() -> None:
    """Folds of one set: a step is not much wider than each model's own batch."""
    data = [lengths(400 + k, k) for k in range(5)]
    orders = [epoch_order(of, 8, seed, 0) for seed, of in enumerate(data)]
    plan = training_plan(orders, data, FILLER)
    padded = np.array(
        [
            width - of[rows[k, : n_rows[k]]].max()
            for width, rows, n_rows in zip(plan.widths, plan.rows, plan.n_rows, strict=True)
            for k, of in enumerate(data)
            if n_rows[k]
        ]
    )
    assert padded.mean() < 1.5


def test_a_finished_model_idles() -> None:
    data = [lengths(20, 0), lengths(20, 1)]
    plan = training_plan([None, epoch_order(data[1], 8, 0, 0)], data, FILLER)
    assert (plan.n_rows[:, 0] == 0).all()
    assert (plan.rows[:, 0] == FILLER).all()
    assert plan.widths == [data[1][rows].max() for rows, _ in own_steps(plan, 1)]


def test_validation_goes_by_length() -> None:
    data = [lengths(20, 0), lengths(9, 1)]
    plan = validation_plan(data, 8, FILLER)
    assert plan.n_rows.tolist() == [[8, 8], [8, 1], [4, 0]]
    for k, of in enumerate(data):
        rows = [row for batch, _ in own_steps(plan, k) for row in batch]
        assert sorted(rows) == list(range(len(of)))
        assert (np.diff(of[rows]) >= 0).all()
