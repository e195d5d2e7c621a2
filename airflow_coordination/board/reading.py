"""The reads of the routes: permissions first, then the store."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final, Generic, TypeVar

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser

from airflow_coordination.board.again import offer
from airflow_coordination.board.counting import COUNTER, PARKED, RANGED
from airflow_coordination.board.models import (
    CountView,
    NeedView,
    Overview,
    OwnersPage,
    ParkedBeside,
    PartitionPage,
    PartitionView,
    SourceView,
    StoreView,
)
from airflow_coordination.board.showing.notes import view_for
from airflow_coordination.board.source_models import (
    AgainPortion,
    RangesPage,
    RangeView,
    SourceAccounting,
    Tile,
    TilesPage,
)
from airflow_coordination.board.stores import StoreDoesNotAnswerError, connections, grace_at, opened
from airflow_coordination.board.views import (
    count_views,
    holding_view,
    need_views,
    offers,
    partition_view,
    row,
    source_view,
)
from airflow_coordination.board.visibility import (
    NotVisibleError,
    coordinator_of,
    open_visible,
    sees_all,
    visible_sources,
)
from airflow_coordination.delivery.again.whole_source import again_portion
from airflow_coordination.leases.explaining.facts import Inquiry
from airflow_coordination.leases.explaining.reasons import explain
from airflow_coordination.monitoring.counts import Counts
from airflow_coordination.monitoring.needs import TROUBLES
from airflow_coordination.monitoring.owners import owners
from airflow_coordination.monitoring.selection import Filter, listed
from airflow_coordination.monitoring.states import WORDS, state_of, word_of
from airflow_coordination.monitoring.timeline import timeline
from airflow_coordination.outputs.heads.showing import read_view
from airflow_coordination.planning.view.view import EMPTY
from airflow_coordination.protocol import remedies
from airflow_coordination.protocol.beside.key_ranges import LOOKED_AT, KeyRange
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.values.accounting import of_partitions
from airflow_coordination.values.names import UPKEEP, check_key, split_source
from airflow_coordination.values.settings import Settings
from airflow_coordination.values.status import PartitionStatus

ROWS: Final = 1_950
"""The most partitions of a list that one request looks at: all that it reads is less than 2,000 rows."""
TILES: Final = 1_000
"""The most tiles that one request brings."""
_NO_RANGES: Final = "This store counts no ranges of keys, because that would read every partition: look at the map."
_NOT_WHOLE: Final = (
    f"Of what is delayed, due, or may have expired only the first {LOOKED_AT} each are told apart: "
    "the others are drawn as claimable, delayed, or held."
)
MOST_TENURES: Final = 100
"""The most tenures of a partition that are shown, the newest."""
Body = TypeVar("Body")


@dataclass(frozen=True, slots=True)
class Read(Generic[Body]):
    """What was read of one store, and when by the store's clock, which is no part of the body."""

    body: Body
    now: datetime


def overview(user: BaseUser, dag: str | None) -> Overview:
    """Return every store with the user's sources; one that does not answer says so, and the others are there.

    :param dag: only sources that this DAG has registered.
    """
    found = [_store_view(user, connection, dag) for connection in connections()]
    stores = [store for store, _ in found]
    needs = sorted((need for _, theirs in found for need in theirs), key=_urgency)
    order = sorted((source for store in stores for source in store.sources), key=_worst_first)
    placed = [(each.store, each.source) for each in order]
    return Overview(stores=stores, duties=sees_all(user), needs=needs, order=placed)


def _urgency(need: NeedView) -> tuple[int, int, str, str]:
    return TROUBLES.index(need.kind), -need.number, need.store, need.source


def _worst_first(source: SourceView) -> tuple[bool, int, int, str, str]:
    """Return what sources are ordered by: work that nobody supplies last, then by trouble, then by what is left."""
    words = source.numbers.in_words if source.numbers else None
    left = sum(asdict(words).values()) - words.completed if words else 0
    rank = TROUBLES.index(source.trouble) if source.trouble else len(TROUBLES)
    return source.name.startswith(UPKEEP), rank, -left, source.name, source.store


def page(
    user: BaseUser, connection: str, source: str, chosen: Filter, after: str | None, limit: int
) -> Read[PartitionPage]:
    """Return a page of partitions.

    :param chosen: only what it finds; for an owner or an error at most :data:`ROWS` are looked at.
    :param after: only keys above this one in byte order.
    :param limit: partitions; one more is read, to know whether to go on.
    :raises NotVisibleError: when the user does not see such a source.
    :raises StoreDoesNotAnswerError: when the store does not.
    """
    with open_visible(user, connection, source) as (store, seen):
        found, following = listed(coordinator_of(user, store, seen), chosen, after, limit, ROWS)
        now = store.now()
        view = view_for(store, found)
        grace = grace_at(connection)
        shown = [row(each, now, view, grace) for each in found]
        typed, offered = _typed(store, source, chosen), offers(store, seen)
        return Read(PartitionPage(typed=typed, offers=offered, partitions=shown, after=following), now)


def tiles(user: BaseUser, connection: str, source: str, chosen: Filter, after: str | None) -> Read[TilesPage]:
    """Return a part of a source's map; raises as :func:`page` does."""
    with open_visible(user, connection, source) as (store, seen):
        found, following = listed(coordinator_of(user, store, seen), chosen, after, TILES, ROWS)
        now = store.now()
        shown = [Tile(key=each.key, state=state_of(each), word=word_of(each, now)) for each in found]
        return Read(TilesPage(tiles=shown, after=following), now)


