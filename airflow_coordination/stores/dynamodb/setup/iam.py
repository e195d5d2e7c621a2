"""The rights of each role of AWS IAM on a table: the three policies, as data of this package."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from string import Template
from typing import Any, Final

import boto3
import botocore.session
from botocore.exceptions import BotoCoreError, ClientError, UnknownRegionError

from airflow_coordination.stores.dynamodb.keys import (
    AUDIT,
    CHILDREN,
    CHUNKS,
    COUNTS,
    FOLLOW_UPS,
    HEADS,
    HISTORY,
    LARGE,
    SOURCES,
    STORE_SOURCE,
    belonging,
    blocked,
    combination,
)
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.names import (
    DUTIES,
    UPKEEP,
    compose_copies,
    compose_merged,
    compose_source,
    everybody,
    holds_partitions,
)
from airflow_coordination.values.status import PartitionStatus

_ACCOUNT: Final = re.compile(r"[0-9]{12}")
_REGION: Final = re.compile(r"[a-z]{2,}(-[a-z0-9]+)+")
_TABLE: Final = re.compile(r"[A-Za-z0-9_.-]{3,255}")
_OUTPUT_ROOT: Final = re.compile(r"s3[an]?://(?P<bucket>[a-z0-9.-]+)(?P<prefix>(/[^\s$*?]*)?)")
_BESIDE: Final = (HEADS, AUDIT, LARGE, COUNTS, HISTORY, FOLLOW_UPS, CHILDREN, CHUNKS)
"""What lies beside a source's partitions."""
_KINDS: Final = ("PARTITION", "GLOBAL_STATE", "WORKER")
_TEMPLATES: Final = files(__package__) / "policies"


class Role(StrEnum):
    """The role that a policy is for."""

    SETUP = "setup"
    """Makes the table, checks it and switches TTL on: ``store.setup()``."""
    WORKER = "worker"
    """Operators, sensors, drivers and people's actions."""
    READER = "reader"
    """Looks and reads what was published, and writes nothing."""


@dataclass(frozen=True, slots=True)
class TableAddress:
    """A table's place in AWS.

    :param table: its name.
    :param region: its region.
    :param account: the twelve digits of the account that it belongs to.
    :raises SettingsError: when the table, the account or the region is something else.
    """

    table: str
    region: str
    account: str

    def __post_init__(self) -> None:
        _ = self.partition
        if not _TABLE.fullmatch(self.table):
            problem = "is no table name of 3 to 255 letters, digits, - _ ."
            raise SettingsError("table", self.table, problem, "Write the table's name, not its ARN")
        if not _ACCOUNT.fullmatch(self.account):
            problem = "is not the number of an AWS account"
            raise SettingsError("account", self.account, problem, "Write its 12 digits, for example 123456789012")

    @property
    def partition(self) -> str:
        """The part of AWS that the region belongs to, for example ``aws`` or ``aws-cn``."""
        try:
            if not _REGION.fullmatch(self.region):
                raise UnknownRegionError(region_name=self.region, error_msg="")
            return str(botocore.session.get_session().get_partition_for_region(self.region))
        except UnknownRegionError as error:
            raise SettingsError("region", self.region, "is no region of AWS", "Write it like us-east-1") from error


def required(role: Role) -> Iterator[tuple[str, str | None]]:
    """Yield the actions that a role needs, each with the index that it is on, or ``None`` for the table itself."""
    for statement in json.loads(_template(role))["Statement"]:
        _, _, index = statement["Resource"].partition("/index/")
        yield from ((action, index or None) for action in statement["Action"])


def policy(
    role: Role,
    address: TableAddress,
    output_root: str | None = None,
    source: str | None = None,
    partition_prefix: str | None = None,
) -> dict[str, Any]:
    """Return the policy of a role for one table.

    A transaction needs no action of its own: its items are authorised as ``PutItem`` and ``UpdateItem`` (Amazon
    DynamoDB Developer Guide, *Using IAM with DynamoDB transactions*).

    :param output_root: where partitions publish on S3, for example ``s3a://bucket/flights``, if that is to be in it.
    :param source: narrows a worker or reader to the keys of one source, of what is merged of it, and of its copies
        (``dynamodb:LeadingKeys``).
    :param partition_prefix: that source's prefix, if any.
    :raises SettingsError: when the root is not on S3, or the role has nothing to do there or with one source.
    """
    names = {
        "PARTITION": address.partition,
        "REGION": address.region,
        "ACCOUNT": address.account,
        "TABLE": address.table,
    }
    document: dict[str, Any] = filled(json.loads(_template(role)), names)
    if source is not None:
        document["Statement"] = narrowed(role, document["Statement"], source, partition_prefix)
    if output_root is not None:
        document["Statement"] += _on_output(role, address.partition, output_root)
    return document


