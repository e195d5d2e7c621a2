"""Many partitions at once, in all states, as a store has them after a while: straight into PostgreSQL's table."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

SOURCE = "flights"
_KINDS = """CASE WHEN n % 1000 = 999 THEN 'held' WHEN n % 10000 = 998 THEN 'parked' WHEN n % 100 = 97 THEN 'delayed'
    WHEN n % 10 < 6 THEN 'completed' WHEN n % 10 < 8 THEN 'fresh' ELSE 'closed' END"""
_FILL = f"""INSERT INTO coordination_partitions (source_identifier, source_partition_key, source_partition_status,
    ordinal,
    ready, timed, position, due_at, token, nonce, last_op, reopen_at, available_at, partition_ownership_timeout,
    created_at, updated_at, create_op, generation, payload, partition_owner, owner_task, owner_try, ring_0, ring_1,
    failures, last_error)
SELECT source, 'k' || lpad(n::text, 9, '0'), CASE kind WHEN 'completed' THEN 'COMPLETED'
        WHEN 'parked' THEN 'CLOSED' WHEN 'closed' THEN 'CLOSED' WHEN 'held' THEN 'ASSIGNED' ELSE 'UNASSIGNED' END,
    n, CASE kind WHEN 'fresh' THEN 3 END, CASE kind WHEN 'delayed' THEN 0 WHEN 'held' THEN 1 WHEN 'closed' THEN 2 END,
    n, CASE WHEN kind IN ('delayed', 'held', 'closed') THEN later END, 1, md5(n::text), md5(n::text),
    CASE kind WHEN 'closed' THEN later END, CASE kind WHEN 'delayed' THEN later WHEN 'fresh' THEN now END,
    CASE kind WHEN 'held' THEN later END, now, now, md5('c'), md5('g'), '{{"file":"/data/' || n || '.csv"}}',
    CASE kind WHEN 'held' THEN 'h/d/r/t/0/1' END, CASE kind WHEN 'held' THEN 'd/r/t/0' END,
    CASE kind WHEN 'held' THEN 1 END, '0|' || ending, '1|' || ending,
    CASE kind WHEN 'parked' THEN 5 ELSE 0 END, CASE kind WHEN 'parked' THEN 'OutOfMemoryError in stage 3' END
FROM (SELECT source, n, {_KINDS} AS kind, now, now + 3600000000 + n AS later,
        concat_ws('|', md5(n::text), 'failed', md5('o'), md5('l'), 'UNASSIGNED', 0, now) AS ending
    FROM (SELECT (ARRAY[SOURCES])[1 + place % DEALT] AS source, 1 + place / DEALT AS n
        FROM generate_series(0, NUMBER - 1) AS place) AS dealt,
    (SELECT CAST(extract(epoch FROM now()) * 1000000 AS BIGINT) AS now) AS clock) AS made"""


def fill(url: str, number: int, sources: Sequence[str] = (SOURCE,)) -> None:
    """Make ``number`` partitions: of ten thousand 10 held, 1 parked, 100 delayed, 6,000 completed, most others free.

    :param sources: among which they are dealt out.
    """
    named = ", ".join(f"'{source}|PARTITION'" for source in sources)
    text = _FILL.replace("DEALT", str(len(sources))).replace("SOURCES", named).replace("NUMBER", str(number))
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(text)
        connection.execute("VACUUM (ANALYZE) coordination_partitions")
