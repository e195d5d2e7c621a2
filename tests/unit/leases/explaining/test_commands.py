"""A4: whatever is to be explained, the command that is printed can be typed, with and without Airflow."""

from functools import cache

import pytest
from airflow.cli import cli_parser
from hypothesis import example, given
from hypothesis import strategies as st

from airflow_coordination.leases import Outcome, Partition, PartitionStatus, Reason
from airflow_coordination.leases.explaining.facts import PersonsAct, Place, SourceFacts
from airflow_coordination.leases.explaining.reasons import explain
from airflow_coordination.protocol.pause import NEVER_PAUSED, Pause
from airflow_coordination.testing.conformance.creation import HOSTILE_KEYS
from tests.unit.leases.explaining.values import HOUR, NOW, head, ring
from tests.unit.typed import understood, words

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=20)
keys = texts | st.sampled_from(HOSTILE_KEYS) | st.sampled_from(["-k", "--source", "it's", "x\n'\\'"])
names = texts | st.sampled_from(["-s", "--source", "a|b"])
moments = st.none() | st.sampled_from([NOW - HOUR, NOW, NOW + HOUR])
numbers = st.integers(0, 9)
errors = st.none() | st.text()
acts = st.builds(PersonsAct, st.sampled_from(["park", "delete", "reopen"]), st.text(), st.text(), moments)
partitions = st.builds(
    Partition,
    source=st.just("flights|PARTITION"),
    key=st.just("k"),
    status=st.sampled_from(PartitionStatus),
    closed_count=numbers,
    failures=numbers,
    lost_leases=numbers,
    last_error=errors,
    reopen_at=moments,
    available_at=moments,
    owner=st.none() | texts | st.just("h/d/r/t/-1/1"),
    ownership_timeout=moments,
    updated_at=moments,
    nonce=st.sampled_from(["", "n"]),
    last_op=st.sampled_from(["", "n"]),
    confirmed=st.booleans(),
    deleted=st.booleans(),
    max_lost_leases=st.none() | numbers,
    ring=st.just((None,) * 8) | st.sampled_from([each for each in Outcome if each is not Outcome.OVERTAKEN]).map(ring),
)
pauses = st.builds(Pause, st.booleans(), st.text(), st.text(), moments, st.just("op"))
known = st.builds(
    SourceFacts,
    key=keys,
    source=names,
    max_failures=numbers,
    max_lost_leases=numbers,
    prefix=st.none() | names,
    place=st.none() | st.builds(Place, numbers, st.booleans()),
    heads=st.sampled_from([(), (head("d", 1),), (head("d", 0, blocks=False),)]),
    act=st.none() | acts,
    nearest=st.lists(keys, max_size=6).map(tuple),
    pause=st.just(NEVER_PAUSED) | pauses,
)


@cache
def _airflows():
    return cli_parser.get_parser()


def _understood(command, *, airflow=False):
    """Return what the command line makes of a command that was typed, as name, source, prefix and keys."""
    program, group, *typed = words(command)
    assert (program, group) == ("airflow", "coordination")
    args = _airflows().parse_args([group, *typed]) if airflow else understood(command)
    found = getattr(args, "key", [])
    return typed[0], args.source, args.partition_prefix, found if isinstance(found, list) else [found]


def _expected(said, facts):
    name = words(said.command)[2]
    about = {"status": [], "list": [], "resume": []}.get(name, [facts.key])
    return name, facts.source, facts.prefix, about


@given(st.none() | partitions, known)
@example(None, SourceFacts(key="k", source="s", max_failures=1, max_lost_leases=1))
def test_a4_any_partition_has_one_explanation_and_a_command_that_can_be_typed(partition, facts):
    said = explain(partition, facts, NOW)
    assert (said.key, said.reason in Reason) == (facts.key, True)
    assert (said.reason is Reason.ABSENT) is (partition is None)
    assert said.sentence.isprintable()
    assert said.sentence.endswith((".", "!", "?", "…"))
    assert said.next is None or said.next.isprintable()
    assert said.next or said.command or said.reason is Reason.DONE
    if said.command is None:
        return
    assert said.command.isprintable()
    understood = _understood(said.command)
    if partition is None and facts.nearest:
        assert understood[:3] == ("explain", facts.source, facts.prefix)
        assert understood[3][0] in facts.nearest
    else:
        assert understood == _expected(said, facts)


@pytest.mark.parametrize("key", HOSTILE_KEYS, ids=lambda key: ascii(key)[:40])
def test_x5_a_hostile_key_is_said_harmlessly_and_typed_exactly(key):
    facts = SourceFacts(key=key, source="flights", max_failures=5, max_lost_leases=5, nearest=(key,))
    parked = explain(Partition(source="s", key=key, status=PartitionStatus.CLOSED), facts, NOW)
    absent = explain(None, facts, NOW)
    for said, name in ((parked, "reopen"), (absent, "explain")):
        assert (said.sentence + said.command).isprintable()
        assert len(said.sentence) < 400
        assert _understood(said.command) == (name, "flights", None, [key])


COMMANDS = {
    "reopen": Partition(source="s", key="k", status=PartitionStatus.CLOSED),
    "release": Partition(source="s", key="k", status=PartitionStatus.ASSIGNED),
    "status": Partition(source="s", key="k", status=PartitionStatus.UNASSIGNED),
    "list": None,
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a4_airflow_s_own_command_line_understands_each_of_them(name):
    facts = SourceFacts(key="-2013\n", source="-my flights", max_failures=5, max_lost_leases=5, prefix="-east|1")
    said = explain(COMMANDS[name], facts, NOW)
    assert words(said.command)[2] == name
    assert _understood(said.command, airflow=True) == _understood(said.command) == _expected(said, facts)


def test_a4_airflow_s_own_command_line_understands_the_way_to_the_nearest_key():
    facts = SourceFacts(key="k", source="flights", max_failures=5, max_lost_leases=5, nearest=("-l",))
    said = explain(None, facts, NOW)
    assert _understood(said.command, airflow=True) == ("explain", "flights", None, ["-l"])
