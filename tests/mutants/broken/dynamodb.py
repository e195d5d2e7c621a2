"""Mutants of the DynamoDB store: how it says the operation table, the service's clock, and what its errors mean.

Left out, because nothing can tell them from the code as it is:

* that a takeover looks at the nonce as seen: the token and the last operation are of the same tenure;
* that a reopening looks at the time, or at where the partition stands: neither changes without the other.
"""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Simulated, Tested

_CHANGES = "stores.dynamodb.changes"
_WORDS = "stores.dynamodb.expressions"
_REQUESTS = "stores.dynamodb.requests"
_CLOCK = "stores.dynamodb.requests"
_DOCUMENTS = "stores.dynamodb.beside.documents"
_STEPS = "stores.dynamodb.steps"
_TOMBSTONES = "stores.dynamodb.beside.tombstones"
_OLD_ENDINGS = "stores.dynamodb.partitions"
_SIMULATED = Simulated("dynamodb", operations=30_000)


def _kit(test: str) -> Tested:
    return Tested(f"tests/simulation/dynamodb/test_conformance.py::TestSimulatedEngine::{test}")


def _remembering(test: str) -> Tested:
    return Tested(f"tests/simulation/dynamodb/test_conformance.py::TestWithHistory::{test}")


def _tombstone(test: str) -> Tested:
    return Tested(f"tests/integration/dynamodb/test_tombstones.py::{test}")


def _old(test: str, case: str = "") -> Tested:
    return Tested(f"tests/integration/dynamodb/test_old_endings.py::{test}[moto{case}]")


