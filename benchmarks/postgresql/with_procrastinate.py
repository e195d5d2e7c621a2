"""procrastinate's own fetching and finishing of a job, without its worker around them: that would cost it more."""

from __future__ import annotations

import asyncio

from procrastinate import App, PsycopgConnector
from procrastinate.jobs import Status

_PAGE = 5_000
_QUEUE = "flights"


def _app(url: str) -> App:
    # One connection: the pool's default of four would only cost it memory here.
    app = App(connector=PsycopgConnector(conninfo=url, min_size=1, max_size=1))

    @app.task(name="work", queue=_QUEUE)
    def work(key: str) -> None: ...

    return app


class Procrastinate:
    """Fetches and finishes jobs.

    :param url: a database that :meth:`fill` has filled.
    """

    def __init__(self, url: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._app = _app(url)
        self._loop.run_until_complete(self._open())

    async def _open(self) -> None:
        await self._app.open_async()
        self._jobs = self._app.job_manager
        self._worker = await self._jobs.register_worker()

    @staticmethod
    def fill(url: str, rows: int) -> None:
        """Make its tables, and defer the jobs with its own function for many."""
        asyncio.run(_fill(_app(url), rows))

    def cycles(self, count: int) -> None:
        """Fetch and finish."""
        self._loop.run_until_complete(self._cycles(count))

    async def _cycles(self, count: int) -> None:
        for _ in range(count):
            job = await self._jobs.fetch_job(queues=[_QUEUE], worker_id=self._worker)
            assert job is not None
            await self._jobs.finish_job(job, Status.SUCCEEDED, delete_job=False)

    def close(self) -> None:
        """End the connection."""
        self._loop.run_until_complete(self._app.close_async())


async def _fill(app: App, rows: int) -> None:
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        work = app.tasks["work"]
        for start in range(1, rows + 1, _PAGE):
            page = range(start, min(start + _PAGE, rows + 1))
            await work.batch_defer_async(*({"key": f"s3://bucket/2013/{number:09}.parquet"} for number in page))
