"""Groups of duties from Druid's properties."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.planning.duties.groups import DutyGroup, duties_of
from airflow_coordination.planning.duties.keys import BUILT_IN, DUTIES, KNOWN, MEANINGLESS, PREFIX, SWITCHES
from airflow_coordination.planning.duties.properties import read_properties
from airflow_coordination.values.input_errors import InvalidInputError

THE_SEED = """\
druid.coordinator.dutyGroups=["compaction"]
druid.coordinator.compaction.duties=["compactSegments"]
druid.coordinator.compaction.period=PT60S
"""
DRUIDS_OWN = """\
druid.service=druid/coordinator
druid.plaintextPort=8081

druid.coordinator.startDelay=PT10S
druid.coordinator.period=PT5S

# Run the overlord service in the coordinator process
druid.coordinator.asOverlord.enabled=true
druid.coordinator.asOverlord.overlordService=druid/overlord
druid.coordinator.balancer.strategy=cost
druid.coordinator.loadqueuepeon.http.batchSize=10
druid.coordinator.kill.supervisor.on=true
druid.indexer.queue.startDelay=PT5S
"""


def said(**properties):
    return {f"{PREFIX}{key.replace('__', '.')}": value for key, value in properties.items()}


def one(*duties, period="PT10M", name="mine", **more):
    listed = json.dumps(list(duties))
    return said(dutyGroups=json.dumps([name])) | {
        f"{PREFIX}{name}.duties": listed,
        f"{PREFIX}{name}.period": period,
        **{f"{PREFIX}{name}.duty.{key.replace('__', '.')}": value for key, value in more.items()},
    }


def names(found):
    return {group.name: group.duties for group in found.groups}


def test_without_any_property_there_are_the_built_in_groups() -> None:
    found = duties_of({})
    assert [(group.name, group.period, group.duties) for group in found.groups] == [
        (
            "HistoricalManagementDuties",
            timedelta(minutes=5),
            ("runRules", "unloadUnused", "balanceSegments", "collectStats"),
        ),
        ("watching", timedelta(seconds=30), ("watchLosses",)),
        ("counting", timedelta(minutes=5), ("countEnded",)),
        ("IndexingServiceDuties", timedelta(minutes=30), ("killStalePending", "compactSegments")),
        ("MetadataStoreManagementDuties", timedelta(hours=1), ("killAudit", "killRules", "killCompactionConfig")),
    ]
    assert found.start_delay == timedelta(minutes=5)
    assert found.margins is None
    assert found.warnings == ()
    assert found.notes == (
        "HistoricalManagementDuties run every PT5M, where Druid runs them every PT60S: set druid.coordinator.period",
    )
    by_day = {"period": "P1D", "durationToRetain": "P90D"}
    assert found.groups[-1].arguments == {"killAudit": by_day, "killRules": by_day, "killCompactionConfig": by_day}
    assert found.groups[0].arguments == {}


def test_the_seed_s_three_lines_take_compaction_out_of_its_group() -> None:
    found = duties_of(read_properties("runtime.properties", THE_SEED).values)
    assert names(found)["compaction"] == ("compactSegments",)
    assert names(found)["IndexingServiceDuties"] == ("killStalePending",)
    assert found.groups[-1] == DutyGroup("compaction", timedelta(seconds=60), ("compactSegments",))
    assert "compactSegments runs in group compaction every PT1M, and no longer in IndexingServiceDuties" in found.notes


def test_druid_s_own_file_runs_as_it_is() -> None:
    found = duties_of(read_properties("runtime.properties", DRUIDS_OWN).values)
    assert found.start_delay == timedelta(seconds=10)
    assert found.groups[0].period == timedelta(seconds=5)
    assert found.notes == ("properties that do not begin with druid.coordinator. and are left to Druid: 3",)
    assert found.warnings == (
        "druid.coordinator.asOverlord.enabled does nothing here: every scheduler is one, and none needs to be told",
        "druid.coordinator.asOverlord.overlordService does nothing here: every scheduler is one, and none needs to be "
        "told",
        "druid.coordinator.balancer.strategy does nothing here: there is one balancer, by utilisation",
        "druid.coordinator.loadqueuepeon.http.batchSize does nothing here: copies are leases that workers take, and "
        "there is no queue at a location",
        "druid.coordinator.kill.supervisor.on does nothing here: sources have suppliers, which leave nothing to be "
        "deleted",
    )


def test_deleting_is_off_until_it_is_switched_on() -> None:
    found = duties_of(said(kill__on="true", kill__period="PT6H", kill__maxSegments="7", kill__bufferPeriod="P1D"))
    assert names(found)["IndexingServiceDuties"] == ("killUnused", "killStalePending", "compactSegments")
    assert (str(found.margins.buffer), str(found.margins.duration_to_retain), found.margins.most) == ("P1D", "P90D", 7)
    assert found.groups[3].arguments == {"killUnused": {"period": "PT6H"}}
    ignored = duties_of(said(kill__on="TRUE", kill__ignoreDurationToRetain="true"))
    assert ignored.margins.duration_to_retain is None


def test_what_is_switched_off_does_not_run_and_an_empty_group_is_none() -> None:
    off = said(kill__audit__on="false", kill__rule__on="false", kill__compaction__on="false")
    assert "MetadataStoreManagementDuties" not in names(duties_of(off))
    assert names(duties_of(said(kill__pendingSegments__on="false")))["IndexingServiceDuties"] == ("compactSegments",)
    found = duties_of(said(kill__rule__durationToRetain="P1Y"))
    assert found.groups[-1].arguments["killRules"] == {"period": "P1D", "durationToRetain": "P1Y"}


def test_a_group_gives_its_duties_arguments() -> None:
    found = duties_of(one("compactSegments", "killAudit", compactSegments__capacity="8", killAudit__period="PT1H"))
    assert found.groups[-1].arguments == {
        "compactSegments": {"capacity": "8"},
        "killAudit": {"period": "PT1H", "durationToRetain": "P90D"},
    }
    dotted = duties_of(one("mine", mine__a__b="1"), known=["mine"])
    assert dotted.groups[-1].arguments == {"mine": {"a.b": "1"}}


def test_own_duties_are_known_by_name() -> None:
    found = duties_of(one("myDuty", "compactSegments"), known=["myDuty"])
    assert names(found)["mine"] == ("myDuty", "compactSegments")


def test_in_python_lists_numbers_and_truth_need_no_quotes() -> None:
    properties = {
        "druid.coordinator.dutyGroups": ["mine"],
        "druid.coordinator.mine.duties": ["killUnused"],
        "druid.coordinator.mine.period": "PT10M",
        "druid.coordinator.kill.on": True,
        "druid.coordinator.kill.maxSegments": 7,
    }
    found = duties_of(properties)
    assert (names(found)["mine"], found.margins.most) == (("killUnused",), 7)


def test_of_a_duty_in_two_groups_the_first_one_has_it() -> None:
    both = one("compactSegments", name="one") | one("compactSegments", "killAudit", name="two")
    both |= said(dutyGroups='["one", "two"]')
    found = duties_of(both)
    assert (names(found)["one"], names(found)["two"]) == (("compactSegments",), ("killAudit",))
    assert found.warnings == ("compactSegments is named in groups one and two: it runs in one only",)
    both |= {"druid.coordinator.two.duties": '["compactSegments"]'}
    found = duties_of(both)
    assert "two" not in names(found)
    assert found.warnings[-1] == "group two has no duty left, and does not run"


def test_a_group_with_a_duty_that_is_off_says_so() -> None:
    found = duties_of(one("killUnused", "compactSegments"))
    assert names(found)["mine"] == ("compactSegments",)
    assert found.warnings == ("killUnused of group mine does not run: druid.coordinator.kill.on is not true",)


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        (said(perriod="PT5M"), "druid.coordinator.perriod='PT5M': is unknown. Did you mean druid.coordinator.period?"),
        (
            said(kill__onn="true"),
            "druid.coordinator.kill.onn='true': is unknown. Did you mean druid.coordinator.kill.",
        ),
        (said(zzz="1"), "druid.coordinator.zzz='1': is unknown. Known are druid.coordinator.period, druid.coordinator"),
        (said(kill__on="yes"), "druid.coordinator.kill.on='yes': is neither true nor false. Write true or false"),
        (said(kill__on=""), "druid.coordinator.kill.on='': is neither true nor false"),
        (said(kill__duties="[]"), "druid.coordinator.kill.duties='[]': is unknown. Did you mean druid.coordinator.k"),
        (said(kill__maxSegments="0"), "druid.coordinator.kill.maxSegments='0': is no whole number above zero"),
        (said(kill__maxSegments="-1"), "druid.coordinator.kill.maxSegments='-1': is no whole number above zero"),
        (said(kill__bufferPeriod="PT0S"), "druid.coordinator.kill.bufferPeriod='PT0S': is zero. Give a period above"),
        (said(kill__durationToRetain="-P1D"), "druid.coordinator.kill.durationToRetain='-P1D': goes backwards"),
        (said(kill__audit__durationToRetain="90"), "druid.coordinator.kill.audit.durationToRetain='90': is no period"),
        (said(period="PT0S"), "druid.coordinator.period='PT0S': is zero. Give a period above zero"),
        (said(period="PT0.5S"), "druid.coordinator.period='PT0.5S': is shorter than a second. Give PT1S or more"),
        (one("compactSegments", period="PT0.9S"), "druid.coordinator.mine.period='PT0.9S': is shorter than a second"),
        (said(period="5M"), "druid.coordinator.period='5M': does not begin with P. Write P5M"),
        (said(period="P1M"), "druid.coordinator.period='P1M': has months or years, which are not all equally long"),
        (said(period="P400D"), "druid.coordinator.period='P400D': is longer than a year"),
        (said(startDelay="-PT1S"), "druid.coordinator.startDelay='-PT1S': goes backwards"),
        (said(dutyGroups="[mine]"), "druid.coordinator.dutyGroups='[mine]': is no JSON list of names. Write such as"),
        (said(dutyGroups='"mine"'), "druid.coordinator.dutyGroups='\"mine\"': is no JSON list of names"),
        (said(dutyGroups="[1]"), "druid.coordinator.dutyGroups='[1]': is no JSON list of names"),
        (said(dutyGroups='["a","a"]'), 'druid.coordinator.dutyGroups=\'["a","a"]\': names one twice. Name each once'),
        (
            said(dutyGroups='["a.b"]'),
            "druid.coordinator.dutyGroups='[\"a.b\"]': names 'a.b', which is no name of a",
        ),
        (
            said(dutyGroups='["watching"]'),
            "druid.coordinator.dutyGroups='[\"watching\"]': names 'watching', which is a built-in group, or has p",
        ),
        (
            said(dutyGroups='["kill"]'),
            "druid.coordinator.dutyGroups='[\"kill\"]': names 'kill', which is a built-in",
        ),
        (
            said(compaction__duties='["compactSegments"]'),
            "druid.coordinator.compaction.duties='[\"compactSegments\"]': is of a group that dru",
        ),
        (
            said(dutyGroups='["mine"]', mine__period="PT1M"),
            'druid.coordinator.mine.duties=None: is missing. Write druid.coordinator.mine.duties=["compactSegments"]',
        ),
        (
            said(dutyGroups='["mine"]', mine__duties='["compactSegments"]'),
            "druid.coordinator.mine.period=None: is missing. Write druid.coordinator.mine.period=PT10M",
        ),
        (one("compactSegments", period="0"), "druid.coordinator.mine.period='0': is no period of ISO 8601"),
        (one("compactSegments", period="PT0S"), "druid.coordinator.mine.period='PT0S': is zero"),
        (one(), "druid.coordinator.mine.duties='[]': names no duty"),
        (
            one("compactSegment"),
            "druid.coordinator.mine.duties='[\"compactSegment\"]': names 'compactSegment', which is no duty. Did you m",
        ),
        (
            one("compactSegments", "compactSegments"),
            'druid.coordinator.mine.duties=\'["compactSegments", "compactSegments"]\': names one twice',
        ),
        (
            one("compactSegments", killAudit__period="P1D"),
            "druid.coordinator.mine.duty.killAudit.period='P1D': is of a duty that group mine does not have. Known are "
            "compactSegments, or add it to druid.coordinator.mine.duties",
        ),
        (
            one("compactSegments", compactSegments="8"),
            "druid.coordinator.mine.duty.compactSegments='8': names no argument of a duty. Write such as "
            "druid.coordinator.mine.duty.compactSegments.capacity=8",
        ),
        (
            said(mine__duties='["compactSegments"]'),
            "druid.coordinator.mine.duties='[\"compactSegments\"]': is of a group that druid.coordinator.dutyGroups "
            'does not name. Write druid.coordinator.dutyGroups=["mine"]',
        ),
        (
            one("compactSegments") | {f"{PREFIX}mines.period": "PT1M"},
            "druid.coordinator.mines.period='PT1M': is of a group that druid.coordinator.dutyGroups does not name. Did "
            'you mean mine? Else write druid.coordinator.dutyGroups=["mine", "mines"]',
        ),
        (
            said(IndexingServiceDuties__period="PT1M"),
            "druid.coordinator.IndexingServiceDuties.period='PT1M': is of IndexingServiceDuties, which is a built-in "
            "group. Set druid.coordinator.period.indexingPeriod, or make a group",
        ),
        (
            said(watching__period="PT1M"),
            "druid.coordinator.watching.period='PT1M': is of watching, which is a built-in group. Make a group by "
            "druid.coordinator.dutyGroups",
        ),
    ],
)
def test_what_cannot_be_says_what_to_write(properties, message) -> None:
    with pytest.raises(InvalidInputError) as refused:
        duties_of(properties)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize("key", KNOWN)
def test_each_property_is_read_with_its_default(key) -> None:
    default = {"dutyGroups": "[]"}.get(key, KNOWN[key].default)
    assert duties_of(said(**{key: default})).groups == duties_of({}).groups


@pytest.mark.parametrize("beginning", MEANINGLESS)
def test_what_means_nothing_here_is_one_line_each(beginning) -> None:
    found = duties_of({f"{PREFIX}{beginning}": "1", f"{PREFIX}{beginning}.more": "x"})
    assert found.groups == duties_of({}).groups
    assert [each.partition(" does nothing here: ")[0] for each in found.warnings] == [
        f"{PREFIX}{beginning}",
        f"{PREFIX}{beginning}.more",
    ]


SWITCHED = st.fixed_dictionaries({key: st.sampled_from(["true", "false"]) for key in SWITCHES.values()})
GROUPS = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d"]),
    st.lists(st.sampled_from([*DUTIES, "own1", "own2"]), min_size=1, max_size=5, unique=True),
)


@given(GROUPS, SWITCHED, st.randoms())
def test_every_duty_that_is_on_is_in_one_group_and_in_its_order(groups, switched, random) -> None:
    properties = {f"{PREFIX}{key}": value for key, value in switched.items()}
    properties[f"{PREFIX}dutyGroups"] = json.dumps(list(groups))
    for name, duties in groups.items():
        properties |= {f"{PREFIX}{name}.duties": json.dumps(duties), f"{PREFIX}{name}.period": "PT1M"}
    found = duties_of(properties, known=["own1", "own2"])
    off = {duty for duty, key in SWITCHES.items() if switched[key] == "false"}
    run = [duty for group in found.groups for duty in group.duties]
    asked = {duty for duties in groups.values() for duty in duties}
    assert len(run) == len(set(run))
    assert set(run) == ({*DUTIES} | asked) - off
    assert all(group.duties for group in found.groups)
    seen: set[str] = set()
    for name, duties in groups.items():
        expected = tuple(duty for duty in duties if duty not in off | seen)
        assert names(found).get(name, ()) == expected
        seen |= set(expected)
    for name, group in BUILT_IN.items():
        assert names(found).get(name, ()) == tuple(each for each in group.duties if each not in off | seen)
    moved = [each for each in found.notes if "no longer in" in each]
    assert len(moved) == len(seen & {*DUTIES})
    shuffled = list(properties.items())
    random.shuffle(shuffled)
    assert duties_of(dict(shuffled), known=["own1", "own2"]).groups == found.groups
