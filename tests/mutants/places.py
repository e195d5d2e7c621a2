"""The stores that mutants are simulated on."""

from __future__ import annotations

from tests.simulation.places import InMemoryPlace, MakePlace

_PLACES: dict[str, MakePlace] = {"in_memory": InMemoryPlace}


def make_place(store: str) -> MakePlace:
    """Return what makes a run's store."""
    return _PLACES[store]
