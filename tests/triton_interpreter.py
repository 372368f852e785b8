"""Triton kernels without a GPU: in its interpreter, once two gaps of it are closed."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def repair_interpreter() -> None:
    """Two gaps of Triton 3.6's interpreter: loop bounds under numpy 2.4, products of bfloat16."""
    from triton import language as tl
    from triton.runtime import interpreter

    patch, dot = interpreter._patch_lang_tensor, interpreter.InterpreterBuilder.create_dot

    def patch_with_index(tensor: Any, scope: Any) -> None:
        patch(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: self.handle.data.item())

    def dot_in_float32(self: Any, a: Any, b: Any, *rest: Any) -> Any:
        if a.dtype.scalar == tl.bfloat16:
            a, b = self.cast_impl(a, tl.float32), self.cast_impl(b, tl.float32)
        return dot(self, a, b, *rest)

    interpreter._patch_lang_tensor = patch_with_index
    interpreter.InterpreterBuilder.create_dot = dot_in_float32
