"""What has not changed is not sent again, to nobody but whoever may read it."""

from __future__ import annotations

import pytest

from tests.integration.board.conftest import TEAM_DAG

HERE = {"store": "coordination_default", "source": "flights|PARTITION"}
PATHS = [("/api/v1/sources", {}), ("/api/v1/partitions", HERE), ("/api/v1/partition", {**HERE, "key": "a-secret-key"})]
STATIC = ("/static/partitions.js", {})


@pytest.fixture
def look(client, token):
    def look(place, role="viewer", team="ours", **headers):
        path, given = place
        headers["Authorization"] = f"Bearer {token(role, [team])}"
        return client.get(path, params=given, headers=headers)

    return look


@pytest.mark.parametrize("place", [*PATHS, STATIC], ids=lambda place: place[0])
def test_what_one_has_already_is_not_sent_again(flights, look, place):
    first = look(place)
    again = look(place, **{"If-None-Match": f'"other", W/{first.headers["etag"]}'})
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")
    for name in ("etag", "cache-control", "vary", "content-security-policy"):
        assert again.headers[name] == first.headers[name]
    assert first.headers["cache-control"] == "private, no-cache"
    assert first.headers["vary"] == "Authorization, Cookie"


@pytest.mark.parametrize("place", PATHS[1:], ids=lambda place: place[0])
def test_the_store_s_time_goes_on_while_nothing_else_does(flights, look, place):
    first = look(place)
    again = look(place, **{"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304
    assert again.headers["coordination-store-time"] > first.headers["coordination-store-time"]


@pytest.mark.parametrize("place", PATHS[1:], ids=lambda place: place[0])
def test_a_change_is_sent(flights, look, place):
    tag = look(place).headers["etag"]
    flights.people.park("a-secret-key", by="ana", why="w")
    changed = look(place, **{"If-None-Match": tag})
    assert changed.status_code == 200
    assert "PARKED" in changed.text


@pytest.mark.parametrize("place", PATHS, ids=lambda place: place[0])
def test_another_user_s_tag_opens_nothing(flights, look, place):
    tag = look(place).headers["etag"]
    theirs = look(place, team="theirs", **{"If-None-Match": tag})
    assert theirs.status_code == (200 if place == PATHS[0] else 404)
    assert TEAM_DAG not in theirs.text
    assert theirs.headers.get("etag") != tag


def test_what_is_refused_has_no_tag(flights, look):
    refused = look((PATHS[2][0], {**HERE, "key": "absent"}))
    assert (refused.status_code, refused.headers["cache-control"]) == (404, "no-store")
    assert "etag" not in refused.headers
