"""Mutants of what duties are told: the configuration, properties, and which versions of documents go."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested

_CONFIGURING, _GROUPS = "duties.configuring", "planning.duties.groups"


def _configuring(test: str) -> Tested:
    return Tested(f"tests/unit/duties/test_configuring.py::{test}")


def _groups(test: str) -> Tested:
    return Tested(f"tests/unit/planning/duties/test_groups.py::{test}")


def _metadata(test: str) -> Tested:
    return Tested(f"tests/unit/duties/groups/test_metadata.py::{test}")


_SECOND = _configuring("test_of_two_who_change_one_key_the_second_is_told_what_was_set_by_whom_and_why")
_EACH = _groups("test_every_duty_that_is_on_is_in_one_group_and_in_its_order")

MUTANTS = (
    Mutant(
        "who changes a key writes over another",
        _CONFIGURING,
        "        raise ConfigurationChangedError(tuple(told), newest.version)",
        "        return",
        "of two people who change one key, the first is not told, and has changed nothing",
        _SECOND,
    ),
    Mutant(
        "any other change is in the way",
        _CONFIGURING,
        "if each.key in wanted}",
        "}",
        "two people who change different keys stop each other",
        _configuring("test_changes_of_different_keys_both_count"),
    ),
    Mutant(
        "a default is written down",
        _CONFIGURING,
        "for key in KEYS if said.get(key) is not None}",
        "for key in KEYS}",
        "a default of newer code counts nowhere",
        _configuring("test_the_document_holds_what_was_said_and_no_default"),
    ),
    Mutant(
        "a duty of two groups runs in both",
        _GROUPS,
        "kept = tuple(each for each in group.duties if each not in taken)",
        "kept = group.duties",
        "two leaders do the same work",
        _EACH,
    ),
    Mutant(
        "a duty stays in its built-in group",
        _GROUPS,
        "duties=tuple(each for each in group.duties if each not in theirs)",
        "duties=group.duties",
        "compaction in a group of its own runs twice",
        _EACH,
    ),
    Mutant(
        "a group switches deleting on",
        _GROUPS,
        "runs = tuple(duty for duty in listed if duty not in off)",
        "runs = listed",
        "what nobody has switched on deletes",
        _groups("test_a_group_with_a_duty_that_is_off_says_so"),
    ),
    Mutant(
        "a version goes by its own age",
        "stores.in_memory_source",
        "            self.documents[name] = [each for each in versions if each.version >= at]",
        "            self.documents[name] = [each for each in versions if each.at > before or each is versions[-1]]",
        "what was in force until yesterday is gone",
        _metadata("test_what_has_counted_within_the_time_that_is_kept_stays"),
    ),
    Mutant(
        "versions go that somebody may still ask for",
        "duties.groups.metadata",
        "    if before > round.now - LEAST_KEPT:",
        "    if False:",
        "a lost answer is asked for again, and the change made twice",
        _metadata("test_arguments_that_cannot_be_are_named"),
    ),
)
