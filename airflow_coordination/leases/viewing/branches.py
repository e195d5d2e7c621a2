"""What a branch allows: no work for nobody, and nothing that would hide what readers see (promise S22).

A partition that runs in a branch publishes aside, and readers see it when the branch shows. Three rules keep what they
see the last publication that counts: *locked*, *same*, and that a branch which was rolled back never comes back. Of
partitions that are in no branch, and add to nothing, nothing is asked: who publishes looks at that first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from airflow_coordination.leases.confirm import Settler
from airflow_coordination.planning.unused.emptying import is_purged
from airflow_coordination.planning.view.showing import branch_of, newest, of_dataset
from airflow_coordination.planning.view.view import EMPTY, Branch, BranchState, View
from airflow_coordination.protocol.beside.documents import VIEW
from airflow_coordination.protocol.beside.parts import Documents, parts_of
from airflow_coordination.protocol.pages import every_head
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.remedies import about, shell_of
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.protocol.writes import Action
from airflow_coordination.values.blocks import Mode
from airflow_coordination.values.errors import BranchError
from airflow_coordination.values.input_errors import InvalidInputError, shown
from airflow_coordination.values.names import branch_dataset
from airflow_coordination.values.status import PartitionStatus

_RETIRED: Final = "retired in branch"
"""In the progress of a partition that was retired; a reset drops it."""


@dataclass(eq=False, repr=False)
class BranchRules:
    """Asks the view of a source, and refuses: :class:`SourceCoordinator` ``.branches``.

    :param store: the store.
    :param settler: asks until the store is heard.
    """

    _store: PartitionStore
    _settler: Settler

    @cached_property
    def _documents(self) -> Documents | None:
        return parts_of(self._store).documents

    def view(self, source: str) -> View:
        """Return what readers see of a source: one statement; an empty view where the store keeps no documents.

        :param source: its stored identifier.
        :raises InvalidInputError: when the view is corrupt.
        """
        kept = self._documents
        if kept is None:
            return EMPTY
        return View.said_by(self._settler.repeat("read the view", lambda: kept.document(source, VIEW)))

    def begun(self, source: str, number: int) -> View:
        """Return the view of a source, in which a branch has begun and does not show yet.

        :param source: its stored identifier.
        :raises InvalidInputError: when there is no such branch, or it is not begun.
        """
        if isinstance(number, bool) or not isinstance(number, int):
            raise InvalidInputError("branch", number, "is no number of a branch", "Give the number that `begin` said")
        view = self.view(source)
        if view.state_of(number) is not BranchState.BEGUN:
            known = view.branch(number)
            problem = f"is {known.state}, not begun" if known else "is not there"
            others = ", ".join(str(each.number) for each in view.branches if each.begun) or "none"
            raise InvalidInputError("branch", number, problem, f"Name one that is begun ({others}), or begin one")
        return view

    def stays_in(self, partition: Partition) -> int | None:
        """Return the branch that a partition goes on in when it runs again: its own, while that one is begun."""
        if partition.branch is None:
            return None
        begun = self.view(partition.source).state_of(partition.branch) is BranchState.BEGUN
        return partition.branch if begun else None

    def shown(self, source: str) -> frozenset[int]:
        """Return the branches that readers see: not those that have begun, nor those that were rolled back.

        :param source: its stored identifier.
        """
        return frozenset(self.view(source).shown)

    def leaves_out_notes(self, partition: Partition, view: View | None = None) -> bool:
        """Return whether what a partition says to follow its ending is left out: it was done for the base long ago.

        So it is while its branch is begun, unless that was begun with ``then``.

        :param view: where it was read already.
        """
        if partition.branch is None:
            return False
        branch = (view or self.view(partition.source)).branch(partition.branch)
        return branch is not None and branch.begun and not branch.then

    def check_reset(self, seen: Partition, branch: int | None, *, out_of_branch: bool = False) -> None:
        """Refuse a reset whose result would hide what a branch shows, or be hidden by it.

        The partition is read before the view: so of two who reset it into two branches one sees the other's.

        :param branch: that it is reset into, ``None`` = out of any.
        :param out_of_branch: although it was retired, so that others stand for its rows; in its own branch, too.
        :raises BranchError: *locked*, *one*, or because it was retired.
        :raises InvalidInputError: when the branch is not begun.
        """
        view = EMPTY
        if branch is not None:
            view = self.begun(seen.source, branch)
        elif seen.branch is not None:
            view = self.view(seen.source)
        if seen.branch is None:
            return
        number = seen.branch
        if number == branch:
            if not out_of_branch and retired_in(seen) == number:
                stands = f"it was retired in branch {number}, in which others stand for its rows. Leave it"
                raise BranchError(Action.RESET, seen.key, f"{stands}, or say --out-of-branch if that is meant.")
            return
        if view.state_of(number) is BranchState.BEGUN:
            self._refuse_locked(seen, number, branch)
        if not out_of_branch and (problem := self._stands_or_stood(view, seen)):
            raise BranchError(Action.RESET, seen.key, f"{problem}, or say --out-of-branch if that is meant.")

    def needed(self, partitions: Sequence[Partition]) -> set[str]:
        """Return the keys of those that no clean-up may remove, because of the branch that they run in.

        It has begun, and is published only whole; or they were retired in it, and it was not rolled back. The view is
        read only where any of them is in a branch.

        :param partitions: of one source.
        """
        there = [each for each in partitions if each.branch is not None]
        if not there:
            return set()
        view = self.view(there[0].source)
        begun = {each.key for each in there if view.state_of(each.branch or 0) is BranchState.BEGUN}
        return begun | {each.key for each in there if self._is_retired(view, each)}

    def _is_retired(self, view: View, seen: Partition) -> bool:
        """Return whether a partition was retired, in a branch that was not rolled back."""
        number = retired_in(seen)
        return number is not None and view.state_of(number) is not BranchState.ROLLED_BACK

    def check_removal(self, action: Action, seen: Partition) -> None:
        """Refuse to delete what was retired: named again by a supplier, it would bring its rows back beside the others.

        :raises BranchError: naming the ways out.
        """
        number = retired_in(seen)
        if number is None:
            return
        view = self.view(seen.source)
        if not self._is_retired(view, seen):
            return
        problem = (
            f"it was retired in branch {number}, in which others stand for its rows: a supplier that names it again"
        )
        into = ["--branch", str(number)] if view.state_of(number) is BranchState.BEGUN else []
        options = [*into, "--out-of-branch"]
        reset = about(shell_of(self._store), "reset", seen.source, seen.key, options=options)
        ways = f"Leave it; or `{reset}`, and delete it then, if nobody names it any more"
        raise BranchError(action, seen.key, f"{problem} would bring them back beside these. {ways}.")

    def others_stand(self, view: View, seen: Partition) -> bool:
        """Return whether others stand for a partition's rows: run again, it would bring them back beside theirs.

        It was retired in a branch that shows, or was new in one that retired others and was rolled back.
        """
        branch = None if seen.branch is None else view.branch(seen.branch)
        if branch is None:
            return False
        return self._was_new(branch, seen) or (branch.shows and retired_in(seen) is not None)

    def stands(self, view: View, seen: Partition) -> bool:
        """Return whether a partition stands for others, which a roll back of its branch would still bring back."""
        branch = None if seen.branch is None else view.branch(seen.branch)
        return (
            branch is not None and branch.state is BranchState.PUBLISHED and branch.retires and retired_in(seen) is None
        )

    def _stands_or_stood(self, view: View, seen: Partition) -> str | None:
        """Return why rows would be there twice, in two partitions, if one ran outside of the branch it was in."""
        number = seen.branch
        if self.stands(view, seen):
            problem = f"it stands for others that were retired in branch {number}, which would come back beside it"
            finalize = about(shell_of(self._store), "branches finalize", seen.source, str(number))
            return f"{problem} if that one was rolled back. Make it final first: `{finalize}`"
        if not self.others_stand(view, seen):
            return None
        if retired_in(seen) is not None:
            return f"it was retired in branch {number}, which shows: others stand for its rows. Leave it"
        leave = "Leave it" if seen.status is PartitionStatus.COMPLETED else "Finish it"
        return f"it was new in branch {number}, which was rolled back: readers see its rows in others. {leave}"

    def _was_new(self, branch: Branch, seen: Partition) -> bool:
        """Return whether a partition was there for what a branch retired, and that branch was rolled back."""
        if branch.state is not BranchState.ROLLED_BACK or not branch.retires or retired_in(seen) is not None:
            return False
        heads = self._settler.repeat("read the head records", lambda: self._store.heads(seen.source, key=seen.key))
        return all(branch_of(head) is not None for head in heads)

    def _refuse_locked(self, seen: Partition, number: int, branch: int | None) -> None:
        if retired_in(seen) == number:
            problem = f"it was retired in branch {number}, which has begun: others stand for its rows there"
            here = "Leave it"
        elif branch is None:
            problem = f"it runs in branch {number}, which has begun: a result outside of it would hide it, or be hidden"
            here = f"Reset it in the branch with --branch {number}"
        else:
            problem = f"it runs in branch {number}, which has begun, too: two branches cannot both have it"
            here = f"Publish branch {number} first"
        raise BranchError(Action.RESET, seen.key, f"{problem}. {here}, or {self._roll_back(seen.source, number)}.")

    def check_ending(self, partition: Partition, added: Iterable[str], heads: Mapping[str, HeadRecord]) -> View:
        """Refuse an ending that nobody would ever see, or that would hide what readers see.

        :param added: the datasets that it adds to.
        :param heads: the partition's present head records by their stored names, where it may add to them.
        :return: the view that it was judged by.
        :raises BranchError: its branch was rolled back, or *same*.
        """
        view = self.view(partition.source)
        self._check_counts(view, partition, "end the tenure of")
        for dataset in added:
            self._check_same(view, partition, dataset, heads.values(), "end the tenure of")
            self._check_stays(view, partition, dataset, heads.values(), "end the tenure of")
        return view

    def check_block(self, partition: Partition, dataset: str, mode: Mode) -> None:
        """Refuse a block whose ending would be refused, before the work for it is done.

        :raises BranchError: as :meth:`check_ending`.
        """
        view = self.view(partition.source)
        self._check_counts(view, partition, "publish to")
        if mode == "append" and (view.branches or view.hidden):
            hear = self._settler.attempts("read the head records").hear
            heads = list(every_head(self._store, partition.source, key=partition.key, hear=hear))
            self._check_same(view, partition, dataset, heads, "publish to")
            self._check_stays(view, partition, dataset, heads, "publish to")

    def _check_counts(self, view: View, partition: Partition, action: str) -> None:
        number = partition.branch
        if number is None or view.state_of(number) is not BranchState.ROLLED_BACK:
            return
        shell = shell_of(self._store)
        problem = f"it runs in branch {number}, which was rolled back: no reader would ever see what it publishes"
        reset = about(shell, "reset", partition.source, partition.key)
        finish = about(shell, "finish", partition.source, partition.key)
        ways = f"Let it run outside of any branch: `{reset}`; or leave it with what it has published before: `{finish}`"
        raise BranchError(action, partition.key, f"{problem}. {ways}.")

    def _check_same(
        self, view: View, partition: Partition, dataset: str, heads: Iterable[HeadRecord], action: str
    ) -> None:
        number = partition.branch
        if number is not None and view.state_of(number) is BranchState.BEGUN:
            return  # nobody sees what it adds to, nor what it adds, until all of it shows
        seen = newest(view, of_dataset(heads, dataset))
        if seen is None or branch_of(seen) == number:
            return
        other = branch_of(seen)
        problem = f"it would add to what it has in {_place(number)}, and readers see {_place(other)} of dataset "
        ways = [
            "publish with mode='replace'",
            "run it in a branch (`branches begin`), which has what it publishes alone",
        ]
        if other is not None and view.state_of(other) is BranchState.PUBLISHED:
            ways.append(self._roll_back(partition.source, other))
        reason = f"{problem}{shown(dataset)}, which that would hide. To go on, {'; or '.join(ways)}."
        raise BranchError(action, partition.key, reason)

    def _check_stays(
        self, view: View, partition: Partition, dataset: str, heads: Iterable[HeadRecord], action: str
    ) -> None:
        """Refuse to add to what is being purged: its rows would be there again, with those that are added (S22)."""
        stored = branch_dataset(partition.branch, dataset)
        head = next((each for each in heads if each.dataset == stored and each.blocks), None)
        entry = head and next((each for each in view.hidden if is_purged(view, each, head)), None)
        if entry:
            problem = (
                f"it would add to what it has of dataset {shown(dataset)}, which is being purged ({entry.interval}, "
            )
            ways = "publish with mode='replace'; or wait until the purge has emptied it, and reset it"
            reason = f"{problem}hidden by {entry.by}: {entry.why}). To go on, {ways}."
            raise BranchError(action, partition.key, reason)

    def _roll_back(self, source: str, number: int) -> str:
        told = about(shell_of(self._store), "branches roll-back", source, str(number))
        return f"roll branch {number} back: `{told}`"


def _place(number: int | None) -> str:
    return "the base" if number is None else f"branch {number}"


def as_retired(number: int) -> dict[str, Any]:
    """Return the progress of a partition that was retired in a branch."""
    return {_RETIRED: number}


def retired_in(partition: Partition) -> int | None:
    """Return the branch that a partition was retired in, so that others stand for its rows; ``None`` if it was not."""
    state = partition.progress_state if partition.branch is not None else None
    found = state.get(_RETIRED) if isinstance(state, dict) and len(state) == 1 else None
    return found if found == partition.branch else None
