"""A client of each engine of Kinesis, and a stream of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.engines.kinesis import connected
from tests.integration.kinesis.stream import LocalStream
from tests.integration.spark.conftest import spark

__all__ = ["spark"]


@pytest.fixture(params=["kinesis_local", "kinesalite"])
def kinesis(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A client of one engine, then of the other: what both can do."""
    with connected(request.getfixturevalue(request.param)) as client:
        yield client


@pytest.fixture
def main_engine(kinesis_local: str) -> Iterator[Any]:
    """A client of kinesis-local."""
    with connected(kinesis_local) as client:
        yield client


@pytest.fixture
def second_engine(kinesalite: str) -> Iterator[Any]:
    """A client of kinesalite."""
    with connected(kinesalite) as client:
        yield client


@pytest.fixture
def stream(kinesis: Any) -> Iterator[LocalStream]:
    """A new stream of two shards on either engine."""
    with LocalStream.new(kinesis) as stream:
        yield stream
