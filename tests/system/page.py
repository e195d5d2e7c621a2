"""The page of the documentation that says what was seen of each event."""

from __future__ import annotations

from collections.abc import Iterable

from tests.system.case import Result
from tests.system.events import HEARTBEAT, OWNERSHIP_TIMEOUT

HEAD = (
    "event",
    "writers alive after (s)",
    "lease free after (s)",
    "the tenure's ending",
    "next owner",
    "the grid",
    "rows",
)

PAGE = """# What a kill does

What `LeasedSparkSubmitOperator` does when its work ends early, as `make test-system` saw it last on a machine with two
cores: a real scheduler with LocalExecutor, real Spark in client mode, Airflow's database and the store on PostgreSQL.
The job has saved one block and writes the next when the event happens; whoever comes next does the rest.
`ownership_timeout` is {timeout} s here, so that the one unclean end is soon over.

{table}

- *Writers alive*: until no process of the attempt runs any more: spark-submit, its JVM, the Python driver.
- *Lease free*: until somebody else may take the partition. A clean end is one that somebody is left to report: within
  5 s. What a person does in the grid, or the scheduler, a task learns with its supervisor's next heartbeat: `[workers]
  min_heartbeat_interval`, {heartbeat} s here; Airflow's default of 5 s adds as much. Where the whole host is gone, the
  lease runs out, and the next look of a sensor, or of any task that acquires, finds it: within lease + poll + 5 s.
- *Next owner*: a retry of the same mapped task takes its own partition again, at once and with its progress. Where
  Airflow does not try again, any later task takes it.
- *The grid*: the state of the first task instance in the end.
- *Rows*: `exact` says that a reader sees each row once, though two owners have written them.

The task's log says how each tenure ended and how many processes were ended with it, unless a person marked or cleared
the task: Airflow closes its log at that moment.
"""


def page(results: Iterable[Result]) -> str:
    """Return the page."""
    return PAGE.format(timeout=OWNERSHIP_TIMEOUT, heartbeat=HEARTBEAT, table=table(results))


def table(results: Iterable[Result]) -> str:
    """Return what was seen as a table in Markdown."""
    rows = [HEAD, tuple("---" for _ in HEAD), *(_row(result) for result in results)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(result: Result) -> tuple[str, ...]:
    times = (f"{max(seconds, 0.0):.1f}" for seconds in (result.gone, result.free))
    rows = "exact" if result.exact else str(result.rows)
    return (result.event.what, *times, result.ending, result.next_owner, result.state, rows)
