"""Rules of families, each taken away in a process of a race: then children wait for ever."""

from __future__ import annotations

from airflow_coordination.stores.dynamodb import children as on_dynamodb
from airflow_coordination.stores.sql.statements import create


def parents_are_not_locked() -> None:
    """A creation goes by what its statement's snapshot shows of the parents."""
    whole = create.create_page_of_children
    create.create_page_of_children = lambda dialect: whole(dialect).replace(  # type: ignore[assignment]
        "ORDER BY source_partition_key FOR UPDATE", ""
    )


def parents_are_not_checked() -> None:
    """A creation on DynamoDB writes its parents under no condition."""
    on_dynamodb._unfinished = on_dynamodb._is_there
