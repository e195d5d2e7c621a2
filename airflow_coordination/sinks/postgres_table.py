"""What a table is asked before a record is read: whether it takes a row, and whether it keeps every two keys apart.

A key column that rounds, folds or cuts keys makes one row of two records.
"""

from __future__ import annotations

import re
from typing import Final

TAKES: Final = """select current_setting('transaction_read_only'),
    has_any_column_privilege(%s, 'insert') and has_any_column_privilege(%s, 'update'),
    (select min(a.attname::text) from pg_attribute a join pg_type t on t.oid = a.atttypid
        where a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped and a.attnotnull and not a.atthasdef
        and a.attidentity = '' and t.typdefault is null and a.attname::text <> all (%s)
        and not exists (select 1 from pg_trigger g where g.tgrelid = r.oid and not g.tgisinternal))
    from (select %s::regclass::oid) as r"""
"""Triggers may set what is not written."""
KEY_COLUMN: Final = """select format_type(coalesce(nullif(t.typbasetype, 0), a.atttypid),
        case when t.typbasetype <> 0 then t.typtypmod else a.atttypmod end), coalesce(c.collisdeterministic, true)
    from pg_attribute a join pg_type t on t.oid = a.atttypid left join pg_collation c on c.oid = a.attcollation
    where a.attrelid = %s::regclass and a.attname = %s"""
_WHOLE: Final = frozenset({"smallint", "integer", "bigint"})
_FOLDING: Final = frozenset({"character", "name", "citext", '"char"'})
"""Types of text in which trailing blanks, what is beyond 63 bytes, or upper and lower case are one."""
_READ: Final = frozenset({"numeric", "real", "double precision", "date", "boolean", "interval", *_WHOLE})
"""Types that text is read as: ``1`` and ``01`` are one number."""


def is_coarser(kind: str, column: str, *, exact_collation: bool = True) -> bool:
    """Say whether two keys of Spark's type may be one in a column.

    :param kind: such as ``bigint`` or ``decimal(10,2)``.
    :param column: as PostgreSQL's ``format_type`` tells it.
    :param exact_collation: whether only equal texts are equal there.
    """
    spark, _, scale = _parts(kind)
    if spark in ("string", "char", "varchar"):
        return not exact_collation or _folds(column)
    if spark in ("timestamp", "timestamp_ntz"):
        return _is_coarser_time(spark, column)
    if spark in ("float", "double", "decimal"):
        return _is_coarser_number(spark, scale, column)
    if spark in ("tinyint", "smallint", "int", "bigint"):
        return _parts(column)[0] in ("real", "double precision")
    return False


def _folds(column: str) -> bool:
    base = _parts(column)[0]
    return base in _FOLDING or base in _READ or base.startswith(("time", "timestamp"))


def _is_coarser_time(kind: str, column: str) -> bool:
    """Microseconds are kept by six digits; an hour that comes twice only by the same kind of time."""
    base, digits, _ = _parts(column)
    if not base.startswith("timestamp"):
        return base == "date" or base.startswith("time")
    return (digits is not None and digits < 6) or base.endswith("with time zone") != (kind == "timestamp")


def _is_coarser_number(kind: str, scale: int | None, column: str) -> bool:
    base, digits, places = _parts(column)
    if kind == "decimal":
        if base == "numeric":
            return digits is not None and (places or 0) < (scale or 0)
        return base in ("real", "double precision") or (base in _WHOLE and bool(scale))
    return base in _WHOLE or base == "numeric" or (base == "real" and kind == "double")


def _parts(name: str) -> tuple[str, int | None, int | None]:
    """Return the name of a type without what stands in brackets, and these numbers."""
    found = re.search(r"\((\d+)(?:,(-?\d+))?\)", name)
    base = re.sub(r"\(.*?\)", "", name).split(" collate ")[0]
    if found is None:
        return base, None, None
    return base, int(found[1]), None if found[2] is None else int(found[2])
