"""Mutants of the board: who sees what, and on what an action falls."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested


def _board(test: str) -> Tested:
    return Tested(f"tests/integration/board/{test}")


def _monitoring(test: str) -> Tested:
    return Tested(f"tests/unit/monitoring/{test}")


MUTANTS = (
    Mutant(
        "every viewer counts for himself",
        "board.counting",
        "        if source not in self._counting:\n            self._counting",
        "        if True:\n            self._counting",
        "many who look at once cost many counts",
        _board("test_counting.py::test_many_who_look_at_once_cost_one_count"),
    ),
    Mutant(
        "a dear count is kept no longer",
        "board.counting",
        "max(LIFE, SHARE * sum(known.took for (of, _), known in self._known.items() if of is store))",
        "LIFE",
        "a store that counts slowly does nothing else",
        _board("test_counting.py::test_a_count_is_kept_as_long_as_it_is_dear"),
    ),
    Mutant(
        "what was counted is counted first",
        "board.counting",
        "sorted(old, key=self._began)",
        "old",
        "of many sources the last ones are never counted",
        _board("test_counting.py::test_what_was_never_counted_comes_first"),
    ),
    Mutant(
        "what no DAG holds is everybody's",
        "board.permissions",
        'self._may("GET", dag) for dag in known) if known else self._may_edit_all',
        'self._may("GET", dag) for dag in known) if known else True',
        "keys of a source whose DAG was removed are shown to everybody",
        _board("test_access.py::test_b1_a_source_without_a_dag_that_exists_is_not_there"),
    ),
    Mutant(
        "all DAGs are those of no team",
        "board.permissions",
        "teams = (None, *session.scalars(select(Team.name).order_by(Team.name)))",
        "teams = (None,)",
        "another team's editor acts on a source whose DAG was removed",
        _board("test_access.py::test_b1_a_source_without_a_dag_that_exists_is_not_there"),
    ),
    Mutant(
        "a removed DAG forbids for ever",
        "board.permissions",
        'return all(self._may("PUT", dag) for dag in known) if known',
        'return all(dag in known and self._may("PUT", dag) for dag in dags) if known',
        "nobody can act on a source of two DAGs when one was removed",
        _board("test_access.py::test_a_dag_that_was_removed_forbids_nothing"),
    ),
    Mutant(
        "the tag says nothing of the body",
        "board.requests",
        "sha256(response.body)",
        "sha256(request.url.path.encode())",
        "a change is never seen, and one user's tag is another's",
        _board("test_conditional.py::test_a_change_is_sent"),
    ),
    Mutant(
        "whoever sees may act",
        "board.acting",
        "if not seen.may_act:",
        "if not seen:",
        "a viewer releases and resets partitions",
        _board("test_access.py::test_who_may_only_look_is_told_what_it_takes"),
    ),
    Mutant(
        "the browser is not asked who sends",
        "board.requests",
        'if sender != "same-origin":',
        'if sender == "cross-site":',
        "a page of a sister domain acts in the name of whoever looks at it",
        _board("test_access.py::test_another_site_s_page_changes_nothing"),
    ),
    Mutant(
        "the header is not asked for",
        "board.requests",
        'if action != "1":',
        'if action not in (None, "1"):',
        "a form of another site acts in the name of whoever looks at it",
        _board("test_access.py::test_another_site_s_page_changes_nothing"),
    ),
    Mutant(
        "the answer names the store's host",
        "board.acting",
        "reason=UNKNOWN if isinstance(error, OutcomeUnknownError) else str(error)",
        "reason=str(error)",
        "hosts and engines are told to whoever may act",
        _board("test_acting.py::test_what_a_store_that_stops_answering_leaves_undone_is_said"),
    ),
    Mutant(
        "a source goes on although another pause was seen",
        "board.pausing",
        'return now if (now.op or "") == asked.stamp else',
        "return now if now else",
        "who looked at the pause before ends one that somebody else has just made",
        _board("test_pausing.py::test_what_somebody_resumed_since_it_was_seen_stays_resumed"),
    ),
    Mutant(
        "any address may be followed",
        "board.views",
        'return text if text.startswith(("http://", "https://")) else None',
        "return text or None",
        "a driver's word runs a script in the browser of whoever clicks on it",
        _board("test_reading.py::test_only_an_address_of_a_page_is_given_to_follow"),
    ),
    Mutant(
        "one deployment shows another's sources",
        "board.visibility",
        "if store.partition_prefix in (None, split_source(identifier)[0])",
        "if True",
        "sources of a deployment that is kept apart are shown",
        _board("test_reading.py::test_the_sources_of_another_deployment_are_not_shown"),
    ),
    Mutant(
        "a dry run reads the whole source",
        "board.acting",
        "max(0, AT_ONCE - asked.meant), ROWS)",
        "max(0, AT_ONCE - asked.meant))",
        "one request takes as long as the source is large",
        Tested("tests/integration/board/test_rows.py::test_a_dry_run_reads_few_rows", postgresql=True),
    ),
    Mutant(
        "a view that others have changed is changed",
        "board.showing.acting",
        "is not None and str(now.version) != asked.stamp",
        "is None and asked.stamp",
        "what a dry run said is done although it holds no more",
        _board("test_view_changes.py::test_what_somebody_has_changed_since_is_refused"),
    ),
    Mutant(
        "stored names are datasets",
        "board.datasets",
        "{dataset_of(head) for head in heads}",
        "{head.dataset for head in heads}",
        "what a branch has published is listed as a dataset that nobody has named",
        _board("test_showing.py::test_stored_names_are_no_datasets"),
    ),
    Mutant(
        "partitions of none are drawn into a branch",
        "board.acting",
        "if len(branches) != 1 or not all(",
        "if not any(",
        "a reset in a branch is offered for partitions that do not run in it",
        _board("test_view_changes.py::test_a_reset_out_of_a_branch_that_has_begun_is_refused_and_one_in_it_is_offered"),
    ),
    Mutant(
        "a stamp of the status only",
        "monitoring.acting",
        'f"{partition.status} {partition.token} {last}"',
        'f"{partition.status}"',
        "people: an action falls on a partition that is not any more what the person saw",
        _monitoring("test_acting.py::test_what_moved_on_is_refused_with_what_it_is_now"),
    ),
    Mutant(
        "counted by index where more is asked",
        "monitoring.selection",
        "return None if self.reads_more or self._narrows_keys else self.state",
        "return self.state",
        "people: more partitions are said to be meant than are",
        _monitoring("test_selection.py::test_a_state_with_more_to_it_is_not_counted_by_index"),
    ),
    Mutant(
        "duties are the DAG's that runs them",
        "board.visibility",
        "frozenset() if split_source(identifier)[1] in _OF_ALL else dags_of(facts)",
        "dags_of(facts)",
        "who may read the DAG that runs duties sees what they did in all sources",
        _board("test_access.py::test_no_list_partition_or_audit_of_another_route_shows_them"),
    ),
    Mutant(
        "duties are everybody's",
        "board.visibility",
        "if connection not in connections() or not sees_all(user):",
        "if connection not in connections():",
        "everybody configures the duties of all sources",
        _board("test_access.py::test_duties_and_their_configuration_are_theirs_who_may_edit_all"),
    ),
    Mutant(
        "a change writes over what was set meanwhile",
        "board.duties.acting",
        "done = set_config(coordinator, asked.changes, by, asked.why, asked.seen)",
        "done = set_config(coordinator, asked.changes, by, asked.why)",
        "of two who configure the same key the first is undone and not told",
        _board("test_duties.py::test_what_somebody_else_has_set_meanwhile_is_not_written_over"),
    ),
    Mutant(
        "a corrupt group hides all",
        "duties.groups.told",
        "except (AttributeError, TypeError, ValueError, OverflowError) as error:",
        "except OverflowError as error:",
        "one group that cannot be read keeps people from seeing the others",
        Tested("tests/unit/duties/groups/test_told.py::test_a_group_that_cannot_be_read_hides_no_other"),
    ),
    Mutant(
        "nobody is told of a stopped coordinator",
        "duties.groups.told",
        "now - expected > max(state.period, _A_MOMENT)",
        "now - expected > 100 * max(state.period, _A_MOMENT)",
        "duties do not run for days and the page says that all is well",
        Tested(
            "tests/unit/duties/groups/test_told.py::test_a_stopped_coordinator_is_told_when_a_whole_period_has_passed"
        ),
    ),
)
