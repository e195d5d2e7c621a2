"""Whatever is sent to whichever route by whomever: no answer is a server's error, and none tells what is not theirs."""

from __future__ import annotations

import json
from random import Random
from urllib.parse import urlencode

import pytest
from fastapi.testclient import TestClient

from airflow_coordination.testing.conformance.creation import HOSTILE_KEYS
from tests.integration.board.auth_managers import FAB, SIMPLE
from tests.integration.board.conftest import OURS
from tests.integration.board.test_access import BODIES, PARAMETERS, SCHEMA, SECRETS, sent

SHORT, ALL = 400, 5_000
"""So many requests of each auth manager's users: in CI, and in ``make test-all``."""
ODD_TEXTS = [
    *(key for key in HOSTILE_KEYS if "\x00" not in key and "\ud800" not in key),
    *("", "x", "|", "x|y|z|PARTITION", "flights|GLOBAL_STATE", "%", "%7C|%00", "\x00", "a\x00b", "\ud800", "x\udfff"),
    *("flights|PARTITION\x00", "9" * 400, "ä" * 3_000, "NaN", "-1", "null", "[]", "coordination_default\n"),
]
NAN = float("nan")
ODD_VALUES = [NAN, float("inf"), 10**400, -(10**30), 2**63, True, None, [], {}, [[]] * 30, {"": NAN}, 1.5]
HEADERS = [OURS, {}, {**OURS, "Origin": "http://["}, {**OURS, "Origin": "//"}, {**OURS, "Sec-Fetch-Site": "\t"}]
PEOPLE = [(role, teams) for role in ("viewer", "user") for teams in (["ours"], ["theirs"], [])] + [("admin", [])]
LONGEST = 65_000
"""Bytes of a query: httpx sends no more."""
REFUSED = (400, 401, 403, 404, 422)
"""What those are answered who are nobody: what is no JSON, and what has no route, is refused before they are."""


@pytest.fixture(scope="module", params=[SIMPLE, FAB], ids=["simple", "fab"])
def auth_manager(request):
    return request.param


@pytest.fixture(params=["a DAG of ours", "no DAG"])
def belonging(request, flights):
    """The source is our team's, or nobody's that Airflow knows."""
    if request.param == "no DAG":
        flights.supplying.register(dag_id="no_such_dag")
    return request.param


class Sender:
    """Sends one request after the other, each made of what the route takes and of what it does not."""

    def __init__(self, app, seed):
        self.random = Random(seed)
        self.client = TestClient(app, raise_server_exceptions=False)

    def send(self, headers):
        """Send one; return what was sent, in one text, and the answer."""
        path, methods = self.random.choice(list(SCHEMA["paths"].items()))
        method, said = self.random.choice(list(methods.items()))
        names = [each["name"] for each in said.get("parameters", ()) if each["in"] == "query"]
        query = {name: self.text(PARAMETERS.get(name, "")) for name in names}
        kept = {name: value for name, value in query.items() if self.random.random() < 0.85}
        target = path.format(**{"name": self.random.choice(["partitions.js", "x", "%00", "..%2fapp.py"])})
        body = self.body(sent(said)) if "requestBody" in said else None
        headers = {**headers, **self.random.choice([OURS, OURS, OURS, *HEADERS]), "Content-Type": "application/json"}
        if self.random.random() < 0.2:
            headers["If-None-Match"] = self.random.choice(['W/"x', '"', ",,,", "*"])
        # What UTF-8 cannot encode is sent as a program in C would send it.
        pairs = {name.encode(): value.encode("utf-8", "surrogatepass") for name, value in kept.items()}
        while len(urlencode(pairs)) > LONGEST:  # a client refuses it by itself
            del pairs[max(pairs, key=lambda name: len(pairs[name]))]
        # By itself: of bytes the client would send how Python writes them.
        asked = f"{target}?{urlencode(pairs)}"
        answer = self.client.request(method.upper(), asked, headers=headers, content=body)
        return f"{target} {kept} {body!r}", answer

    def text(self, right):
        return self.random.choice([right, right, self.random.choice(ODD_TEXTS)])

    def value(self, right):
        odd = self.random.choice([*ODD_TEXTS, *ODD_VALUES])
        return self.random.choice([right, right, right, odd])

    def body(self, name):
        """Return JSON as Python writes it: with NaN, and surrogates that stand alone; and now and then none at all."""
        whole = {"store": "coordination_default", "source": "flights|PARTITION", **BODIES[name]}
        if name in ("ConfigRequest", "RunNowRequest"):
            del whole["source"]
        extra = {"after": "", "matching": 0, "meant": 0, "filter": {"status": "PARKED", "key_prefix": "a"}}
        if name == "DryRunRequest":
            whole |= {key: value for key, value in extra.items() if self.random.random() < 0.3}
        changed = {key: self.value(value) for key, value in whole.items() if self.random.random() < 0.95}
        inner = changed.get("meant")
        if isinstance(inner, list) and inner and isinstance(inner[0], dict):
            changed["meant"] = [{key: self.value(value) for key, value in inner[0].items()}]
        if isinstance(changed.get("changes"), dict):
            changed["changes"] = {self.text(key): self.value(value) for key, value in changed["changes"].items()}
        if isinstance(changed.get("filter"), dict):
            changed["filter"] = {key: self.value(value) for key, value in changed["filter"].items()}
        text = json.dumps(changed)
        return self.random.choice([text] * 8 + ["", "{", "[" * 5_000, "NaN", '"\\ud800"', text.encode("utf-16")])


@pytest.mark.parametrize("requests", [SHORT, pytest.param(ALL, marks=pytest.mark.long)])
def test_b10_no_request_breaks_the_board_and_none_leaks(app, flights, belonging, token, auth_manager, requests):
    sender, random = Sender(app, requests), Random(requests)
    seen = set()
    for _ in range(requests // 2):
        person = random.choice([*PEOPLE, None, "garbage"])
        known = isinstance(person, tuple)
        bearer = token(*person) if known else person
        asked, answer = sender.send({"Authorization": f"Bearer {bearer}"} if bearer else {})
        seen.add(answer.status_code)
        assert answer.status_code < 500, (asked, person, answer.text)
        assert known or answer.status_code in REFUSED, (asked, person)
        if not may_see(person, belonging, auth_manager):
            told = [secret for secret in SECRETS if secret in answer.text and secret not in asked]
            assert not told or "/static/" in asked, (told, asked, person)
    assert {200, 401, 403, 404, 422} <= seen


def may_see(person, belonging, auth_manager):
    """Return whether the source is theirs; who is of SimpleAuthManager's only team may edit all DAGs."""
    if not isinstance(person, tuple):
        return False
    role, teams = person
    if belonging == "a DAG of ours":
        return role == "admin" or "ours" in teams
    return role == "admin" or (auth_manager == SIMPLE and role == "user" and "ours" in teams)
