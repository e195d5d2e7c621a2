"""The rows of one range, as a condition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from airflow_coordination.sources.sql.key_kinds import KINDS


def range_clause(payload: Mapping[str, Any]) -> sa.ColumnElement[bool]:
    """Return the condition that selects a partition's rows, for SQLAlchemy's ``where``.

    :param payload: the payload of a partition that :func:`sql_ranges` made.
    """
    kind = KINDS[payload["type"]]
    key = sa.column(payload["column"], kind.sql)
    inside: sa.ColumnElement[bool] = sa.true()
    if payload["lower"] is not None:
        inside = sa.and_(inside, key > kind.read(payload["lower"]))
    if payload["upper"] is not None:
        inside = sa.and_(inside, key <= kind.read(payload["upper"]))
    return sa.or_(inside, key.is_(None)) if payload["nulls"] else inside
