"""The three policies: each is enough, each action in it is needed, and it names what is really touched."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import uuid4

import boto3
import pytest
from moto.core.authorization import enable_iam_authentication

from airflow_coordination.leases import Block, PartitionStatus, SourceCoordinator
from airflow_coordination.leases.errors import PartitionUpdateError
from airflow_coordination.stores.dynamodb import DynamoDBStore
from airflow_coordination.stores.dynamodb.client import CONFIG
from airflow_coordination.stores.dynamodb.iam import Role, TableAddress, policy
from airflow_coordination.testing.clock import FakeClock
from tests.integration.dynamodb.conftest import REGION, Engine

ACCOUNT = "123456789012"
TRANSACT = "dynamodb:TransactWriteItems"
"""moto asks for this action; AWS has none of this name and asks for each item's."""
ITEM_ACTIONS = {"Put": "dynamodb:PutItem", "Update": "dynamodb:UpdateItem"}
LEASE = timedelta(minutes=1)


def document(role: Role, table: str) -> dict[str, Any]:
    return policy(role, TableAddress(table, REGION, ACCOUNT))


def actions(role: Role) -> list[str]:
    return sorted({action for statement in document(role, "any")["Statement"] for action in statement["Action"]})


@dataclass(frozen=True)
class Run:
    """What a scenario works with.

    :param store: a new process's, on the table.
    :param clock: its time.
    :param source: the name of a source.
    """

    store: DynamoDBStore
    clock: FakeClock
    source: str

    def coordinator(self) -> SourceCoordinator:
        return SourceCoordinator(self.store, self.source, "host/dag/run/task/0/1", ownership_timeout=LEASE)


# -- what each role does --------------------------------------------------------------------------------------------


def set_up(run: Run) -> None:
    """All that ``store migrate`` does; the second time it finds what the first has made."""
    run.store.setup()
    run.store.setup()


def work(run: Run) -> None:
    """What operators, sensor, driver and people do."""
    flights = run.coordinator()
    flights.register()
    flights.check_known()
    flights.create_partitions(["2013-01", "2013-02", "2013-03"])
    lease = flights.get_next_partition(hint=flights.claimable()[0])
    lease = flights.save_progress_state(flights.renew(lease), {"text": "too large for the partition's item" * 100})
    following = flights.complete_and_get_next(lease, [Block("clean", "/out/1", "0" * 64, 1, 1)])
    flights.close(following, reopen_after=timedelta(seconds=1))
    assert flights.get_next_partition()
    run.clock.advance(LEASE * 2)
    assert flights.claimable()
    assert flights.sweep().reclaimed == 1
    flights.release(flights.get_next_partition().partition.key, by="ana", why="stuck")
    flights.reset("2013-01", by="ana", why="again")
    assert flights.get_next_partition()
    read(run)


def read(run: Run) -> None:
    """What a board, a report and ``read_completed`` do; there is a lease that seems to have ended."""
    flights = run.coordinator()
    flights.check_known()
    run.clock.advance(LEASE * 3)
    assert sum(flights.counts().values()) == 3
    assert len(flights.partitions(status=PartitionStatus.UNASSIGNED)) == 2
    partition = flights.partition("2013-01")
    assert len(run.store.heads(partition.source, "clean")) == 1
    assert len(run.store.audit(partition.source, "2013-01")) == 1
    assert len(flights.claimable()) == 3
    assert flights.outlook().assigned == 1


SCENARIOS: dict[Role, Callable[[Run], None]] = {Role.SETUP: set_up, Role.WORKER: work, Role.READER: read}


# -- under a policy -------------------------------------------------------------------------------------------------


class User:
    """A user of moto's IAM with a client of its own.

    :param engine: moto.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._iam = boto3.client("iam", region_name=REGION, endpoint_url=engine.endpoint)
        self._name = f"user-{uuid4().hex}"
        self._iam.create_user(UserName=self._name)
        key = self._iam.create_access_key(UserName=self._name)["AccessKey"]
        self._client = boto3.client(
            "dynamodb",
            region_name=REGION,
            endpoint_url=engine.endpoint,
            config=CONFIG,
            aws_access_key_id=key["AccessKeyId"],
            aws_secret_access_key=key["SecretAccessKey"],
        )
        self._client.meta.events.register("before-parse.dynamodb.*", _denied_in_json)
        self._client.meta.events.register("provide-client-params.dynamodb.*", self._note)
        self.touched: set[tuple[str, str]] = set()

    def run(self, role: Role, permitted: Iterable[str], table: str, source: str) -> None:
        """Run a role's scenario as a user who may do this and nothing else. moto checks actions, and no tables."""
        statement = {"Effect": "Allow", "Action": [*permitted, TRANSACT], "Resource": "*"}
        text = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        self._iam.put_user_policy(UserName=self._name, PolicyName="only", PolicyDocument=text)
        self.touched.clear()
        with enable_iam_authentication():
            run(role, self.engine, self._client, table, source)

    def _note(self, params: dict[str, Any], model: Any, **_: object) -> None:
        self.touched.update(_touches(model.name, params))

    def close(self) -> None:
        """Give the connections back."""
        self._iam.close()
        self._client.close()


