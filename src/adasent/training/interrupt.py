"""Ctrl-C between two steps, never inside one.

An exception that may come at any instruction can be lost where the interpreter cannot pass it on
(a finaliser, a callback from C), and can leave a step half done. While training, Ctrl-C is noted
and raised where the loop asks for it; a second one is raised at once.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self


class Interrupt:
    """Notes Ctrl-C inside its ``with`` block; does nothing outside of the main thread."""

    def __init__(self) -> None:
        self._pressed = False
        self._before: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if before is signal.default_int_handler:  # another one is somebody's wish
                self._before = before
                signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._pressed:
            signal.default_int_handler(number, frame)
        self._pressed = True

    def check(self) -> None:
        """Raise ``KeyboardInterrupt`` if Ctrl-C has come."""
        if self._pressed:
            self._pressed = False
            raise KeyboardInterrupt