def _on_output(role: Role, partition: str, output_root: str) -> list[dict[str, Any]]:
    """Return a role's statements on S3; nothing is asked for above the root, measured with Spark's connector."""
    found = _OUTPUT_ROOT.fullmatch(output_root)
    if found is None:
        raise SettingsError("output_root", output_root, "is not on S3", "Write it like s3a://bucket/flights")
    if role is Role.SETUP:
        raise SettingsError("output_root", output_root, "is nothing that setup touches", "Use it with worker or reader")
    prefix = found["prefix"].strip("/")
    names = {"PARTITION": partition, "BUCKET": found["bucket"], "PREFIX": f"{prefix}/" if prefix else ""}
    statements: list[dict[str, Any]] = filled(json.loads(_template(f"{role}-output")), names)
    return statements


def filled(value: Any, names: dict[str, str]) -> Any:
    """Return a template's data with its texts filled in: a name stays inside of the text that it is part of."""
    if isinstance(value, dict):
        return {name: filled(each, names) for name, each in value.items()}
    if isinstance(value, list):
        return [filled(each, names) for each in value]
    return Template(value).substitute(names)


def narrowed(
    role: Role, statements: list[dict[str, Any]], source: str, partition_prefix: str | None
) -> list[dict[str, Any]]:
    """Return the statements with conditions on the keys that one source's items lie under, in the table and its index.

    What is merged of it, its copies, and who plans both, are sources of their own beside it; their keys are among them.

    The store's own item, the list of sources, which lies under one key for all, and the rules that hold for all can be
    read. Who may write the list says of every source whose DAGs it is, and the board asks it for that: somebody else
    registers the source.
    """
    if role is Role.SETUP:
        raise SettingsError("source", source, "is nothing that setup is narrowed to", "Use it with worker or reader")
    work, queue = statements
    own = [compose_source(source, partition_prefix, kind) for kind in _KINDS]
    others = list(_beside(role, source, partition_prefix))
    worked = [one for one in others if holds_partitions(one)]
    parts = [belonging(one, kind) for one in (*own, *worked) for kind in _BESIDE]
    everybodys = belonging(everybody(partition_prefix), LARGE)
    waiting = [key for one in (own[0], *worked) for key in _waiting(one)]
    return [
        _under(work, [*own, *parts, *others]),
        _under({**work, "Sid": "SeeTheStore", "Action": ["dynamodb:GetItem"]}, [STORE_SOURCE]),
        _under({**work, "Sid": "ReadDefaultRules", "Action": ["dynamodb:Query"]}, [everybodys]),
        _under({**work, "Sid": "ListSources", "Action": ["dynamodb:Query"]}, [SOURCES]),
        _under(queue, waiting),
        *_on_copies(work, queue, source, partition_prefix),
    ]


def _on_copies(
    work: dict[str, Any], queue: dict[str, Any], source: str, partition_prefix: str | None
) -> Iterator[dict[str, Any]]:
    """Yield the statement on the copies of a source, in the table and its index: whatever lies under their name.

    By a pattern, not key by key: AWS limits how long a policy may be.
    """
    copies = None if source.startswith(UPKEEP) else compose_copies(source, partition_prefix)
    if copies is None:
        return
    pattern = f"{_escaped(copies.removesuffix('PARTITION'))}*"
    condition = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": [pattern]}}
    yield {**work, "Sid": "Copies", "Resource": [work["Resource"], queue["Resource"]], "Condition": condition}


def _escaped(key: str) -> str:
    """Return a key as AWS takes it where ``*`` and ``?`` stand for others, and ``$`` begins a variable."""
    return "".join(f"${{{letter}}}" if letter in "$*?" else letter for letter in key)


def _beside(role: Role, source: str, partition_prefix: str | None) -> Iterator[str]:
    """Yield the identifiers of the sources that are read, or worked on, with one that users name.

    Every reader asks what was merged of it. Whoever plans that holds a lease among the duties, which are of all sources
    under one key: a reader has no business there.
    """
    if source.startswith(UPKEEP) or compose_merged(source, partition_prefix) is None:
        return
    merged = [compose_merged(source, partition_prefix, kind) for kind in _KINDS]
    yield from (one for one in merged if one)
    if role is Role.WORKER and all(merged):
        yield from (compose_source(DUTIES, partition_prefix, kind) for kind in _KINDS)


def _waiting(identifier: str) -> Iterator[str]:
    """Yield the keys of a source's partitions in the index, and the one of its whole history."""
    yield from (combination(identifier, status) for status in PartitionStatus)
    yield blocked(identifier)
    yield belonging(identifier, HISTORY)


def _under(statement: dict[str, Any], keys: list[str]) -> dict[str, Any]:
    """Return a statement that holds for these leading keys only; ``$`` would begin a variable of AWS."""
    escaped = [key.replace("$", "${$}") for key in keys]
    return {**statement, "Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": escaped}}}


def _template(name: str) -> str:
    return (_TEMPLATES / f"{name}.json").read_text()


def account_of_credentials(region: str) -> str:
    """Ask AWS (STS) which account this process's credentials belong to.

    :raises SettingsError: when there is no answer, because there are no credentials or no network.
    """
    try:
        client = boto3.Session().client("sts", region_name=region)
        return str(client.get_caller_identity()["Account"])
    except (BotoCoreError, ClientError) as error:
        problem = f"cannot be asked for: {error}"
        raise SettingsError("account", None, problem, "Give credentials and a region, or the account") from error