def run(role: Role, engine: Engine, client: Any, table: str, source: str) -> None:
    clock = FakeClock()
    clock.advance(timedelta(hours=list(Role).index(role)))  # what a role before has counted is old
    options = engine.options(table, ttl=timedelta(days=7))
    SCENARIOS[role](Run(DynamoDBStore(options, clock, client=lambda _: client), clock, source))


def _denied_in_json(response_dict: dict[str, Any], **_: object) -> None:
    """Say a denial as the service says it; moto says it in XML, with another code and without the resource."""
    denied = re.search(rb"<Message>(User: \S+ is not authorized to perform: (\S+))</Message>", response_dict["body"])
    if denied:
        where = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/any"
        message = f"{denied[1].decode()} on resource: {where} because no identity-based policy allows it"
        answer = {"__type": "com.amazon.coral.service#AccessDeniedException", "Message": message}
        response_dict.update(body=json.dumps(answer).encode(), status_code=400)


def _touches(operation: str, params: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the actions that AWS asks for, each with the resource it asks for it on."""
    arn = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/"
    if operation == "TransactWriteItems":
        for item in params["TransactItems"]:
            [(kind, arguments)] = item.items()
            yield ITEM_ACTIONS[kind], arn + arguments["TableName"]
    elif operation == "BatchGetItem":
        yield from ((f"dynamodb:{operation}", arn + table) for table in params["RequestItems"])
    else:
        index = f"/index/{params['IndexName']}" if "IndexName" in params else ""
        yield f"dynamodb:{operation}", arn + params["TableName"] + index


@pytest.fixture(scope="module")
def user(moto: Engine) -> Iterator[User]:
    with closing(User(moto)) as user:
        yield user


@pytest.fixture(scope="module")
def worked(moto: Engine) -> Iterator[str]:
    """Name of a table that is set up, with work done on the source ``read``."""
    table = f"worked-{uuid4().hex}"
    run(Role.SETUP, moto, moto.client, table, "")
    run(Role.WORKER, moto, moto.client, table, "read")
    yield table
    moto.delete(table)


@pytest.fixture
def place(role: Role, table: str, moto: Engine, request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """Table and source as the role finds them: no table, a new source, or one with work done."""
    if role is Role.SETUP:
        yield table, ""
        moto.delete(table)
    else:
        yield request.getfixturevalue("worked"), "read" if role is Role.READER else uuid4().hex


@pytest.mark.parametrize("role", Role)
def test_policy_is_enough_and_names_what_is_touched(user: User, place: tuple[str, str], role: Role) -> None:
    user.run(role, actions(role), *place)
    named = {
        (action, statement["Resource"])
        for statement in document(role, place[0])["Statement"]
        for action in statement["Action"]
    }
    refused = {touch for touch in user.touched if role is Role.READER and touch[0] == "dynamodb:PutItem"}
    assert len(refused) == (role is Role.READER), "a reader counts without keeping the count for others"
    assert user.touched - refused == named


@pytest.mark.parametrize(("role", "missing"), [(role, action) for role in Role for action in actions(role)])
def test_every_action_is_needed_and_its_absence_is_named(
    user: User, place: tuple[str, str], role: Role, missing: str
) -> None:
    with pytest.raises(PartitionUpdateError) as failed:
        user.run(role, set(actions(role)) - {missing}, *place)
    assert f"Allow {missing}; see `airflow coordination iam`" in str(failed.value)


def test_the_list_in_data_prepper_s_documentation_is_not_enough(user: User, worked: str) -> None:
    """It is the set-up policy and Query: nothing can be acquired, because that is an update."""
    with pytest.raises(PartitionUpdateError, match="Allow dynamodb:UpdateItem"):
        user.run(Role.WORKER, {*actions(Role.SETUP), "dynamodb:Query"}, worked, uuid4().hex)
