"""Ctrl-C comes where the loop asks for it, a second one at once."""

from __future__ import annotations

import signal
import threading

import pytest

from adasent.training.interrupt import Interrupt


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def test_comes_where_it_is_asked_for() -> None:
    with Interrupt() as interrupt:
        interrupt.check()
        press()
        reached = True
        with pytest.raises(KeyboardInterrupt):
            interrupt.check()
        interrupt.check()  # once is enough
    assert reached
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_second_comes_at_once() -> None:
    with Interrupt():
        press()
        with pytest.raises(KeyboardInterrupt):
            press()


def test_handler_of_somebody_else_stays() -> None:
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    try:
        with Interrupt() as interrupt:
            press()
            interrupt.check()
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [1]


def test_other_threads_are_left_alone() -> None:
    found = []

    def work() -> None:
        with Interrupt() as interrupt:
            interrupt.check()
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]
