"""Whether tokens may begin anew: not where readers find the newest publication by them, which is where branches are."""

from __future__ import annotations

from typing import Final

from boto3.dynamodb.conditions import Key

from airflow_coordination.stores.calls import Call, StoreFacts
from airflow_coordination.stores.dynamodb.expressions import query
from airflow_coordination.stores.dynamodb.items import KEY, SOURCE
from airflow_coordination.stores.dynamodb.keys import HEADS, belonging, part_key
from airflow_coordination.stores.dynamodb.options import DynamoDBOptions
from airflow_coordination.stores.dynamodb.requests import Table
from airflow_coordination.values.input_errors import SettingsError

_BRANCHES: Final = ("~0", "~:")
"""Around the stored names of datasets in branches, ``~7~clean``, which begin with a number."""


def stays(table: Table, call: Call, source: str, key: str) -> bool:
    """Return whether a partition's tombstone must stay: it has head records of branches, by tokens that it keeps.

    Created again after it had gone, the partition would publish at token 1, below what a branch shows of it (S22).
    """
    first, last = (part_key(key, bound) for bound in _BRANCHES)
    wanted = query(Key(SOURCE).eq(belonging(source, HEADS)) & Key(KEY).between(first, last), (KEY,))
    return any(page for page in table.pages(call, 1, ConsistentRead=True, **wanted))


def check_keeps(options: DynamoDBOptions, facts: StoreFacts) -> None:
    """Refuse a store with branches in which items of completed partitions shall go by themselves, and tokens with them.

    :raises SettingsError: naming what to do instead.
    """
    if options.ttl is not None and facts.branches_enabled:
        refuse_ttl(options)


def refuse_ttl(options: DynamoDBOptions) -> None:
    """Refuse branches where items of completed partitions shall go by themselves.

    :raises SettingsError: always, when they shall.
    """
    if options.ttl is not None:
        problem = "lets completed partitions go by themselves, and what is created again publishes below its branches"
        remedy = "Leave it out where a store has branches; what `delete` and `cleanup` remove keeps its tokens there"
        raise SettingsError("ttl", str(options.ttl), problem, remedy)
