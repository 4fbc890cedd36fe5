"""Undoes what an application or SQL text leaves in this process and session.

What was given runs once for each write that is asked about, and begins each time as if it were the
first: a view or module of an earlier run would hold frames of what that run had read.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

_INSTALLED = ("site-packages", "dist-packages")
_STANDARD = Path(os.__file__).resolve().parent


@contextmanager
def clean_process(application: Path, arguments: Sequence[str]) -> Iterator[None]:
    """Let an application find its arguments and the modules beside it, as when it is run."""
    argv, path, place, environ = sys.argv, [*sys.path], Path.cwd(), {**os.environ}
    main, modules = sys.modules["__main__"], {**sys.modules}
    folder = application.resolve().parent
    sys.argv = [str(application), *arguments]
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        added = [folder, *(Path(one).resolve() for one in sys.path if one not in path)]
        sys.argv, sys.path[:], sys.modules["__main__"] = argv, path, main
        _forget_modules(modules, added)
        os.chdir(place)
        _restore_environ(environ)


def _forget_modules(before: dict[str, ModuleType], folders: list[Path]) -> None:
    """Let modules of an application be imported again; those that are installed stay."""
    for name, module in [*sys.modules.items()]:
        if name.partition(".")[0] not in before and _is_within(module, folders):
            del sys.modules[name]


def _is_within(module: ModuleType, folders: list[Path]) -> bool:
    places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
    paths = [Path(one).resolve() for one in places if isinstance(one, str)]
    return any(
        path.is_relative_to(folder) and not {*path.relative_to(folder).parts} & {*_INSTALLED}
        for path in paths
        if not path.is_relative_to(_STANDARD)
        for folder in folders
    )


def _restore_environ(before: dict[str, str]) -> None:
    if dict(os.environ) != before:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def clean_session(spark: SparkSession) -> Iterator[None]:
    """Drop the temporary views, functions and variables that appear meanwhile."""
    session = _Session(spark)
    try:
        yield
    finally:
        session.restore()


class _Session:
    """What a session has before an application runs."""

    def __init__(self, spark: SparkSession) -> None:
        state: Any = spark._jsparkSession.sessionState()
        self._catalog, self._manager = state.catalog(), state.catalogManager()
        self._views = {name: self._catalog.getRawTempView(name).get() for name in self._local()}
        self._global_views = {*self._of_all()}
        self._functions = {one.funcName() for one in self._temporary()}
        self._has_variables = not self._manager.tempVariableManager().isEmpty()
        self._current = str(self._manager.currentCatalog().name())
        self._namespace = self._manager.currentNamespace()

    def restore(self) -> None:
        """Leave the session as it was."""
        for name in self._local():
            if name not in self._views:
                self._catalog.dropTempView(name)
        for name, view in self._views.items():
            self._catalog.createTempView(name, view, True)
        for name in self._of_all():
            if name not in self._global_views:
                self._catalog.dropGlobalTempView(name)
        for function in self._temporary():
            if function.funcName() not in self._functions:
                self._catalog.unregisterFunction(function)
        if not self._has_variables:
            self._manager.tempVariableManager().clear()
        with suppress(PySparkException, Py4JError):  # such as a namespace that is gone
            self._manager.setCurrentCatalog(self._current)
            self._manager.setCurrentNamespace(self._namespace)

    def _local(self) -> list[str]:
        return [str(name) for name in _listed(self._catalog.getTempViewNames())]

    def _of_all(self) -> list[str]:
        return [str(name) for name in _listed(self._catalog.globalTempViewManager()
                                              .listViewNames("*"))]  # fmt: skip

    def _temporary(self) -> list[Any]:
        return _listed(self._catalog.listTemporaryFunctions())


def _listed(values: Any) -> list[Any]:
    return [values.apply(number) for number in range(values.size())]
