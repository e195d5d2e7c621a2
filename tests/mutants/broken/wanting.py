"""Mutants of asking for another worker's lease, handing it over and stealing it: promise S28, and who hears of what."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant, Tested

_BALANCE: Final = "spark.balance"

_KITS: Final = {
    "": "tests/conformance/test_in_memory.py::TestInMemory",
    "SQL: ": "tests/conformance/test_sqlite.py::TestSqlite",
    "DynamoDB: ": "tests/simulation/dynamodb/test_conformance.py::TestSimulatedEngine",
}


def _kit(store: str, test: str) -> Tested:
    return Tested(f"{_KITS[store]}::test_{test}")


def _unit(test: str) -> Tested:
    return Tested(f"tests/unit/leases/test_wanting.py::test_{test}")


def _balance(test: str) -> Tested:
    return Tested(f"tests/unit/spark/test_balance.py::test_{test}")


_HEARS: Final = "the_owner_hears_of_it_with_its_next_renewal"

MUTANTS = (
    Mutant(
        "DynamoDB: a pause does not hold back who steals",
        "stores.dynamodb.store",
        "        if self.holds_back(write.source):\n            return Answer(",
        "        if not isinstance(write, Steal) and self.holds_back(write.source):\n            return Answer(",
        "X12: a source is paused, and a tenure begins",
        _kit("DynamoDB: ", "x12_nothing_is_stolen_while_the_source_is_paused"),
    ),
    Mutant(
        "a renewal in memory does not say who wants it",
        "stores.in_memory",
        "return Answer(True, after, after.ownership_timeout, after.wanted, released)",
        "return Answer(True, after, after.ownership_timeout, None, released)",
        "the owner never hears that it is to hand over",
        _kit("", _HEARS),
    ),
    Mutant(
        "SQL: a renewal does not say who wants it",
        "stores.sql.statements.writes",
        "CASE WHEN {ROW.wanted_token} = {ROW.token} THEN {ROW.wanted_by} END",
        "CASE WHEN {ROW.wanted_token} = {ROW.token} THEN NULL END",
        "the owner never hears that it is to hand over",
        _kit("SQL: ", _HEARS),
    ),
    Mutant(
        "SQL: a renewal says who wanted it of the one before",
        "stores.sql.statements.writes",
        "CASE WHEN {ROW.wanted_token} = {ROW.token} THEN {ROW.wanted_by} END",
        "{ROW.wanted_by}",
        "what was handed over once is handed over for ever",
        _kit("SQL: ", "a_mark_says_nothing_of_the_next_tenure"),
    ),
    Mutant(
        "DynamoDB: a renewal does not say who wants it",
        "stores.dynamodb.steps",
        "return Answer(True, expires_at=at.now + write.timeout, wanted_by=it.decode(found).wanted)",
        "return Answer(True, expires_at=at.now + write.timeout)",
        "the owner never hears that it is to hand over",
        _kit("DynamoDB: ", _HEARS),
    ),
    Mutant(
        "DynamoDB: a renewal that prolongs nothing does not say who wants it",
        "stores.dynamodb.steps",
        "return Answer(True, expires_at=now.ownership_timeout, wanted_by=now.wanted)",
        "return Answer(True, expires_at=now.ownership_timeout)",
        "the owner hears late that it is to hand over",
        _kit("DynamoDB: ", "the_owner_hears_of_it_with_a_renewal_that_prolongs_nothing"),
    ),
    Mutant(
        "handed over, and recorded as given up",
        "leases.outcomes",
        "outcome = Outcome.HANDED_OVER if self.wanted else Outcome.GIVEN_UP",
        "outcome = Outcome.GIVEN_UP",
        "people: nobody sees why leases move",
        _unit("the_owner_hears_of_it_and_hands_over"),
    ),
    Mutant(
        "own question not recognised",
        "leases.workers",
        "        if answer.applied:\n            return True\n",
        "        return answer.applied\n",
        "S6: a lost answer to a question is taken for no",
        _unit("s6_a_question_whose_answer_was_lost_is_asked_again"),
    ),
    Mutant(
        "another one's question taken for one's own",
        "leases.workers",
        " and now.wanted == self._core.owner.text\n",
        "\n",
        "who asks in vain waits for what another one gets",
        _unit("while_one_may_still_get_it_another_is_told_no"),
    ),
    Mutant(
        "balance asks at its first look",
        _BALANCE,
        "        if ticks and self._ticks > 1 and take == self.free:",
        "        if ticks and take == self.free:",
        "workers that start together ask each other for what they have just taken",
        _balance("who_comes_late_asks_for_four_at_a_time"),
    ),
    Mutant(
        "balance asks again for what was asked for in vain",
        _BALANCE,
        "            known |= {tenure for tenure, times in self._in_vain.items() if times >= ASKS}\n",
        "",
        "an owner that does not hand over is asked for ever",
        _balance("who_may_not_steal_asks_for_each_tenure_three_times"),
    ),
    Mutant(
        "balance asks once for what may not be stolen",
        _BALANCE,
        "self._in_vain[seen.key, seen.fence] < ASKS",
        "self._in_vain[seen.key, seen.fence] < 1",
        "an owner that is slower than its time hands over to nobody",
        _balance("who_may_not_steal_gets_what_is_handed_over_late"),
    ),
    Mutant(
        "balance takes at the deadline what it does not need any more",
        _BALANCE,
        "            if now < until or not self._need:\n",
        "            if now < until:\n",
        "Z1: twelve each become twenty and four, and eight healthy tenures are cancelled",
        _balance("z1_a_look_that_fails_takes_nothing"),
    ),
    Mutant(
        "balance keeps questions that it does not need any more",
        _BALANCE,
        "        self._take_back()\n",
        "",
        "Z1: a worker with its share waits for leases of others",
        _balance("z1_who_has_its_share_meanwhile_takes_nothing_it_had_asked_for"),
    ),
    Mutant(
        "a mark is heeded whoever is left",
        _BALANCE,
        "if key not in keys and len(keys) < self._short.get(asker, 0):",
        "if key not in keys:",
        "Z2: leases are handed over to nobody",
        _balance("z2_a_mark_is_heeded_only_while_its_maker_lives_and_is_short"),
    ),
    Mutant(
        "expired leases count as held in the shares",
        "spark.balance",
        "            alive = one.ownership_timeout is not None and one.ownership_timeout > now\n",
        "            alive = True\n",
        "a stuck worker looks as if it had its share",
        Tested("tests/unit/spark/test_fleet.py::test_small_x9_an_expired_lease_is_held_by_nobody"),
    ),
)