def ranges(user: BaseUser, connection: str, source: str) -> Read[RangesPage]:
    """Return where in the keys of a source what is, as it was counted last; raises as :func:`page` does."""
    with open_visible(user, connection, source) as (store, _):
        now = store.now()
        if parts_of(store).ranges is None:
            return Read(RangesPage(ranges=None, said=_NO_RANGES, counted_at=None), now)
        counted = RANGED.latest(store, [source]).get(source)
        if counted is None:
            return Read(RangesPage(ranges=None, said="is being counted …", counted_at=None), now)
        shown = [_range_view(each) for each in counted.found.ranges]
        said = None if counted.found.whole else _NOT_WHOLE
        return Read(RangesPage(ranges=shown, said=said, counted_at=counted.now), now)


def _range_view(found: KeyRange) -> RangeView:
    words = {word: getattr(found, word) for word in WORDS}
    return RangeView(first=found.first, last=found.last, counts=Counts(**words))


def accounting(user: BaseUser, connection: str, source: str, after: str | None) -> Read[SourceAccounting]:
    """Return what became of the records of some partitions of a source; raises as :func:`page` does.

    :param after: as the portion before said.
    :raises InvalidInputError: when that is no key, or what a partition has stored is corrupt.
    """
    with open_visible(user, connection, source) as (store, _):
        some = store.page(source, None, check_key(after, "after") if after else None, ROWS)
        found, typed = of_partitions(some), remedies.about(remedies.shell_of(store), "accounting", source)
        body = SourceAccounting(
            partitions=found.partitions,
            accounting=count_views(found) if found.partitions else [],
            typed=typed,
            dead_lettered=found.dead_lettered,
            after=some[-1].key if len(some) == ROWS else None,
        )
        return Read(body, store.now())


def delivered_again(user: BaseUser, connection: str, source: str, after: str | None) -> Read[AgainPortion]:
    """Return what became of some of the dead letters of a source; raises as :func:`page` does.

    :param after: as the portion before said.
    :raises InvalidInputError: when that is no key.
    """
    with open_visible(user, connection, source) as (store, _):
        found, following = again_portion(store, source, check_key(after, "after") if after else None)
        counts = [CountView(**asdict(line)) for line in found.lines()]
        body = AgainPortion(
            partitions=found.partitions, counts=counts, done=found.done, void=found.void, after=following
        )
        return Read(body, store.now())


def _typed(store: PartitionStore, source: str, chosen: Filter) -> str:
    prefix, name, _ = split_source(source)
    return remedies.listing(
        remedies.shell_of(store),
        name,
        prefix,
        status=chosen.state,
        error_like=chosen.error_like,
        key_prefix=chosen.key_prefix,
        owner_like=chosen.owner_like,
        error_alike=chosen.error_alike,
        key_from=chosen.key_from,
        key_to=chosen.key_to,
    )


def partition(user: BaseUser, connection: str, source: str, key: str) -> Read[PartitionView]:
    """Return one partition with what happened to it and its head records; raises as :func:`page` does."""
    with open_visible(user, connection, source) as (store, seen):
        grace = grace_at(connection)
        found, beside, now = Inquiry(store, source, Settings(reassign_grace=grace)).about(check_key(key))
        if found is None or found.deleted:
            raise NotVisibleError
        happened = timeline(coordinator_of(user, store, seen), key, MOST_TENURES)
        view = partition_view(store, found, seen, explain(found, beside, now), happened, now, grace)
        again = offer(user, store, seen, found)
        more = {"beside": _parked_beside(store, found), "offers": [*view.offers, *([again] if again else [])]}
        return Read(view.model_copy(update=more), now)


def _parked_beside(store: PartitionStore, found: Partition) -> ParkedBeside | None:
    """Return the parked partitions before and behind one; ``None`` of one that is not parked."""
    if not found.parked:
        return None
    keys = [each.key for each in store.page(found.source, PartitionStatus.CLOSED, None, PARKED + 1, parked=True)]
    read = keys[:PARKED]
    if found.key not in read:
        return _far_behind(store, found)
    place = read.index(found.key)
    following = keys[place + 1] if place + 1 < len(keys) else None
    previous = read[place - 1] if place else None
    return ParkedBeside(
        previous=previous, following=following, place=place + 1, number=len(read), whole=len(keys) <= PARKED
    )


def _far_behind(store: PartitionStore, found: Partition) -> ParkedBeside:
    """Return the same beyond those that are read: one row ahead, and one back where the store goes back."""
    ahead = store.page(found.source, PartitionStatus.CLOSED, found.key, 1, parked=True)
    ranges = parts_of(store).ranges
    previous = ranges.parked_before(found.source, found.key) if ranges else None
    following = ahead[0].key if ahead else None
    return ParkedBeside(previous=previous, following=following, place=None, number=PARKED, whole=False)


def holdings(user: BaseUser, connection: str, source: str, after: str | None, limit: int) -> Read[OwnersPage]:
    """Return who holds what in a source; raises as :func:`page` does."""
    with open_visible(user, connection, source) as (store, _):
        found = owners(store, source, limit, after, grace_at(connection))
        view = read_view(store, source) if any(each.branch is not None for each in found.held) else EMPTY
        return Read(OwnersPage(held=[holding_view(each, view) for each in found.held], after=found.after), found.now)


def _store_view(user: BaseUser, connection: str, dag: str | None) -> tuple[StoreView, list[NeedView]]:
    try:
        with opened(connection) as store:
            seen = [each for each in visible_sources(user, store) if dag is None or dag in each.dags]
            counted = COUNTER.latest(store, [each.identifier for each in seen])
            shown = [source_view(connection, each, counted.get(each.identifier)) for each in seen]
            needs = [need for each in shown for need in need_views(each, counted.get(each.source))]
            return StoreView(connection=connection, sources=shown), needs
    except StoreDoesNotAnswerError as error:
        return StoreView(connection=connection, problem=str(error)), []
