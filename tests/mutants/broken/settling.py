"""Mutants of settling: what is concluded when an answer was lost."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested

_SETTLE = "leases.confirm"


def _settling(test: str) -> Tested:
    return Tested(f"tests/unit/leases/test_settling.py::{test}")


def _over_calls(test: str) -> Tested:
    return Tested(f"tests/unit/leases/test_settling_over_calls.py::{test}")


MUTANTS = (
    Mutant(
        "unknown ending taken for success",
        _SETTLE,
        "return Fate.APPLIED if write.op in (ending.op, ending.last) else Fate.REFUSED",
        "return Fate.APPLIED",
        "S2, S6: a tenure that somebody else has ended is reported as ended by this write",
    ),
    Mutant(
        "applied ending taken for a refusal",
        _SETTLE,
        "return Fate.APPLIED if write.op in (ending.op, ending.last) else Fate.REFUSED",
        "return Fate.REFUSED",
        "S6: an ending whose answer was lost is reported as refused although it was applied",
    ),
    Mutant(
        "the ring's last is not asked",
        _SETTLE,
        "write.op in (ending.op, ending.last)",
        "write.op == ending.op",
        "S6: a save that was applied before the tenure ended is reported as refused",
        _settling("test_s6_a_save_applied_before_the_lease_was_lost_is_reported_as_applied"),
    ),
    Mutant(
        "applied write taken for overtaken",
        _SETTLE,
        "        if now.last_op == write.op:\n            return Fate.APPLIED\n",
        "",
        "S6: a repeated write that finds itself applied reports that somebody else writes",
    ),
    Mutant(
        "overtaken taken for success",
        _SETTLE,
        "return Fate.REPEAT if now.last_op == write.prev else Fate.REFUSED",
        "return Fate.REPEAT if now.last_op == write.prev else Fate.APPLIED",
        "S2: a second driver goes on under a fence under which another one writes",
    ),
    Mutant(
        "forgotten tenure taken for success",
        _SETTLE,
        "        if not any(head.op == write.op for head in heads):\n",
        "        if False:\n",
        "S6: a write is reported as applied where the store remembers nothing of it",
        _over_calls("test_s6_beyond_the_ring_an_unknown_ending_stays_unknown"),
    ),
    Mutant(
        "doubt forgotten",
        _SETTLE,
        "self.doubtful = self.doubtful or isinstance(error, OutcomeUnknownError)",
        "self.doubtful = False",
        "S6: a write that may have been applied is reported as surely not applied",
    ),
    Mutant(
        "doubt only about the newest attempt",
        _SETTLE,
        "self.doubtful = self.doubtful or isinstance(error, OutcomeUnknownError)",
        "self.doubtful = isinstance(error, OutcomeUnknownError)",
        "S6: a lost answer is forgotten when the next attempt does not reach the store",
        _over_calls("test_s6_an_unknown_completion_is_not_forgotten_while_the_store_stays_away"),
    ),
    Mutant(
        "doubt forgotten when the store cannot",
        _SETTLE,
        "                if self.doubtful:\n"
        "                    raise OutcomeUnknownError(self._action, str(error)) from error\n",
        "",
        "S6: an answer 'cannot' to a repetition is taken for the fate of the first attempt",
        Tested(
            "tests/unit/leases/test_settling_over_calls.py::"
            "test_s6_an_answer_cannot_to_a_repetition_says_nothing_of_the_first_attempt"
        ),
    ),
    Mutant(
        "last operation not moved on",
        _SETTLE,
        "            chain.last_op = write.op\n",
        "            chain.last_op = write.op if answer.applied else chain.last_op\n",
        "L1: after a lost answer the owner's own chain refuses it for ever",
    ),
    Mutant(
        "unsettled write forgotten",
        _SETTLE,
        "        chain.unsettled = write\n",
        "",
        "S6: a write whose outcome is unknown is not settled before the next",
    ),
    Mutant(
        "any lost answer taken for not applied",
        _SETTLE,
        "        except (StoreUnavailableError, PartitionUpdateError):\n            chain.unsettled = None",
        "        except (StoreUnavailableError, PartitionUpdateError, OutcomeUnknownError):\n"
        "            chain.unsettled = None",
        "S6: a write whose outcome is unknown is taken for one that was not applied",
    ),
)
