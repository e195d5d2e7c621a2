"""Mutants of starting tenures."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested

_ACQUISITION = "leases.acquisition"

MUTANTS = (
    Mutant(
        "one nonce for all acquisitions",
        _ACQUISITION,
        "            op=self._randomness.op_id(),\n",
        '            op=self.__dict__.setdefault("_op", self._randomness.op_id()),\n',
        "S1: a nonce is given twice",
    ),
    Mutant(
        "same nonce after a lost answer",
        _ACQUISITION,
        "        write = self.following(key)\n        sent_at",
        '        write = self.__dict__.setdefault("_again", self.following(key))\n        sent_at',
        "S1: an acquisition by query is repeated under its nonce",
    ),
    Mutant(
        "somebody's lease taken for one's own",
        _ACQUISITION,
        "mine = now is not None and now.held_under(Fence(now.token, nonce)) and now.last_op == nonce",
        'mine = now is not None and now.status == "ASSIGNED"',
        "S1: a refused acquisition is taken for success when anybody holds the partition",
    ),
    Mutant(
        "retaken from a tenure not one's own",
        _ACQUISITION,
        "if seen is not None and seen.held_under(fence) else None",
        "if seen is not None else None",
        "S2: a driver whose tenure has ended takes over from its successor",
        Tested(
            "tests/conformance/test_in_memory.py::TestInMemory::"
            "test_s2_a_driver_whose_tenure_is_over_takes_nothing_from_its_successor"
        ),
    ),
)
