"""Documents of a source: compare-and-swap, repetition, history, names and sizes; lost answers, and many at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import pytest

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.viewing.documents import LEAST_KEPT
from airflow_coordination.planning.view.view import View
from airflow_coordination.protocol.beside.documents import (
    ABSENT,
    MAX_DOCUMENT_BYTES,
    MAX_NAME_BYTES,
    VIEW,
    Document,
    Looked,
)
from airflow_coordination.protocol.beside.documents import SetDocument as Write
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.testing.conformance.coordinator_cases import Coordinators
from airflow_coordination.testing.conformance.fixtures import MINUTE, SOURCE, Workbench
from airflow_coordination.testing.conformance.lost_answers import LOST, at_once
from airflow_coordination.testing.crash import Fault, FaultyStore
from airflow_coordination.values.errors import PartitionUpdateError, StoreUnavailableError
from airflow_coordination.values.input_errors import InvalidInputError

NAMES = [
    "rules/clean",
    "rules/clean2",
    "rules",
    "view",
    "vie",
    "view2",
    "vïew",
    "\U0001f600",
    "%",
    "n" * MAX_NAME_BYTES,
]
MANY = 230
"""More versions than any store reads at once."""


def writing(bench: Workbench, seen: int = ABSENT, content: str = "{}", name: str = VIEW, **more: str) -> Write:
    """Return a write of the next version, without sending it."""
    said = {"author": "ana", "comment": "a test", "op": bench.op(), **more}
    return Write(source=bench.source, name=name, seen=seen, content=content, **said)


def write(bench: Workbench, seen: int = ABSENT, content: str = "{}", name: str = VIEW, **more: str) -> bool:
    """Write the next version."""
    return bench.documents.set_document(writing(bench, seen, content, name, **more))


def versions(bench: Workbench, name: str = VIEW) -> list[int]:
    """Return the numbers of all versions."""
    return [found.version for found in bench.documents.document_history(bench.source, name, limit=2 * MANY)]


class Documents:
    """Texts with versions, of which the newest counts."""

    def test_what_nobody_has_written_is_not_there(self, bench: Workbench) -> None:
        assert bench.documents.document(SOURCE, VIEW) is None
        assert bench.documents.document_history(SOURCE, VIEW) == []
        assert bench.documents.documents(SOURCE) == []

    def test_who_is_about_to_change_one_sees_it_with_the_time(self, bench: Workbench) -> None:
        assert bench.documents.look(SOURCE, VIEW) == Looked(None, bench.clock.now())
        assert write(bench)
        bench.clock.advance(MINUTE)
        looked = bench.documents.look(SOURCE, VIEW)
        assert (looked.document, looked.now, looked.counts) == (
            bench.documents.document(SOURCE, VIEW),
            bench.clock.now(),
            None,
        )

    def test_each_version_says_who_wrote_it_why_and_when(self, bench: Workbench) -> None:
        first = writing(bench, content='{"a":"é\U0001f600"}', author="ana é", comment="wegen\nÄrger")
        assert bench.documents.set_document(first)
        began, now = bench.clock.now(), bench.clock.advance(MINUTE)
        second = writing(bench, seen=1, content="[]", author="bob")
        assert bench.documents.set_document(second)
        assert bench.documents.document(SOURCE, VIEW) == second.written(now)
        assert bench.documents.document_history(SOURCE, VIEW) == [second.written(now), first.written(began)]

    @pytest.mark.parametrize("seen", [0, 1, 3, 4])
    def test_who_has_not_seen_the_newest_version_writes_nothing(self, bench: Workbench, seen: int) -> None:
        """Neither who has read an older one nor who believes in one that is not there, which would leave a hole."""
        assert write(bench)
        assert write(bench, 1, '"newest"')
        assert not write(bench, seen)
        found = bench.documents.document(SOURCE, VIEW)
        assert found is not None
        assert (found.version, found.content, versions(bench)) == (2, '"newest"', [2, 1])

    @pytest.mark.parametrize("seen", [1, 7])
    def test_nobody_has_seen_what_was_never_written(self, bench: Workbench, seen: int) -> None:
        assert not write(bench, seen)
        assert bench.documents.documents(SOURCE) == []

    def test_a_repetition_finds_that_it_was_written_and_writes_nothing(self, bench: Workbench) -> None:
        """Also when others have written since: that does not undo it."""
        first = writing(bench)
        assert bench.documents.set_document(first)
        bench.clock.advance(MINUTE)
        assert bench.documents.set_document(first)
        assert versions(bench) == [1]
        assert write(bench, 1)
        before = bench.documents.document_history(SOURCE, VIEW)
        assert bench.documents.set_document(first)
        assert bench.documents.document_history(SOURCE, VIEW) == before

    def test_a_late_message_of_who_was_refused_writes_nothing(self, bench: Workbench) -> None:
        late = writing(bench, content='"late"')
        assert write(bench)
        for _ in range(2):
            assert not bench.documents.set_document(late)
        assert versions(bench) == [1]

    def test_documents_are_apart_by_name_and_by_source(self, bench: Workbench) -> None:
        for name in NAMES:
            assert write(bench, content=json.dumps(name), name=name)
            assert write(bench, 1, json.dumps(f"{name} again"), name=name)
        bench.source = "other|PARTITION"
        assert bench.documents.documents(bench.source) == []
        assert write(bench, content='"other"')
        bench.source = SOURCE
        found = bench.documents.documents(SOURCE)
        assert [each.name for each in found] == sorted(NAMES, key=str.encode)
        assert [(each.version, each.content) for each in found] == [
            (2, json.dumps(f"{each.name} again")) for each in found
        ]
        for limit in (1, 2, len(found), len(found) + 1):
            assert bench.documents.documents(SOURCE, limit) == found[:limit]
        for each in found:
            assert bench.documents.document(SOURCE, each.name) == each
            history = bench.documents.document_history(SOURCE, each.name)
            assert [(old.version, old.name) for old in history] == [(2, each.name), (1, each.name)]

    def test_a_document_may_be_as_large_as_is_said(self, bench: Workbench) -> None:
        content = json.dumps("x" * (MAX_DOCUMENT_BYTES - 2))
        assert len(content) == MAX_DOCUMENT_BYTES
        for seen in range(3):
            assert write(bench, seen, content, comment="é" * 1000)
        [found] = bench.documents.documents(SOURCE)
        assert (found.version, found.content) == (3, content)
        assert len(bench.documents.document_history(SOURCE, VIEW)) == 3

    def test_all_versions_are_kept_and_come_in_pages_the_newest_first(self, bench: Workbench) -> None:
        assert all(write(bench, seen, str(seen)) for seen in range(MANY))
        assert versions(bench) == list(range(MANY, 0, -1))
        found: list[Document] = []
        while page := bench.documents.document_history(SOURCE, VIEW, found[-1].version if found else None, 100):
            found += page
        assert [(each.version, each.content) for each in found] == [(n, str(n - 1)) for n in range(MANY, 0, -1)]
        assert bench.documents.document_history(SOURCE, VIEW, 1) == []
        [newest] = bench.documents.documents(SOURCE)
        assert newest.version == MANY

    def test_versions_go_that_no_longer_counted_at_a_moment(self, bench: Workbench) -> None:
        """What counted then stays, and the next version is the one after the newest."""
        times = []
        for seen in range(5):
            assert write(bench, seen, str(seen), "rules/a")
            times.append(bench.clock.now())
            bench.clock.advance(MINUTE)
        assert bench.documents.forget_versions(SOURCE, "rules/", times[0] - MINUTE) == 0
        assert bench.documents.forget_versions(SOURCE, "rules/", times[0]) == 0
        assert bench.documents.forget_versions(SOURCE, "rules/", times[2] - MINUTE / 2) == 1
        assert versions(bench, "rules/a") == [5, 4, 3, 2]
        assert bench.documents.forget_versions(SOURCE, "rules/", times[2]) == 1
        assert bench.documents.forget_versions(SOURCE, "rules/", times[2]) == 0
        assert versions(bench, "rules/a") == [5, 4, 3]
        assert bench.documents.document_history(SOURCE, "rules/a", 4) == [
            each for each in bench.documents.document_history(SOURCE, "rules/a") if each.version == 3
        ]
        assert bench.documents.forget_versions(SOURCE, "rules/", bench.clock.now()) == 2
        assert versions(bench, "rules/a") == [5]
        assert not write(bench, 0, name="rules/a")
        assert not write(bench, 1, name="rules/a")
        again = writing(bench, 5, '"six"', "rules/a")
        assert bench.documents.set_document(again)
        assert bench.documents.set_document(again)
        assert versions(bench, "rules/a") == [6, 5]

    def test_only_versions_of_what_is_meant_go(self, bench: Workbench) -> None:
        names = ["rules/clean", "rules/%", "rule", "Rules/clean", "view", "rules/\U0001f600"]
        for name in names:
            assert all(write(bench, seen, name=name) for seen in range(3))
        bench.source = "other|PARTITION"
        assert all(write(bench, seen, name="rules/clean") for seen in range(3))
        bench.source = SOURCE
        assert bench.documents.forget_versions(SOURCE, "rules/", bench.clock.now()) == 6
        assert [len(versions(bench, name)) for name in names] == [1, 1, 3, 3, 3, 1]
        bench.source = "other|PARTITION"
        assert versions(bench, "rules/clean") == [3, 2, 1]
        bench.source = SOURCE
        assert bench.documents.forget_versions(SOURCE, "view", bench.clock.now()) == 2
        assert bench.documents.forget_versions(SOURCE, "", bench.clock.now()) == 4

    def test_of_many_old_versions_none_is_left(self, bench: Workbench) -> None:
        assert all(write(bench, seen, str(seen)) for seen in range(MANY))
        assert bench.documents.forget_versions(SOURCE, VIEW, bench.clock.now()) == MANY - 1
        assert versions(bench) == [MANY]

    def test_of_many_who_saw_the_same_one_writes(self, bench: Workbench, most_writers: int) -> None:
        if most_writers < 2:
            pytest.skip("this engine takes one at a time")
        for seen in range(6):
            writes = [writing(bench, seen, str(number)) for number in range(most_writers)]
            works = [partial(_tried, bench, each) for each in writes]
            written = [each for each, done in zip(writes, at_once(works), strict=True) if done]
            newest = bench.documents.document(SOURCE, VIEW)
            assert newest is not None
            assert [(each.op, each.version) for each in written] == [(newest.op, newest.version)]
            assert newest.version == seen + 1

    def test_copies_of_one_message_write_one_version(self, bench: Workbench, most_writers: int) -> None:
        if most_writers < 2:
            pytest.skip("this engine takes one at a time")
        for seen in range(3):
            copied = writing(bench, seen)
            assert any(at_once([partial(_tried, bench, copied)] * most_writers))
            assert bench.documents.set_document(copied)
            assert versions(bench) == list(range(seen + 1, 0, -1))


class Changing:
    """Documents as people change them; promise S6."""

    @pytest.fixture(autouse=True)
    def kept(self, bench: Workbench) -> None:
        """Skip a store that keeps none."""
        _ = bench.documents

    def test_a_change_is_made_anew_when_somebody_was_faster(self, coordinators: Coordinators, bench: Workbench) -> None:
        one, other = coordinators(), coordinators(by="other")
        seen: list[str | None] = []

        def change(looked: Looked) -> str:
            seen.append(looked.content)
            if len(seen) == 1:
                other.documents.change("rules/a", lambda _: '"theirs"', "bob", "faster")
            return f'{looked.content} and "mine"'

        written = one.documents.change("rules/a", change, "ana", "a test")
        assert written is not None
        assert (seen, written.content, written.version) == ([None, '"theirs"'], '"theirs" and "mine"', 2)
        assert one.documents.newest("rules/a") == bench.documents.document(SOURCE, "rules/a") == written
        assert [each.author for each in one.documents.history("rules/a")] == ["ana", "bob"]
        assert [each.name for each in one.documents.all()] == ["rules/a"]

    def test_what_is_there_already_is_not_written(self, coordinators: Coordinators) -> None:
        one = coordinators()
        for _ in range(2):
            one.documents.change("rules/a", lambda _: "[]", "ana", "a test")
        assert [each.version for each in one.documents.history("rules/a")] == [1]

    def test_who_is_always_beaten_is_told(self, coordinators: Coordinators) -> None:
        one, other = coordinators(), coordinators(by="other")

        def change(_: Looked) -> str:
            other.documents.change("rules/a", lambda found: (found.content or "") + "x", "bob", "faster")
            return "mine"

        with pytest.raises(PartitionUpdateError, match="others have changed it 20 times meanwhile"):
            one.documents.change("rules/a", change, "ana", "a test")

    @pytest.mark.parametrize("said", [("", "why"), ("ana", " ")], ids=["nobody", "no reason"])
    def test_nobody_changes_anything_without_a_reason(self, coordinators: Coordinators, said: tuple[str, str]) -> None:
        one = coordinators()
        with pytest.raises(InvalidInputError):
            one.documents.change("rules/a", lambda _: "[]", *said)
        assert one.documents.all() == []

    @pytest.mark.parametrize("size", [MAX_DOCUMENT_BYTES, MAX_DOCUMENT_BYTES + 1])
    def test_what_is_too_long_is_refused_by_name(self, coordinators: Coordinators, size: int) -> None:
        one, content = coordinators(), "é" * (size // 2) + "x" * (size % 2)
        if size > MAX_DOCUMENT_BYTES:
            with pytest.raises(InvalidInputError, match=r"document rules/a.*the limit is 65536"):
                one.documents.change("rules/a", lambda _: content, "ana", "a test")
            return
        written = one.documents.change("rules/a", lambda _: content, "ana", "a test")
        assert written is not None
        assert written.content == content

    def test_a_name_that_is_too_long_is_refused(self, coordinators: Coordinators) -> None:
        with pytest.raises(InvalidInputError, match="document"):
            coordinators().documents.change("n" * (MAX_NAME_BYTES + 1), lambda _: "[]", "ana", "a test")

    @pytest.mark.parametrize("fault", LOST)
    def test_s6_a_version_is_written_once(
        self, coordinators: Coordinators, store: PartitionStore, fault: Fault
    ) -> None:
        """However often its message comes, and when it comes late."""
        faulty = FaultyStore(store, {1: fault, 3: fault}, only=("set_document",))
        one = coordinators(store=faulty)
        for number in range(2):
            written = one.documents.change("rules/a", partial(_with, number), "ana", "a test")
            assert written is not None
            assert written.version == number + 1
        faulty.deliver()
        found = one.documents.history("rules/a")
        assert [(each.version, each.content) for each in found] == [(2, "None01"), (1, "None0")]
        assert len(faulty.calls) >= 3

    @pytest.mark.parametrize("fault", LOST)
    @pytest.mark.parametrize("reads", ["document", "document_history", "documents", "look"])
    def test_s6_a_lost_read_is_repeated(
        self, coordinators: Coordinators, store: PartitionStore, reads: str, fault: Fault
    ) -> None:
        faulty = FaultyStore(store, {1: fault}, only=(reads,))
        one = coordinators(store=faulty)
        coordinators().documents.change("rules/a", lambda _: "[]", "ana", "a test")
        read: dict[str, Callable[[], Document | list[Document] | None]] = {
            "document": lambda: one.documents.newest("rules/a"),
            "document_history": lambda: one.documents.history("rules/a"),
            "documents": one.documents.all,
            "look": lambda: one.documents.look("rules/a").document,
        }
        assert read[reads]()
        assert len(faulty.calls) == 2

    @pytest.mark.parametrize("fault", LOST)
    def test_s6_versions_are_forgotten_however_often_that_is_asked(
        self, coordinators: Coordinators, store: PartitionStore, bench: Workbench, fault: Fault
    ) -> None:
        faulty = FaultyStore(store, {1: fault}, only=("forget_versions",))
        one = coordinators(store=faulty)
        for number in range(3):
            one.documents.change("rules/a", partial(_with, number), "ana", "a test")
        bench.clock.advance(2 * LEAST_KEPT)
        one.documents.forget("rules/", bench.clock.now() - LEAST_KEPT)
        faulty.deliver()
        assert [each.version for each in one.documents.history("rules/a")] == [3]
        assert len(faulty.calls) == 2

    def test_what_somebody_may_still_ask_for_is_not_forgotten(
        self, coordinators: Coordinators, bench: Workbench
    ) -> None:
        one = coordinators()
        with pytest.raises(InvalidInputError, match=r"before='.*': is less than a day ago. Give .* or earlier"):
            one.documents.forget("rules/", bench.clock.now() - LEAST_KEPT + MINUTE)
        with pytest.raises(InvalidInputError, match=r"before=.*has no time zone"):
            one.documents.forget("rules/", bench.clock.now().replace(tzinfo=None))

    def test_s6_many_change_the_view_and_nothing_is_lost(
        self, coordinators: Coordinators, store: PartitionStore, most_writers: int
    ) -> None:
        """Each begins from what the one before has written."""
        if most_writers < 2:
            pytest.skip("this engine takes one at a time")
        crowd = min(most_writers, 4)
        works = [partial(_count_up, coordinators(by=f"worker {number}"), 3) for number in range(crowd)]
        at_once(works)
        one = coordinators()
        newest = one.documents.newest("rules/a")
        assert newest is not None
        assert (newest.content, newest.version) == (str(3 * crowd), 3 * crowd)

    def test_the_view_is_empty_until_somebody_says_something(self, coordinators: Coordinators) -> None:
        one = coordinators()
        assert one.documents.view() == View()
        assert one.documents.change_view(lambda view: view, "ana", "a test") == View()
        assert parts_of(one.store).documents is not None


def _tried(bench: Workbench, said: Write) -> bool:
    """Send a message, which an engine may refuse to look at while another one is under way."""
    try:
        return bench.documents.set_document(said)
    except StoreUnavailableError:
        return False


def _with(number: int, looked: Looked) -> str:
    return f"{looked.content}{number}"


def _count_up(one: SourceCoordinator, times: int) -> None:
    for _ in range(times):
        one.documents.change("rules/a", lambda found: str(int(found.content or 0) + 1), "ana", "a test")
