"""What PostgreSQL reads of the texts of arrays that are made here."""

from __future__ import annotations

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_coordination.stores.sql.statements.dialect import of_numbers, of_texts

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
HOSTILE = ["", "NULL", "null", "{", "}", "{}", ",", '"', "\\", '\\"', '","', "a b", " ", "\n\t", "'", "ä☃𝄞"]


@pytest.fixture(scope="module")
def connection(postgres_cluster: str):
    with psycopg.connect(postgres_cluster.replace("+psycopg", ""), autocommit=True) as connection:
        yield connection


@given(texts=st.lists(st.none() | st.sampled_from(HOSTILE) | TEXTS, max_size=30))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_texts_are_read_as_they_were(connection: psycopg.Connection, texts: list[str | None]) -> None:
    [[found]] = connection.execute("SELECT CAST(%s AS TEXT[])", (of_texts(texts),))
    assert found == texts


@given(numbers=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=30))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_numbers_are_read_as_they_were(connection: psycopg.Connection, numbers: list[int]) -> None:
    [[found]] = connection.execute("SELECT CAST(%s AS BIGINT[])", (of_numbers(numbers),))
    assert found == numbers
