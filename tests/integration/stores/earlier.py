"""What a store of an earlier schema does not have, as statements that take it away."""

from __future__ import annotations

NO_SUMS = ("DROP TABLE coordination_ended",)
"""Schema 16."""
NO_BATCHES = (
    *NO_SUMS,
    "DROP INDEX coordination_audit_newest",
    "ALTER TABLE coordination_audit DROP COLUMN batch",
)
"""Schema 15."""
NO_ENDS = (
    *NO_BATCHES,
    *(f"ALTER TABLE coordination_sources DROP COLUMN pause_until{of}" for of in ("", "_op")),
)
"""Schema 14."""
NO_BRANCHES = (
    *NO_ENDS,
    "DROP TABLE coordination_documents",
    "DROP INDEX coordination_partitions_branch",
    "ALTER TABLE coordination_partitions DROP COLUMN branch",
)
"""Schema 13."""
NO_CHUNKS = (*NO_BRANCHES, "DROP TABLE coordination_chunks")
"""Schema 12."""
NO_INTERVALS = (
    *NO_CHUNKS,
    *(f"ALTER TABLE coordination_heads DROP COLUMN interval_{name}" for name in ("start", "end")),
)
"""Schema 11."""
NOTHING_PARKED = (
    *NO_INTERVALS,
    "DROP INDEX coordination_partitions_followed",
    "ALTER TABLE coordination_partitions DROP COLUMN on_parked",
)
"""Schema 10."""
NO_FAILURES = (
    *NOTHING_PARKED,
    "DROP INDEX coordination_sources_failing",
    *(
        f"ALTER TABLE coordination_sources DROP COLUMN {column}"
        for column in ("failing_error", "failing_marks", "failing_since_op")
    ),
)
"""Schema 9."""
NO_MARKS = (
    *NO_FAILURES,
    *(f"ALTER TABLE coordination_partitions DROP COLUMN wanted_{name}" for name in ("by", "token", "until")),
)
"""Schema 8."""
NO_COPIES = (
    *NO_MARKS,
    *(f"ALTER TABLE coordination_{table} DROP COLUMN accounting" for table in ("heads", "history")),
)
"""Schema 7: no accounting beside what is published and in the history."""
NO_PARENTS = (
    *NO_COPIES,
    "DROP TABLE coordination_children",
    *(f"DROP INDEX coordination_partitions_{name}" for name in ("blocked", "stragglers")),
    *(f"ALTER TABLE coordination_partitions DROP COLUMN {column}" for column in ("waits_for", "awaited_op", "parents")),
)
"""Schema 6."""
NO_FOLLOW_UPS = (*NO_PARENTS, "DROP TABLE coordination_follow_ups")
"""Schema 5."""
NO_ACCOUNTING = (*NO_FOLLOW_UPS, "ALTER TABLE coordination_partitions DROP COLUMN accounting")
"""Schema 4."""
NO_PAUSES = (
    *NO_ACCOUNTING,
    "DROP INDEX coordination_sources_paused",
    *(
        f"ALTER TABLE coordination_sources DROP COLUMN {column}"
        for column in ("paused", "pause_by", "pause_why", "pause_at", "pause_op")
    ),
)
"""Schema 3."""
NO_HISTORY = (
    *NO_PAUSES,
    "DROP TABLE coordination_history",
    *(
        f"ALTER TABLE coordination_partitions DROP COLUMN {column}"
        for column in ("max_failures", "acquired_at", "owner_details")
    ),
)
"""Schema 2."""
