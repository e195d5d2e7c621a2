"""A line of a driver, as what it is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.submission.driver_reports import BadReportError, read_report

LEGAL = st.fixed_dictionaries({"url": st.from_regex(r"https?://[a-z]{1,9}(:\d{2,4})?/", fullmatch=True)})


@given(LEGAL)
def test_b3_a_page_of_the_web_is_a_link(facts):
    """B3."""
    assert read_report(json.dumps({"event": "spark", **facts}))["url"] == facts["url"]


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "ftp://h/", "//h", "http:", "https://u:p@h/", "http://[", "http://h/ x", "http://h/\n", 7],
)
def test_b3_no_other_address_is(url):
    """B3."""
    with pytest.raises(BadReportError, match="url is "):
        read_report(json.dumps({"event": "spark", "url": url}))
