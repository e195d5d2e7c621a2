"""Mutants of an owner's calls: chains, what is carried from call to call, what an ending says."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested

_TENURES = "leases.tenures"
_REQUESTS = "leases.outcomes"

MUTANTS = (
    Mutant(
        "failures outlive a success",
        _REQUESTS,
        '"clear_staged": True, "failures": 0, "lost_leases": 0, ',
        '"clear_staged": True, "lost_leases": 0, ',
        "A14: a partition that reopens for ever is parked by failures that are not in a row",
    ),
    Mutant(
        "refused renewal taken for success",
        _TENURES,
        "        if not now.held_under(lease.fence):\n            raise self._settler.refusal(",
        "        if now.deleted:\n            raise self._settler.refusal(",
        "S2: who has lost the lease is told that it is held",
    ),
    Mutant(
        "next write before the last is settled",
        _TENURES,
        '        self._settler.settle("settle the write before", earlier, chain)\n',
        "",
        "S6: a chain goes on past a write of which nobody knows what became",
    ),
    Mutant(
        "settled save not carried over",
        _TENURES,
        "            _saved(chain, earlier)\n",
        "            pass\n",
        "S12: blocks of a save that was settled late are dropped",
        Tested("tests/unit/leases/test_settling.py::test_s6_an_unknown_save_is_settled_before_the_next_write"),
    ),
    Mutant(
        "repeated ending sent as a new one",
        _TENURES,
        "if isinstance(earlier, End) and asked_before == asked:",
        "if False:",
        "S6: an ending that was applied is reported as refused to who asks for it again",
        Tested("tests/unit/leases/test_settling_over_calls.py::test_s6_the_same_close_again_until_the_same_moment"),
    ),
    Mutant(
        "another ending taken for the same",
        _TENURES,
        "if isinstance(earlier, End) and asked_before == asked:",
        "if isinstance(earlier, End):",
        "S6: an ending is reported as done when another one was",
    ),
    Mutant(
        "saved blocks replace those saved before",
        _TENURES,
        "            staged = merge(partition.staged, blocks)\n",
        "            staged = merge((), blocks)\n",
        "S12: blocks saved earlier are dropped",
    ),
    Mutant(
        "staged blocks not carried to the ending",
        _TENURES,
        "progress_text=write.progress_text, staged=write.staged)",
        "progress_text=write.progress_text)",
        "S12: blocks saved in this tenure are not published",
    ),
    Mutant(
        "ending publishes its own blocks only",
        _TENURES,
        "        published = merge(partition.staged, blocks)\n",
        "        published = merge((), blocks)\n",
        "S12: staged blocks are cleared without being published",
    ),
    Mutant(
        "failure publishes",
        _REQUESTS,
        '            "failures": failures,\n            "last_error": storable',
        '            "failures": failures,\n            "clear_staged": True,\n            "last_error": storable',
        "S12: readers see the output of work that was not accepted",
    ),
    Mutant(
        "failure counts as a close",
        _REQUESTS,
        '            "failures": failures,\n            "last_error": storable',
        '            "failures": failures,\n            "closed_count": partition.closed_count + 1,\n'
        '            "last_error": storable',
        "S7: a failure is no close",
    ),
    Mutant(
        "failure wipes progress",
        _REQUESTS,
        '            "failures": failures,\n            "last_error": storable',
        '            "failures": failures,\n            "progress": None,\n            "last_error": storable',
        "S14: the next owner starts from nothing",
    ),
    Mutant(
        "one close too many",
        _REQUESTS,
        "count >= settings.max_closed_count",
        "count > settings.max_closed_count",
        "S7: not COMPLETED when closedCount reaches the maximum",
    ),
    Mutant(
        "one failure too many",
        _REQUESTS,
        "failures >= most",
        "failures > most",
        "L5: a poison partition is not parked at its maximum",
    ),
    Mutant(
        "close keeps progress it was not given",
        _REQUESTS,
        '            "progress": self.progress,\n',
        '            "progress": KEEP if self.progress is None else self.progress,\n',
        "S12: a pass that should start fresh leaves rows out",
    ),
    Mutant(
        "fresh pass in the old generation",
        _REQUESTS,
        '"generation": partition.generation if self.progress is not None else op',
        '"generation": partition.generation',
        "S12: a fresh pass adds to the output that it should replace",
    ),
    Mutant(
        "every close begins a generation",
        _REQUESTS,
        '"generation": partition.generation if self.progress is not None else op',
        '"generation": op',
        "S12: a pass that goes on replaces the output it should add to",
    ),
    Mutant(
        "head records not read after the first close",
        "protocol.side_writes",
        "return partition.closed_count > 0 or",
        "return partition.closed_count > 1 or",
        "S12: the second publication of a generation replaces the first",
    ),
    Mutant(
        "publication always replaces",
        "protocol.side_writes",
        "return head.generation == partition.generation or any(",
        "return any(",
        "S12: what was published earlier in this generation is lost",
    ),
    Mutant(
        "publication always adds",
        "protocol.side_writes",
        "return head.generation == partition.generation or any(",
        "return True or any(",
        "S12: rows of an earlier generation are doubled",
    ),
    Mutant(
        "appending replaces",
        "protocol.side_writes",
        'return head.generation == partition.generation or any(block.mode == "append" for block in blocks)',
        "return head.generation == partition.generation",
        "S12: the publisher says 'add', and earlier output is lost",
    ),
    Mutant(
        "blocks of a repeated save doubled",
        "values.blocks",
        "        if (block.dataset, block.digest) in included:\n            continue\n",
        "",
        "S12: saving again after a lost answer doubles rows",
    ),
    Mutant(
        "dead owner's successor is ended",
        "leases.tries",
        "            if not seen.held_under(fence):\n                return False\n",
        '            if seen.status != "ASSIGNED":\n                return False\n',
        "S2: a task ends the tenure of somebody else for its own dead driver",
    ),
)
