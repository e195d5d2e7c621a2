"""Puts a mutant in the place of its module when that is imported. The tree, and all bytecode, stay as they are."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

from tests.mutants.mutant import PACKAGE, Mutant


class _Loader(SourceFileLoader):
    def __init__(self, mutant: Mutant, path: str) -> None:
        super().__init__(mutant.full_module, path)
        self._mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        """Return the broken code, compiled here and now."""
        text = self._mutant.applied_to(self.get_data(self.path).decode())
        return compile(text, self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find the one module that is broken; leave all others to the finders behind."""
        if fullname != self._mutant.full_module:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        assert spec is not None
        assert spec.origin is not None
        spec.loader = _Loader(self._mutant, spec.origin)
        return spec


def install(mutant: Mutant) -> None:
    """Let this process run the mutant.

    :raises RuntimeError: when it has already imported the code as it is.
    """
    if PACKAGE in sys.modules:
        raise RuntimeError(f"{PACKAGE} is imported already")
    sys.meta_path.insert(0, _Finder(mutant))
