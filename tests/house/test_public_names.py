"""The names that users import from the top of the package."""

from __future__ import annotations

import ast

import pytest

import airflow_coordination
from tests.house.tree import PACKAGE


@pytest.mark.parametrize("name", airflow_coordination.__all__)
def test_public_name_is_its_room_s(name):
    """Every public name resolves, and is the same object in its room."""
    value = getattr(airflow_coordination, name)
    assert value.__module__.startswith("airflow_coordination.")
    assert name in dir(airflow_coordination)


def test_type_checkers_see_the_same_names():
    """The imports for type checkers and the list cannot drift."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    names = {alias.name for node in checked.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert names == set(airflow_coordination.__all__)


def test_an_unknown_name_is_an_attribute_error():
    """As of any module."""
    with pytest.raises(AttributeError, match="'airflow_coordination' has no attribute 'Partitions'"):
        _ = airflow_coordination.Partitions