MUTANTS = (
    Mutant(
        "DynamoDB: document over one that nobody saw",
        _DOCUMENTS,
        "put(newest, as_seen)",
        "put(newest, Attr(KEY).exists() | as_seen)",
        "a version is missing, and the newest one is not the one that was seen",
        _kit("test_who_has_not_seen_the_newest_version_writes_nothing[4]"),
    ),
    Mutant(
        "DynamoDB: a tombstone goes that branches need",
        _STEPS,
        "        change = changes.replace(seen, after, at, remembered=remembered)\n",
        "        change = changes.replace(seen, after, at)\n",
        "S22: what is created again publishes below what a branch shows",
        _tombstone("test_s22_what_is_created_again_long_after_it_was_deleted_shows[simulated-published]"),
    ),
    Mutant(
        "DynamoDB: tombstones stay because of others",
        _TOMBSTONES,
        '_BRANCHES: Final = ("~0", "~:")',
        '_BRANCHES: Final = ("", "~:")',
        "tombstones of partitions that were in no branch stay for ever",
        _tombstone("test_what_was_in_no_branch_is_forgotten_in_a_week[simulated]"),
    ),
    Mutant(
        "DynamoDB: completed partitions go where branches are",
        _TOMBSTONES,
        "    if options.ttl is not None and facts.branches_enabled:\n",
        "    if False:\n",
        "S22: what is created again publishes below what a branch shows",
        _tombstone("test_completed_partitions_may_not_go_by_themselves_where_branches_are[simulated]"),
    ),
    Mutant(
        "DynamoDB: a version is written over",
        _DOCUMENTS,
        "[put(version, Attr(KEY).not_exists()), put(newest, as_seen)]",
        "[put(version, Attr(KEY).not_exists() | Attr(KEY).exists()), put(newest, number.lte(write.version) | as_seen)]",
        "S22: two branches begin by one number, and one of them is forgotten",
        _kit("test_a_late_message_of_who_was_refused_writes_nothing"),
    ),
    Mutant(
        "DynamoDB: own document not recognised",
        _DOCUMENTS,
        "refused is None or _is_mine(refused, write)",
        "refused is None",
        "S6: who has written a document is told that somebody else has",
        _kit("test_a_repetition_finds_that_it_was_written_and_writes_nothing"),
    ),
    Mutant(
        "DynamoDB: reset into a branch unseen",
        "stores.dynamodb.steps",
        "            others.append(it.member(after))\n        if after.cleaned_up",
        "            pass\n        if after.cleaned_up",
        "S22: a branch counts fewer partitions than it has, and is never published",
        _kit("test_a_reset_takes_it_into_another_one_or_the_same_again"),
    ),
    Mutant(
        "DynamoDB: moved into a branch unseen",
        "stores.dynamodb.steps",
        "    if after.branch is not None:\n        others.append(it.member(after))\n    check_together",
        "    check_together",
        "S22: a branch that was moved counts fewer partitions than it has",
        _kit("test_its_branch_goes_along_to_another_store"),
    ),
    Mutant(
        "DynamoDB: created in a branch unseen",
        "stores.dynamodb.creating",
        '            return table.transact(call, [{"Put": own}, *_member(after)])',
        '            return table.transact(call, [{"Put": own}])',
        "S22: a branch counts fewer partitions than it has, and is never published",
        _kit("test_many_are_counted_and_listed_whole"),
    ),
    Mutant(
        "DynamoDB: child created in a branch unseen",
        "stores.dynamodb.creating",
        "[*on_parents, *edges, *_member(after)]",
        "[*on_parents, *edges]",
        "S22: a branch counts fewer partitions than it has, and is never published",
        _kit("test_what_is_new_is_created_in_a_branch"),
    ),
    Mutant(
        "DynamoDB: once in a branch, always in it",
        "stores.dynamodb.index_reads",
        "    return partition.branch == branch and not partition.deleted",
        "    return not partition.deleted",
        "S22: a branch waits for what runs in another one",
        _kit("test_a_reset_takes_it_into_another_one_or_the_same_again"),
    ),
    Mutant(
        "DynamoDB: long names of a branch in one",
        "stores.dynamodb.keys",
        'encoded[: MAX_DATASET_BYTES - len(hashed)].decode(errors="ignore") + hashed',
        'encoded[:MAX_DATASET_BYTES].decode(errors="ignore")',
        "S12: what a branch publishes to one dataset replaces what it publishes to another",
        _kit("test_names_are_as_long_in_a_branch_as_elsewhere[dataset]"),
    ),
    Mutant(
        "DynamoDB: retracted whatever is named",
        "stores.dynamodb.side_items",
        "    if record.datasets is None:\n        found",
        "    if True:\n        found",
        "S12: what a branch hides is emptied together with what shows",
        _kit("test_a_retract_empties_what_it_names[a branch]"),
    ),
    Mutant(
        "DynamoDB: judged by the judge's own limit",
        _WORDS,
        "        return Attr(count.name).lt(Attr(limit.name)) | by_own\n",
        "        return Attr(count.name).lt(own - 1)\n",
        "E11: an acquirer takes over what a worker's limit leaves to the sweep",
        _kit("test_e11_the_leases_limit_is_in_force_not_the_judges"),
    ),
    Mutant(
        "DynamoDB: acquired before it is due",
        _WORDS,
        "due = Attr(it.AVAILABLE).not_exists() | self.at_most(partition.available_at, now)",
        "due = Attr(it.AVAILABLE).not_exists() | Attr(it.AVAILABLE).exists()",
        "S8: a failed partition is acquired before availableAt",
        _SIMULATED,
    ),
    Mutant(
        "DynamoDB: closed one acquired before its time",
        _WORDS,
        "closed = self.same(_STATUS, PartitionStatus.CLOSED) & self.at_most(partition.reopen_at, now)",
        "closed = self.same(_STATUS, PartitionStatus.CLOSED)",
        "S8: a closed partition is acquired before reOpenAt, a parked one without anybody's doing",
        _SIMULATED,
    ),
    Mutant(
        "DynamoDB: tombstone acquired",
        _WORDS,
        "self.same(_STATUS, PartitionStatus.UNASSIGNED) & Attr(it.DELETED).not_exists() & due",
        "self.same(_STATUS, PartitionStatus.UNASSIGNED) & due",
        "S1: what was deleted is acquired",
        _kit("test_delete_leaves_a_tombstone_that_nothing_finds"),
    ),
    Mutant(
        "DynamoDB: not due at the moment itself",
        _WORDS,
        "return Attr(one.name).lte(_encoded(one, other))",
        "return Attr(one.name).lt(_encoded(one, other))",
        "S9: what expires now is not in line, although the search has found it",
        _kit("test_s8_not_before_reopening_and_then_without_a_sweep"),
    ),
    Mutant(
        "DynamoDB: any condition of all",
        _WORDS,
        "return reduce(and_, open_ones) if open_ones else True",
        "return reduce(or_, open_ones) if open_ones else True",
        "S2: every write is applied to whatever is held",
        _kit("test_s2_a_write_under_an_old_fence_is_refused_and_changes_nothing"),
    ),
    Mutant(
        "DynamoDB: ending in the slot beside",
        _WORDS,
        "return it.RING[token % RING_SIZE]",
        "return it.RING[(token + 1) % RING_SIZE]",
        "S6: the ending is not found where it is looked for",
        _SIMULATED,
    ),
    Mutant(
        "DynamoDB: ending where none was",
        _WORDS,
        "return {slot(partition.token): ring_entry(ending)} if when else {}",
        "return {slot(partition.token): ring_entry(ending)}",
        "S6: an acquisition of what is free overwrites the ending of the tenure before",
        _kit("test_the_ring_remembers_the_last_eight_tenures"),
    ),
    Mutant(
        "DynamoDB: renewed tenures count as phantoms",
        _WORDS,
        "return condition.flag if isinstance(condition, Unset) and (then, otherwise) == (0, 1) else UNKNOWN",
        "return 0",
        "L5: work that kills its process before it saves is never parked",
        _kit("test_a_take_over_counts_like_a_sweep"),
    ),
    Mutant(
        "DynamoDB: renewal shortens",
        _CHANGES,
        "condition = RENEW.condition(_WORDS, _ANY, write, at.past) & longer",
        "condition = RENEW.condition(_WORDS, _ANY, write, at.past)",
        "S2: a late copy of a renewal ends the lease before its owner believes",
        _kit("test_a_renewal_never_shortens"),
    ),
    Mutant(
        "DynamoDB: save shortens",
        _CHANGES,
        '        condition &= Attr(it.TIMEOUT).lte(instant(changes["ownership_timeout"]))\n',
        "        pass\n",
        "S2: a save with a shorter timeout ends the lease before its owner believes",
        _kit("test_saving_never_shortens"),
    ),
    Mutant(
        "DynamoDB: taken over whatever was written since",
        _CHANGES,
        "before, changes, seen.source, at.now) | {it.EXPIRATION: None}, _as_it_runs(seen) & due)",
        "before, changes, seen.source, at.now) | {it.EXPIRATION: None}, due)",
        "S1: what was seen long ago gives a token twice",
        Tested("tests/mutants/test_unseen.py::test_s1_a_takeover_by_what_was_seen_long_ago_gives_no_token_twice"),
    ),
    Mutant(
        "DynamoDB: endings leave the item though nobody has put them aside",
        _OLD_ENDINGS,
        "        if not self._put_aside(item, token, endings):\n            return\n",
        "        self._put_aside(item, token, {})\n",
        "S6: an owner never learns what became of its ending",
        _old("test_they_move_with_the_third_renewal_and_are_found"),
    ),
    Mutant(
        "DynamoDB: endings put aside whoever has done so since",
        _OLD_ENDINGS,
        "newer = Attr(_UP_TO).not_exists() | Attr(_UP_TO).lt(token)",
        "newer = Attr(_UP_TO).not_exists() | Attr(_UP_TO).exists()",
        "S6: a late request brings endings back in the place of newer ones",
        _old("test_a_request_that_comes_tenures_later_changes_nothing", "-9-4"),
    ),
    Mutant(
        "DynamoDB: endings leave the item whoever holds it",
        _OLD_ENDINGS,
        "gone, under(fence))",
        "gone, Attr(it.KEY).exists())",
        "S6: a late request takes the endings of later tenures away",
        _old("test_a_request_that_comes_tenures_later_changes_nothing", "-1-5"),
    ),
    Mutant(
        "DynamoDB: what lies beside counts more than the item",
        _OLD_ENDINGS,
        "return {**{name: aside[name] for name in it.RING if name in aside}, **item}",
        "return {**item, **{name: aside[name] for name in it.RING if name in aside}}",
        "S6: endings of before hide newer ones",
        _old("test_they_move_again_and_the_newest_eight_stay"),
    ),
    Mutant(
        "DynamoDB: endings are looked for before the large texts",
        "stores.dynamodb.partitions",
        "self.old_endings.recalled(call, self._with_texts(call, item))",
        "self._with_texts(call, self.old_endings.recalled(call, item))",
        "S6: an owner never learns what became of its ending, while the next one saves",
        Tested("tests/simulation/dynamodb/test_looks.py::test_all_endings_are_found_while_the_owner_saves"),
    ),
    Mutant(
        "DynamoDB: what is corrupt of an owner's work is met by all who look",
        "stores.dynamodb.partitions",
        "if name != it.STAGED})",
        "if name})",
        "X2: one corrupt item stops the sweeps of its source",
        Tested("tests/simulation/dynamodb/test_looks.py::test_what_is_corrupt_in_an_expired_lease_stops_nobody_else"),
    ),
    Mutant(
        "DynamoDB: endings move however short the lease is",
        _OLD_ENDINGS,
        "in_time = timeout >= SHORTEST_LEASE and now - before <= timeout / 2",
        "in_time = True",
        "L7: a lease that was renewed is taken for lost",
        Tested(
            "tests/simulation/dynamodb/test_looks.py::"
            "test_nothing_moves_where_the_lease_could_end_meanwhile[301-600-False]"
        ),
    ),
    Mutant(
        "DynamoDB: a child in the place of a tombstone forgets what lies beside",
        "stores.dynamodb.creating",
        "            if existing is not None and steps.is_new(existing, write.op):  # a tombstone",
        "            if False:  # a tombstone",
        "S6: an owner of before never learns what became of its ending",
        _old("test_a_tombstone_gives_its_endings_to_who_is_made_in_its_place", "-parents1"),
    ),
    Mutant(
        "DynamoDB: people act on whatever was written since",
        _CHANGES,
        "    return Change(sets, unchanged)\n",
        "    return Change(sets, Attr(it.SOURCE).exists())\n",
        "S5: a person undoes what was written after the look",
        Tested("tests/mutants/test_unseen.py::test_s5_an_action_undoes_nothing_that_was_written_after_its_look"),
    ),
    Mutant(
        "DynamoDB: retry in its old place",
        _CHANGES,
        "rank is Rank.NEW and due <= now\n",
        "rank is Rank.NEW\n",
        "S8: what waits for a retry is listed as what can be acquired",
        _kit("test_e17_hints_are_of_what_is_due"),
    ),
    Mutant(
        "DynamoDB: completed one still in the index",
        _CHANGES,
        "        return {it.COMBINATION: None}\n",
        "        return {}\n",
        "what is completed counts as held, and is looked at by every sweep",
        _kit("test_the_outlook_says_what_can_still_happen"),
    ),
    Mutant(
        "DynamoDB: what was given back is as old as when it was new",
        "stores.dynamodb.index_reads",
        "or (is_new and row.seen.token):",
        "or False:",
        "an alert on the age of the oldest is raised by a retry",
        _kit("test_the_outlook_says_for_how_long_the_oldest_could_have_been_acquired"),
    ),
    Mutant(
        "DynamoDB: try not stored",
        _CHANGES,
        '        sets[it.TRY] = Owner(changes["owner"]).try_number if changes["owner"] else None\n',
        "        pass\n",
        "S2: no later try can adopt",
        _kit("test_a_later_try_adopts_without_touching_the_chain"),
    ),
    Mutant(
        "DynamoDB: created over what exists",
        "stores.dynamodb.creating",
        "        condition = Attr(it.SOURCE).not_exists()\n        if existing",
        "        condition = Attr(it.SOURCE).not_exists() | Attr(it.SOURCE).exists()\n        if existing",
        "S3, S10: an unconditional put resets what is there",
        _SIMULATED,
    ),
    Mutant(
        "DynamoDB: whatever stands in a tombstone's place overwritten",
        "stores.dynamodb.creating",
        "            condition = Attr(it.DELETED).exists() & same\n",
        "            condition = Attr(it.SOURCE).exists()\n",
        "S3, S10: a creation that comes late resets a partition that lives again",
        Tested(
            "tests/mutants/test_unseen.py::test_s3_a_creation_in_a_tombstones_place_does_not_reset_what_lives_again"
        ),
    ),
    Mutant(
        "DynamoDB: conflict taken for a refusal",
        _REQUESTS,
        '        if reason.get("Code") == "ConditionalCheckFailed":\n',
        '        if reason.get("Code") in ("ConditionalCheckFailed", "TransactionConflict"):\n',
        "S6: a transaction that only has to be repeated is taken for refused",
        Tested("tests/unit/stores/test_dynamodb_answers.py::test_s6_a_conflict_is_no_refusal"),
    ),
    Mutant(
        "DynamoDB: error of the service taken for not applied",
        _REQUESTS,
        '        if status >= 500 or code == "TransactionInProgressException":\n            return call.lost(where)\n',
        '        if status >= 500 or code == "TransactionInProgressException":\n'
        "            return call.unavailable(where)\n",
        "S6: after an internal error a write may have been applied all the same",
        _SIMULATED,
    ),
    Mutant(
        "DynamoDB: silence taken for not applied",
        _REQUESTS,
        "return call.unavailable(where) if isinstance(error, _NOT_SENT) else call.lost(where)",
        "return call.unavailable(where)",
        "S6: a write whose answer was lost is taken for one that was not applied",
        _SIMULATED,
    ),
    Mutant(
        "DynamoDB: the worker's clock",
        _CLOCK,
        '        if self._heard is None:\n            raise StoreUnavailableError("learn the service\'s time",'
        ' "no answer has said it yet")\n        date, at = self._heard\n'
        "        return date + timedelta(seconds=self._local.monotonic() - at)\n",
        "        return self._local.now()\n",
        "S8: leases end when the clock of any worker says so",
        _SIMULATED,
    ),
    Mutant(
        "DynamoDB: no margin",
        _CLOCK,
        "return self.now() if self.injected is not None else self.now() - MARGIN",
        "return self.now()",
        "S8: a lease is taken although another front end of the service says that it lasts",
        Tested("tests/unit/stores/test_service_clock.py::test_it_goes_on_between_answers"),
    ),
    Mutant(
        "DynamoDB: a refused ending is remembered",
        "stores.dynamodb.steps",
        "        if refusal is not None:\n            refused = self._partitions.refused(call, refusal)\n",
        "        if refusal is not None:\n            self._partitions.history.ended_by_owner(write, change.sets)\n"
        "            refused = self._partitions.refused(call, refusal)\n",
        "X11: the history tells of an ending that did not count",
        _remembering("test_x11_an_ending_that_has_missed_a_write_is_none"),
    ),
    Mutant(
        "DynamoDB: the oldest of the history first",
        "stores.dynamodb.keys",
        "10**_DIGITS - 1 - number",
        "number",
        "X11: of a long history the beginning is shown, and the end left out",
        _remembering("test_x11_the_newest_come_first"),
    ),
    Mutant(
        "DynamoDB: a row that cannot be written takes the answer with it",
        "stores.dynamodb.history",
        "except CoordinationError as error:  # the ending counts",
        "except KeyError as error:  # the ending counts",
        "an ending that was applied is reported as one that may not have been",
        Tested("tests/integration/dynamodb/test_history.py::test_a_row_that_cannot_be_written_changes_no_answer"),
    ),
)
