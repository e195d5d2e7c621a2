"""The settings of every session of ours on PostgreSQL, the stores' and the sinks', whatever a role or a database says.

It is said once: a setting that one of them forgets is a row that is acknowledged and lost.
"""

from __future__ import annotations

from typing import Final

FIXED: Final = {
    "synchronous_commit": "on",
    "default_transaction_isolation": "read committed",
    "plan_cache_mode": "force_generic_plan",
    "jit": "off",
}
"""Of the session: what is acknowledged survives the server's restart (S4), and statements wait for rows, not fail."""
KEEPALIVES: Final = {
    "keepalives": "1",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
}
"""Of the connection, unless its address says otherwise: after how many seconds a peer that says nothing is gone."""
ENCODING: Final = {"client_encoding": "utf8"}
"""Of the connection, whatever its address says."""
BOUNDED: Final = ("statement_timeout", "idle_in_transaction_session_timeout")
"""Of the session, in milliseconds: a process that is stopped within a transaction keeps nobody out for longer."""


def bounds(seconds: float) -> dict[str, str]:
    """Return the settings that bound a statement, and a transaction in which nothing happens."""
    return dict.fromkeys(BOUNDED, str(int(seconds * 1000)))
