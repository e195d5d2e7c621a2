"""Nobody sees what Airflow does not let them see, on no route: the routes are those of the application's own schema."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_coordination.board.app import create_app, routes
from airflow_coordination.duties.configuring import read_config, set_config
from airflow_coordination.duties.groups.running import Group, GroupRunner
from tests.integration.board.auth_managers import FAB, SIMPLE
from tests.integration.board.conftest import OPEN_DAG, OURS, TEAM_DAG

PARAMETERS = {
    "store": "coordination_default",
    "source": "flights|PARTITION",
    "key": "a-secret-key",
    "dataset": "clean",
    "name": "partitions.js",
}
BODIES = {
    "DryRunRequest": {"action": "park", "keys": ["a-secret-key"]},
    "ActionRequest": {"action": "park", "why": "w", "meant": [{"key": "a-secret-key", "stamp": "of another day"}]},
    "AgainDryRunRequest": {"key": "a-secret-key"},
    "AgainRequest": {"key": "a-secret-key", "why": "w", "stamp": "of another day"},
    "PauseDryRunRequest": {"paused": True},
    "PauseRequest": {"paused": True, "why": "w", "stamp": ""},
    "ViewDryRunRequest": {"action": "restore", "dataset": "clean", "interval": "2013-01/P1M"},
    "ViewChangeRequest": {"action": "publish", "branch": 1, "why": "w", "stamp": ""},
    "PurgeDryRunRequest": {"dataset": "clean"},
    "ConfigRequest": {"changes": {"maxSegmentsToMove": 9}, "seen": 0, "why": "w"},
    "RunNowRequest": {"group": "HistoricalManagementDuties", "why": "w"},
}
OF_ALL = {
    "/api/v1/duties",
    "/api/v1/duties/run-now",
    "/api/v1/config",
    "/api/v1/config/history",
}
"""The routes about what serves all sources of a store."""
"""What is sent beside store and source; a route with another body fails here until it is given one."""
SCHEMA = create_app().openapi()


@pytest.fixture(scope="module", params=[SIMPLE, FAB], ids=["simple", "fab"])
def auth_manager(request):
    """Both of Airflow's own, which answer differently to a question without a DAG's id."""
    return request.param


def sent(said):
    """Return the name of what a route is sent."""
    content = said.get("requestBody", {"content": {"application/json": {"schema": {"$ref": ""}}}})["content"]
    return content["application/json"]["schema"]["$ref"].rpartition("/")[2]


def is_given(parameter):
    """Return whether a route is asked with a parameter here: where it takes a source, it is asked about that one."""
    return parameter["required"] or parameter["name"] == "source"


ROUTES = [
    (method.upper(), path, [each["name"] for each in said.get("parameters", ()) if is_given(each)], sent(said))
    for path, methods in SCHEMA["paths"].items()
    for method, said in methods.items()
]
SOURCES = ("GET", "/api/v1/sources", [], "")
SERVING_ALL = [route for route in ROUTES if route[1] in OF_ALL]
OF_A_SOURCE = [route for route in ROUTES if ("source" in route[2] or route[3]) and route not in SERVING_ALL]
CHANGING = [route for route in ROUTES if route[0] != "GET"]
CHANGING_A_SOURCE = [route for route in CHANGING if route in OF_A_SOURCE]
SECRETS = ("a-secret-key", "flights", TEAM_DAG)


def ask(client, route, token=None, headers=OURS, **changed):
    method, path, names, body = route
    given = {**PARAMETERS, **changed}
    values = {name: given[name] for name in names}
    inside = {name: values.pop(name) for name in list(values) if f"{{{name}}}" in path}
    headers = headers | ({"Authorization": f"Bearer {token}"} if token else {})
    about = ("store",) if path in OF_ALL else ("store", "source")
    json = {**{name: given[name] for name in about}, **BODIES[body]} if body else None
    return client.request(method, path.format(**inside), params=values, headers=headers, json=json)


def test_the_matrix_has_every_route():
    assert {route.path_format for route in routes.routes} == {route[1] for route in ROUTES}
    assert len(ROUTES) == sum(len(route.methods) for route in routes.routes)
    assert {body for _, _, _, body in ROUTES} == {"", *BODIES}
    assert {route[0] for route in CHANGING} == {"POST"}


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/openapi.json", "/static/../app.py", "/static/app.py"])
def test_nothing_else_is_served(client, token, path):
    client.headers["Authorization"] = f"Bearer {token('admin', ['ours'])}"
    assert client.get(path).status_code == 404


@pytest.mark.parametrize("route", ROUTES, ids=str)
@pytest.mark.parametrize(("given", "status"), [(None, 401), ("garbage", 403)])
def test_no_route_is_open(client, flights, route, given, status):
    answer = ask(client, route, given)
    assert answer.status_code == status
    assert not [secret for secret in SECRETS if secret in answer.text]


@pytest.mark.parametrize("route", [route for route in ROUTES if route not in SERVING_ALL], ids=str)
@pytest.mark.parametrize("role", ["viewer", "user", "admin"])
def test_who_is_of_the_team_gets_an_answer(client, flights, token, route, role):
    answer = ask(client, route, token(role, ["ours"]))
    assert answer.status_code == (403 if role == "viewer" and route in CHANGING else 200)
    assert "content-security-policy" in answer.headers


@pytest.mark.parametrize("route", CHANGING_A_SOURCE, ids=str)
def test_who_may_only_look_is_told_what_it_takes(client, flights, token, route):
    flights.supplying.register(dag_ids=[TEAM_DAG, OPEN_DAG])
    for role, team in (("viewer", "ours"), ("user", "theirs")):
        answer = ask(client, route, token(role, [team]))
        assert answer.status_code == 403
        assert "that takes the right to edit all of its DAGs" in answer.json()["detail"]


@pytest.mark.parametrize("route", CHANGING, ids=str)
@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({}, "it lacks the header X-Coordination-Action: 1"),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "http://testserver"}, "it lacks the header"),
        ({**OURS, "Sec-Fetch-Site": "same-site"}, "the browser calls its sender same-site"),
        ({**OURS, "Sec-Fetch-Site": "cross-site", "Origin": "http://testserver"}, "calls its sender cross-site"),
        ({**OURS, "Origin": "http://testserver.evil.example"}, "its origin is another one"),
        ({**OURS, "Origin": "null"}, "its origin is another one"),
    ],
)
def test_another_site_s_page_changes_nothing(client, flights, token, route, headers, said):
    answer = ask(client, route, token("admin", []), headers)
    assert (answer.status_code, said in answer.json()["detail"]) == (403, True)
    assert flights.partition("a-secret-key").status == "UNASSIGNED"


@pytest.mark.parametrize(
    "headers",
    [{"Sec-Fetch-Site": "same-origin"}, {"Origin": "http://testserver"}, {"Origin": "https://airflow.example"}],
)
def test_our_own_page_passes_a_proxy_too(client, flights, token, headers, monkeypatch):
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://airflow.example/prefix")
    for route in CHANGING:
        assert ask(client, route, token("admin", ["ours"]), {**OURS, **headers}).status_code == 200


@pytest.mark.parametrize("route", OF_A_SOURCE, ids=str)
@pytest.mark.parametrize("role", ["viewer", "user"])
def test_another_teams_source_is_not_there(client, flights, token, route, role):
    """The same answer as to a source that does not exist, and to a store that is not shown."""
    theirs = token(role, ["theirs"])
    answer = ask(client, route, theirs)
    assert answer.status_code == 404
    assert answer.text == ask(client, route, theirs, source="nowhere|PARTITION").text
    assert answer.text == ask(client, route, theirs, store="nowhere").text


@pytest.mark.parametrize("role", ["viewer", "user"])
def test_no_answer_of_any_route_names_another_teams_source(client, flights, token, role):
    for route in ROUTES:
        text = ask(client, route, token(role, ["theirs"])).text
        if "/static/" not in route[1]:
            assert not [secret for secret in SECRETS if secret in text], route


@pytest.mark.parametrize(("role", "may"), [("viewer", False), ("user", True)])
def test_who_may_edit_its_dags_may_act(client, flights, token, role, may):
    answer = ask(client, SOURCES, token(role, ["ours"]))
    [source] = answer.json()["stores"][0]["sources"]
    assert (source["name"], source["may_act"], source["numbers"]["counts"]["UNASSIGNED"]) == ("flights", may, 1)


def test_who_may_edit_one_of_two_dags_sees_and_may_not_act(client, flights, token):
    flights.supplying.register(dag_ids=[TEAM_DAG, OPEN_DAG])
    answer = ask(client, SOURCES, token("user", ["theirs"]))
    [source] = answer.json()["stores"][0]["sources"]
    assert source["may_act"] is False


NO_DAG = pytest.mark.parametrize("facts", [{}, {"dag_id": "no_such_dag"}], ids=["none", "removed"])


@NO_DAG
@pytest.mark.parametrize(("role", "teams"), [("viewer", ["ours"]), ("user", ["theirs"]), ("user", [])])
def test_b1_a_source_without_a_dag_that_exists_is_not_there(client, flights, token, facts, role, teams):
    """SimpleAuthManager says yes to a DAG that does not exist, FAB to a question without a DAG's id."""
    flights.supplying.register(**facts)
    for route in OF_A_SOURCE:
        assert ask(client, route, token(role, teams)).status_code == 404


