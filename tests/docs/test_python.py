"""The Python reference has every public name, and refuses one without a docstring."""

from __future__ import annotations

from importlib import import_module

import pytest

from scripts.docs_build import REFERENCE
from scripts.docs_python import reference


@pytest.mark.parametrize("room", REFERENCE)
def test_every_public_name_of_a_room_is_there(room):
    part = reference(room)()
    public = import_module(f"airflow_coordination.{room}").__all__
    assert [name for name in public if f"### `{name}`" not in part and f"`{name}`" not in part.splitlines()[-1]] == []


def test_a_name_without_a_docstring_is_refused(monkeypatch):
    leases = import_module("airflow_coordination.leases")
    monkeypatch.setattr(leases.SourceCoordinator.complete, "__doc__", None)
    with pytest.raises(LookupError, match=r"complete.* has no docstring"):
        reference("leases")()


def test_parameters_results_and_errors_are_a_list():
    text = reference("leases")()
    assert "complete_and_get_next(" in text
    assert "* returns the next lease, or `None` when there is nothing more to do, which is counted\n" in text
    assert "* raises `OutcomeUnknownError`: also when the partition is completed" in text


def test_a_numbered_list_stays_one():
    lines = reference("streams")().splitlines()
    begin = next(place for place, line in enumerate(lines) if line.startswith("1. Below its share"))
    assert [line[:2] for line in lines[begin : begin + 3]] == ["1.", "2.", "3."]
