"""A store's id and schema version, and the check that this code understands them (promise S16)."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_coordination.stores.calls import MIGRATE
from airflow_coordination.values.errors import SchemaVersionError


@dataclass(frozen=True, slots=True)
class StoreFacts:
    """A store's id and schema version.

    :param store_id: given at its set-up, 16 hexadecimal digits; or given to a copy, ``copy-`` before them.
    :param schema_version: its schema.
    :param readable_by: the oldest code, by its schema version, that may work with it.
    """

    store_id: str
    schema_version: int
    readable_by: int


def check(facts: StoreFacts, description: str, *, known: int, oldest: int) -> None:
    """Refuse a store that this code does not understand.

    :param known: the schema that this code writes.
    :param oldest: the oldest schema that this code works with.
    :raises SchemaVersionError: saying which of the two is too old.
    """
    if facts.readable_by > known:
        problem = f"its schema {facts.schema_version} is too new for this code, which knows schema {known}"
        remedy = "Upgrade airflow-coordination here to the version of the code that migrated the store"
        raise SchemaVersionError(description, problem, remedy)
    if facts.schema_version < oldest:
        problem = f"its schema {facts.schema_version} is too old for this code, which needs {oldest}"
        raise SchemaVersionError(description, problem, MIGRATE)