@NO_DAG
@pytest.mark.parametrize(("role", "teams"), [("admin", []), ("user", ["ours"])])
def test_a_source_without_a_dag_that_exists_is_theirs_who_may_edit_all(
    client, flights, token, facts, role, teams, auth_manager
):
    """There is one team only, so who is of it may edit all of SimpleAuthManager's; FAB's teams have one DAG each."""
    flights.supplying.register(**facts)
    found = ask(client, SOURCES, token(role, teams)).json()["stores"][0]["sources"]
    all_of_them = role == "admin" or auth_manager == SIMPLE
    assert [source["may_act"] for source in found] == ([True] if all_of_them else [])


EVERYBODY = [
    ("viewer", ["ours"]),
    ("viewer", []),
    ("user", ["ours"]),
    ("user", ["theirs"]),
    ("user", []),
    ("admin", []),
]


def edits_all(role, teams, auth_manager):
    """Return whether somebody may edit all DAGs: SimpleAuthManager's only team has them all."""
    return role == "admin" or (auth_manager == SIMPLE and (role, teams) == ("user", ["ours"]))


@pytest.fixture
def led(store):
    """A group was run once, by a DAG that has registered the source of duties for itself."""
    runner = GroupRunner(store, "host/a-secret-dag/run/task/-1/1", start_delay=timedelta(0))
    runner.run(Group(name="HistoricalManagementDuties", period=timedelta(minutes=5), duties=[], arguments={}))
    runner.duties.supplying.register_dag(TEAM_DAG)
    set_config(runner.duties, {"killDataSourceWhitelist": ["a-secret-dataset"]}, "ana", "w")
    return runner


