"""Formulas in cases, such as ``440-40*(r+1)``: whole numbers, ``+``, ``-``, ``*``, brackets, and one name."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from airflow_coordination.testing.cases.reading import refuse

_OPERATIONS: Final = MappingProxyType({ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul})
_LONGEST: Final = 100


def formula(where: str, value: object) -> Callable[[int], int]:
    """Return what a number or a formula in ``r`` says for an ``r``.

    :raises InvalidInputError: when it is neither.
    """
    text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
    try:
        tree = ast.parse(text[:_LONGEST], mode="eval").body
        _evaluated(tree, 0)
    except (KeyError, SyntaxError, ValueError, RecursionError):
        refuse(where, value, "is neither a number nor a formula in r", "Write such as 440-40*(r+1).")
    return lambda r: _evaluated(tree, r)


def _evaluated(node: ast.expr, r: int) -> int:
    if isinstance(node, ast.BinOp):
        found: int = _OPERATIONS[type(node.op)](_evaluated(node.left, r), _evaluated(node.right, r))
        return found
    if isinstance(node, ast.Name) and node.id == "r":
        return r
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    raise ValueError(ast.dump(node))
