"""A user of moto's IAM: moto enforces the actions of a policy, but not its resources."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import boto3
from moto.core.authorization import enable_iam_authentication

from airflow_coordination.stores.dynamodb.client import CONFIG
from airflow_coordination.stores.dynamodb.setup.iam import Role, TableAddress, policy
from tests.integration.dynamodb.engine import REGION, Engine

ACCOUNT = "123456789012"
TRANSACT = "dynamodb:TransactWriteItems"
"""moto asks for this action; AWS has none of this name and asks for each item's."""
ITEM_ACTIONS = {"Put": "dynamodb:PutItem", "Update": "dynamodb:UpdateItem"}


def document(role: Role, table: str) -> dict[str, Any]:
    return policy(role, TableAddress(table, REGION, ACCOUNT))


def actions(role: Role) -> list[str]:
    return sorted({action for statement in document(role, "any")["Statement"] for action in statement["Action"]})


class User:
    """A user of moto's IAM with a client of its own.

    :param engine: moto.
    """

    def __init__(self, engine: Engine) -> None:
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
        self.keys: set[tuple[str, str]] = set()
        """Actions, each with the leading key that it is on."""

    @contextmanager
    def allowed(self, permitted: Iterable[str]) -> Iterator[Any]:
        """Give the client of a user who may do this and nothing else; moto checks nobody outside of this block."""
        statement = {"Effect": "Allow", "Action": [*permitted, TRANSACT], "Resource": "*"}
        text = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        self._iam.put_user_policy(UserName=self._name, PolicyName="only", PolicyDocument=text)
        self.touched.clear()
        with enable_iam_authentication():
            yield self._client

    def _note(self, params: dict[str, Any], model: Any, **_: object) -> None:
        self.touched.update(_touches(model.name, params))
        self.keys.update(_leading_keys(model.name, params))

    def close(self) -> None:
        """Give the connections back."""
        self._iam.close()
        self._client.close()


def _denied_in_json(response_dict: dict[str, Any], **_: object) -> None:
    """Say a denial as the service says it; moto says it in XML, with another code and without the resource."""
    denied = re.search(rb"<Message>(User: \S+ is not authorized to perform: (\S+))</Message>", response_dict["body"])
    if denied:
        where = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/any"
        message = f"{denied[1].decode()} on resource: {where} because no identity-based policy allows it"
        answer = {"__type": "com.amazon.coral.service#AccessDeniedException", "Message": message}
        response_dict.update(body=json.dumps(answer).encode(), status_code=400)


def _leading_keys(operation: str, params: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the actions, each with the value of the partition key of the table or index that it is on."""
    if operation == "TransactWriteItems":
        for item in params["TransactItems"]:
            [(kind, arguments)] = item.items()
            yield ITEM_ACTIONS[kind], (arguments.get("Key") or arguments["Item"])["sourceIdentifier"]["S"]
    elif operation == "BatchGetItem":
        keys = [key for wanted in params["RequestItems"].values() for key in wanted["Keys"]]
        yield from (("dynamodb:BatchGetItem", key["sourceIdentifier"]["S"]) for key in keys)
    elif operation == "Query":
        first = re.match(r"\(*#\w+ = (:\w+)", params["KeyConditionExpression"])
        assert first is not None
        yield "dynamodb:Query", params["ExpressionAttributeValues"][first[1]]["S"]
    elif "Key" in params or "Item" in params:
        yield f"dynamodb:{operation}", (params.get("Key") or params["Item"])["sourceIdentifier"]["S"]


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