@pytest.mark.parametrize(("role", "teams"), EVERYBODY, ids=str)
def test_duties_and_their_configuration_are_theirs_who_may_edit_all(
    client, led, flights, token, auth_manager, role, teams
):
    may = edits_all(role, teams, auth_manager)
    nowhere = ask(client, SERVING_ALL[0], token(role, teams), store="nowhere")
    assert nowhere.status_code == 404
    for route in SERVING_ALL:
        answer = ask(client, route, token(role, teams))
        assert answer.status_code == (200 if may else 404)
        assert may or answer.text == nowhere.text
    before = read_config(led.duties).config.max_segments_to_move
    assert before == (9 if may else 5)


@pytest.mark.parametrize(("role", "teams"), EVERYBODY, ids=str)
def test_no_list_partition_or_audit_of_another_route_shows_them(client, led, token, auth_manager, role, teams):
    """Whichever DAG has run them: a source of duties belongs to no DAG."""
    may = edits_all(role, teams, auth_manager)
    led.run_now("HistoricalManagementDuties", "a-secret-person", "w")
    of_duties = {"source": "~duties|PARTITION", "key": "group|HistoricalManagementDuties"}
    set_config(led.duties, {"maxSegmentsToMove": 9}, "a-secret-editor", "w")
    told = [ask(client, route, token(role, teams), **of_duties) for route in ROUTES if route not in SERVING_ALL]
    settings = next(route for route in ROUTES if route[1] == "/api/v1/documents")
    told.append(ask(client, (*settings[:2], ["store"], ""), token(role, teams)))
    text = " ".join(answer.text for answer in told if not answer.headers["content-type"].startswith("text/"))
    for secret in ("~duties", "a-secret-dag", "a-secret-person", "a-secret-editor"):
        assert (secret in text) is may
    [overview] = [answer for answer in told if "stores" in answer.text]
    assert overview.json()["duties"] is may


def test_a_dag_that_was_removed_forbids_nothing(client, flights, token):
    flights.supplying.register(dag_ids=[TEAM_DAG, "no_such_dag"])
    for teams, seen in ((["ours"], [True]), (["theirs"], [])):
        answer = ask(client, SOURCES, token("user", teams))
        assert [one["may_act"] for one in answer.json()["stores"][0]["sources"]] == seen
