"""pgqueuer's own dequeueing and logging of a job, without its worker around them: that would cost it more.

It gets uvloop, as its own program takes it.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import uuid4

import asyncpg
import uvloop
from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver
from pgqueuer.adapters.persistence.queries import Queries
from pgqueuer.ports.repository import EntrypointExecutionParameter

_PAGE = 5_000
_ENTRYPOINT = "work"
_HEARTBEAT = timedelta(seconds=600)


class PgQueuer:
    """Dequeues jobs one by one and logs them.

    :param url: a database that :meth:`fill` has filled.
    """

    def __init__(self, url: str) -> None:
        self._loop = uvloop.new_event_loop()
        self._connection = self._loop.run_until_complete(asyncpg.connect(url))
        self._queries = Queries(AsyncpgDriver(self._connection))
        self._me = uuid4()
        self._entrypoints = {_ENTRYPOINT: EntrypointExecutionParameter(concurrency_limit=0)}

    @staticmethod
    def fill(url: str, rows: int) -> None:
        """Make its tables, and enqueue the jobs with its own function for many."""
        asyncio.run(_fill(url, rows))

    def cycles(self, count: int) -> None:
        """Dequeue and log."""
        self._loop.run_until_complete(self._cycles(count))

    async def _cycles(self, count: int) -> None:
        for _ in range(count):
            [job] = await self._queries.dequeue(1, self._entrypoints, self._me, None, _HEARTBEAT)
            await self._queries.log_jobs([(job, "successful", None)])

    def close(self) -> None:
        """End the connection."""
        self._loop.run_until_complete(self._connection.close())


async def _fill(url: str, rows: int) -> None:
    connection = await asyncpg.connect(url)
    queries = Queries(AsyncpgDriver(connection))
    await queries.install()
    for start in range(1, rows + 1, _PAGE):
        page = range(start, min(start + _PAGE, rows + 1))
        payloads = [f"s3://bucket/2013/{number:09}.parquet".encode() for number in page]
        await queries.enqueue([_ENTRYPOINT] * len(page), payloads, [0] * len(page))
    await connection.close()
