"""Mutants of copies of the accounting, of counters of records, and of forgetting what is left to do (S26, X11, S27)."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested


def _kit(test: str, store: str = "test_sqlite.py::TestSqlite") -> Tested:
    return Tested(f"tests/conformance/{store}::test_{test}")


def _metrics(test: str) -> Tested:
    return Tested(f"tests/unit/leases/test_record_metrics.py::test_{test}")


_MEMORY = "test_in_memory.py::TestInMemory"

MUTANTS = (
    Mutant(
        "a row of the history keeps counts of before a reset",
        "stores.sql.statements.step",
        'changes.get("accounting_text", _TOTALS)',
        'changes.get("accounting_text", ROW.accounting_text)',
        "X11: the history tells of records that a reset has taken back",
        _kit("x11_counts_of_an_earlier_generation_are_in_no_later_row"),
    ),
    Mutant(
        "a row of the history misses what the ending counts",
        "stores.sql.statements.step",
        'changes.get("accounting_text", _TOTALS)',
        "_TOTALS",
        "X11: the history tells of the save before the ending",
        _kit("x11_a_row_has_what_the_ending_itself_counts"),
    ),
    Mutant(
        "in memory a row has no counts of a reset tenure",
        "protocol.past_tenure",
        "    return accounts.said(after) or accounts.said(before)\n",
        "    return accounts.said(after)\n",
        "X11: what a tenure has counted is gone from the history when a person resets it",
        _kit("x11_counts_of_an_earlier_generation_are_in_no_later_row", _MEMORY),
    ),
    Mutant(
        "what is published has the counts of before the tenure",
        "leases.tenures",
        "    chain.totals = write.accounting or chain.totals\n",
        "",
        "S26: the rows of a tenure that only saved are published without its counts",
        _kit("s26_what_was_saved_is_said_of_what_an_ending_without_counts_publishes", _MEMORY),
    ),
    Mutant(
        "a copy that older code has left is shown",
        "values.accounting",
        "    return stored.accounting if not generations or stored.generation in generations else None\n",
        "    return stored.accounting\n",
        "S26: rows that older code has published are shown with the counts of others",
        Tested(
            "tests/unit/leases/explaining/test_records_told.py::"
            "test_a_head_record_tells_only_totals_of_its_own_publication"
        ),
    ),
    Mutant(
        "counters add the whole tenure with each save",
        "leases.counting",
        "    before, chain.told = chain.told or _NONE, counted\n",
        "    before = _NONE\n",
        "counters of records grow with the number of saves",
        _metrics("each_accepted_step_adds_what_is_new"),
    ),
    Mutant(
        "counters hear of a step before it is accepted",
        "leases.coordinator",
        "        with self._core.watched(Metric.SAVE_ERRORS):\n            saved = self._core.tenures.save(",
        "        self.counting.count_records(lease, counted)\n"
        "        with self._core.watched(Metric.SAVE_ERRORS):\n            saved = self._core.tenures.save(",
        "counters have records of leases that were lost",
        _metrics("nothing_of_a_refused_step_is_counted"),
    ),
    Mutant(
        "forgetting what was done meanwhile is audited",
        "stores.in_memory_source",
        "        if self.take_away(write.note, now):\n",
        "        self.follow_ups.pop(place_of(write.note), None)\n        if True:\n",
        "the audit says that somebody forgot what was done",
        _kit("s27_what_was_done_meanwhile_is_not_forgotten", _MEMORY),
    ),
)
