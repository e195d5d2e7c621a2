"""Operator's argument > connection > configuration > default, once."""

from datetime import timedelta

import pytest

from airflow_coordination.hooks.settings import configured_output_root, merge_settings, sweep_interval
from airflow_coordination.leases import Settings, SettingsError


def test_defaults_are_the_protocols_own():
    assert merge_settings({}, {}) == Settings()


def test_configuration_goes_before_the_default(monkeypatch):
    monkeypatch.setenv("AIRFLOW__COORDINATION__OWNERSHIP_TIMEOUT", "90")
    monkeypatch.setenv("AIRFLOW__COORDINATION__MAX_FAILURES", "3")
    merged = merge_settings({}, {})
    assert (merged.ownership_timeout, merged.max_failures) == (timedelta(seconds=90), 3)


def test_connection_goes_before_configuration_and_argument_before_both(monkeypatch):
    monkeypatch.setenv("AIRFLOW__COORDINATION__OWNERSHIP_TIMEOUT", "90")
    assert merge_settings({"ownership_timeout": "80"}, {}).ownership_timeout == timedelta(seconds=80)
    merged = merge_settings({"ownership_timeout": 80}, {"ownership_timeout": timedelta(seconds=70)})
    assert merged.ownership_timeout == timedelta(seconds=70)


def test_an_argument_that_is_not_given_changes_nothing():
    assert merge_settings({"max_failures": "7"}, {"max_failures": None}).max_failures == 7


def test_what_becomes_of_a_negative_delivery_is_a_word(monkeypatch):
    monkeypatch.setenv("AIRFLOW__COORDINATION__ON_NEGATIVE", "give up")
    monkeypatch.setenv("AIRFLOW__COORDINATION__ACKNOWLEDGMENT_TIMEOUT", "60")
    merged = merge_settings({}, {"on_negative": None})
    assert (merged.on_negative, merged.acknowledgment_timeout) == ("give up", timedelta(minutes=1))
    assert merge_settings({}, {"on_negative": "fail"}).on_negative == "fail"


def test_an_empty_no_progress_timeout_switches_the_watch_off(monkeypatch):
    monkeypatch.setenv("AIRFLOW__COORDINATION__NO_PROGRESS_TIMEOUT", "")
    assert merge_settings({}, {}).no_progress_timeout is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_failurs": 3}, "operator.max_failurs='max_failurs': is not an option here. Did you mean 'max_failures'?"),
        (
            {"ownership_timeout": "soon"},
            "ownership_timeout='soon': is no number of seconds. Give seconds, for example 600",
        ),
        ({"max_failures": "few"}, "max_failures='few': is no whole number. Give for example 5"),
        ({"max_failures": 0}, "max_failures=0: is not a whole number above zero. Give 1 or more"),
        ({"max_failures": 2.5}, "max_failures=2.5: is not a whole number above zero. Give 1 or more"),
    ],
)
def test_bad_input_names_the_field_the_value_and_the_remedy(arguments, message):
    with pytest.raises(SettingsError) as refused:
        merge_settings({}, arguments)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        (
            "MAX_FAILURE",
            "3",
            "[coordination].max_failure='max_failure': is not an option here. Did you mean 'max_failures'?",
        ),
        ("MAX_FAILURES", "five", "max_failures='five': is no whole number. Give for example 5"),
        ("MAX_FAILURES", "0", "max_failures=0: is not a whole number above zero. Give 1 or more"),
    ],
)
def test_a10_what_is_wrong_in_the_configuration_section_is_told(monkeypatch, option, value, message):
    """A10: an option that is misspelt changes nothing, so it is refused."""
    monkeypatch.setenv(f"AIRFLOW__COORDINATION__{option}", value)
    with pytest.raises(SettingsError) as refused:
        merge_settings({}, {})
    assert str(refused.value) == message


def test_a10_a_sweep_interval_that_is_no_time_is_told(monkeypatch):
    """A10: it made sensors look all the time."""
    monkeypatch.setenv("AIRFLOW__COORDINATION__SWEEP_INTERVAL", "-3")
    with pytest.raises(SettingsError, match=r"sweep_interval='-3': is not above zero. Give seconds, for example 30"):
        sweep_interval()


def test_sweep_interval_and_output_root_come_from_the_configuration(monkeypatch):
    assert sweep_interval() == timedelta(seconds=30)
    assert configured_output_root() is None
    monkeypatch.setenv("AIRFLOW__COORDINATION__SWEEP_INTERVAL", "5")
    monkeypatch.setenv("AIRFLOW__COORDINATION__OUTPUT_ROOT", "/data")
    assert (sweep_interval(), configured_output_root()) == (timedelta(seconds=5), "/data")


def test_the_grace_comes_from_where_everybody_reads_it(monkeypatch):
    assert merge_settings({}, {}).reassign_grace == timedelta(0)
    monkeypatch.setenv("AIRFLOW__COORDINATION__REASSIGN_GRACE", "120")
    assert merge_settings({}, {}).reassign_grace == timedelta(minutes=2)
    assert merge_settings({"reassign_grace": 180}, {}).reassign_grace == timedelta(minutes=3)
    assert merge_settings({"reassign_grace": 180}, {"reassign_grace": 0}).reassign_grace == timedelta(0)
