"""What stands in the place of a Python function, and is pickled as that function.

Applications send functions of theirs to executors, with all that these functions refer to.
What they refer to may be a stand-in, or the function behind one; neither an executor nor
pickle may notice. An executor needs nothing of Headwater for it.
"""

import copyreg
import pkgutil
from collections.abc import Callable
from types import BuiltinFunctionType, ModuleType
from typing import Any

# The names of built-in functions that something stands for, and how often.
_behind: dict[int, tuple[str, int]] = {}


class StandIn:
    """A callable that is pickled, shown and asked for attributes as the original."""

    def __init__(self, original: Any, call: Callable[..., Any]) -> None:
        self._original, self._call = original, call

    def __call__(self, *arguments: Any, **more: Any) -> Any:
        """Do what is done in the original's place."""
        return self._call(*arguments, **more)

    def __repr__(self) -> str:
        return repr(self._original)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return max, ([self._original],)  # the one of a single thing is that thing


class StandInAt(StandIn):
    """One that stands in a module; elsewhere, the original is found there by its name."""

    def __init__(self, owner: ModuleType, name: str, call: Callable[..., Any]) -> None:
        super().__init__(getattr(owner, name), call)
        self._owner, self._name = owner, name
        _note(self._original, self._path)
        setattr(owner, name, self)

    def remove(self) -> None:
        """Put back what was there before, unless something else stands there by now."""
        if getattr(self._owner, self._name) is self:
            setattr(self._owner, self._name, self._original)
            _forget(self._original)

    @property
    def _path(self) -> str:
        return f"{self._owner.__name__}:{self._name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return pkgutil.resolve_name, (self._path,)


def _note(original: Any, path: str) -> None:
    """Have a built-in function found by its path: pickle refuses one that is not in its place."""
    if not isinstance(original, BuiltinFunctionType):
        return
    _, count = _behind.get(id(original), ("", 0))
    _behind[id(original)] = path, count + 1
    if copyreg.dispatch_table.get(BuiltinFunctionType) is None:
        copyreg.dispatch_table[BuiltinFunctionType] = _reduce


def _forget(original: Any) -> None:
    path, count = _behind.pop(id(original), ("", 1))
    if count > 1:
        _behind[id(original)] = path, count - 1
    if not _behind and copyreg.dispatch_table.get(BuiltinFunctionType) is _reduce:
        del copyreg.dispatch_table[BuiltinFunctionType]


def _reduce(function: BuiltinFunctionType) -> Any:
    found = _behind.get(id(function))
    return (pkgutil.resolve_name, (found[0],)) if found else function.__reduce_ex__(2)
