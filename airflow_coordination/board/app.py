"""The application under ``/coordination``: the API's routes and the page's modules."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Final

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import AwareDatetime

from airflow_coordination.board import acting, again, pausing, reading
from airflow_coordination.board import datasets as of_source
from airflow_coordination.board.acting import MayNotActError
from airflow_coordination.board.action_models import (
    ActionRequest,
    ActionResult,
    AgainDryRunRequest,
    AgainDryRunResult,
    AgainRequest,
    AgainResult,
    DryRunRequest,
    DryRunResult,
    PauseDryRunRequest,
    PauseDryRunResult,
    PauseRequest,
    PauseResult,
)
from airflow_coordination.board.charts.ended import ended_page
from airflow_coordination.board.charts.lately import ended_lately_page
from airflow_coordination.board.dataset_models import DatasetPage, DatasetsPage
from airflow_coordination.board.deeds import Asked, deeds_page
from airflow_coordination.board.detail import detail
from airflow_coordination.board.duties import acting as of_duties
from airflow_coordination.board.duties import reading as duties_of
from airflow_coordination.board.duties.changes import AskedSettings, settings_page
from airflow_coordination.board.duties.models import (
    ConfigHistory,
    ConfigPage,
    ConfigRequest,
    ConfigResult,
    DutiesPage,
    RunNowRequest,
    RunNowResult,
    SettingsPage,
)
from airflow_coordination.board.models import DeedsPage, Overview, OwnersPage, PartitionPage, PartitionView, Wanted
from airflow_coordination.board.reading import Body, Read
from airflow_coordination.board.requests import AUTHENTICATED, SAME_ORIGIN, STORE_TIME, ConditionalRoute, User
from airflow_coordination.board.showing import acting as of_view
from airflow_coordination.board.showing import purging
from airflow_coordination.board.showing.models import (
    PurgeDryRunRequest,
    PurgeDryRunResult,
    RulesPage,
    ViewChangeRequest,
    ViewChangeResult,
    ViewDryRunRequest,
    ViewDryRunResult,
    ViewPage,
)
from airflow_coordination.board.showing.reading import view_page
from airflow_coordination.board.showing.rules import rules_page
from airflow_coordination.board.source_models import (
    AgainPortion,
    EndedLately,
    EndedPage,
    RangesPage,
    SourceAccounting,
    SourceDetail,
    TilesPage,
)
from airflow_coordination.board.stores import StoreDoesNotAnswerError
from airflow_coordination.board.visibility import NotVisibleError
from airflow_coordination.monitoring.deeds import Meant, Reach
from airflow_coordination.monitoring.selection import Filter
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import storable

MOST_ROWS: Final = 1_000
MOST_CHANGES: Final = 50
API_VERSION: Final = "1"
API: Final = f"/api/v{API_VERSION}"
_STATIC: Final = Path(__file__).parent / "static"
_NAMES: Final = frozenset(path.relative_to(_STATIC).as_posix() for path in _STATIC.rglob("*.js"))
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}

Store = Annotated[str, Query(description="The id of the store's connection")]
Source = Annotated[str, Query(description="The stored source identifier, as the overview gives it")]

After = Annotated[str | None, Query(description="Only keys above this one in byte order")]


def _chosen(
    status: Annotated[Wanted | None, Query(description="Only those in this state")] = None,
    prefix: Annotated[str | None, Query(description="Only keys that begin so")] = None,
    owner: Annotated[str | None, Query(description="Only those of an owner with this in its name")] = None,
    error: Annotated[str | None, Query(description="Only those with this in their last error")] = None,
    alike: Annotated[str | None, Query(description="Only those with this last error, but for numbers and keys")] = None,
    key_from: Annotated[str | None, Query(alias="from", description="Only this key and those above it")] = None,
    key_to: Annotated[str | None, Query(alias="to", description="Only this key and those below it")] = None,
) -> Filter:
    return Filter(
        state=str(status) if status else None,
        error_like=error or None,
        key_prefix=prefix or None,
        owner_like=owner or None,
        error_alike=alike or None,
        key_from=key_from or None,
        key_to=key_to or None,
    )


Chosen = Annotated[Filter, Depends(_chosen)]
routes = APIRouter(route_class=ConditionalRoute)


@routes.get(f"{API}/sources")
def sources(user: User, dag: Annotated[str | None, Query(description="Only those of this DAG")] = None) -> Overview:
    """Return every store with those of its sources that the user may see, in numbers."""
    return reading.overview(user, dag)


@routes.get(f"{API}/partitions")
def partitions(
    response: Response,
    user: User,
    store: Store,
    source: Source,
    chosen: Chosen,
    after: After = None,
    limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 100,
) -> PartitionPage:
    """Return a page of a source's partitions in byte order of their keys."""
    return _timed(response, reading.page(user, store, source, chosen, after, limit))


@routes.get(f"{API}/map")
def tiles(
    response: Response, user: User, store: Store, source: Source, chosen: Chosen, after: After = None
) -> TilesPage:
    """Return a part of a source's map: each partition's key and state."""
    return _timed(response, reading.tiles(user, store, source, chosen, after))


@routes.get(f"{API}/ranges")
def ranges(response: Response, user: User, store: Store, source: Source) -> RangesPage:
    """Return where in the keys of a source what is: some 49 ranges of about as many partitions each."""
    return _timed(response, reading.ranges(user, store, source))


@routes.get(f"{API}/source")
def source(response: Response, user: User, store: Store, source: Source) -> SourceDetail:
    """Return one source in detail: how fast and until when, who works, what failed, and what one might set."""
    return _timed(response, detail(user, store, source))


@routes.get(f"{API}/ended")
def ended(response: Response, user: User, store: Store, source: Source) -> EndedPage:
    """Return how much of a source ended in each five minutes of the last day."""
    return _timed(response, ended_page(user, store, source))


@routes.get(f"{API}/ended/lately")
def lately(
    user: User,
    dag: Annotated[str | None, Query(description="Only sources of this DAG")] = None,
    day: Annotated[bool, Query(description="Of a day, of all sources together: a look reads some of them")] = False,
) -> EndedLately:
    """Return how much ended in each five minutes of three hours, in all sources together and in each; or of a day."""
    return ended_lately_page(user, dag, day=day)


@routes.get(f"{API}/accounting")
def accounting(
    response: Response,
    user: User,
    store: Store,
    source: Source,
    after: Annotated[str | None, Query(description="Only what is behind this, as the portion before said")] = None,
) -> SourceAccounting:
    """Add up what became of the records of a portion of a source."""
    return _timed(response, reading.accounting(user, store, source, after))


@routes.get(f"{API}/accounting/again")
def accounting_again(
    response: Response,
    user: User,
    store: Store,
    source: Source,
    after: Annotated[str | None, Query(description="Only what is behind this, as the portion before said")] = None,
) -> AgainPortion:
    """Return what became of a portion of a source's dead letters that were delivered again."""
    return _timed(response, reading.delivered_again(user, store, source, after))


@routes.get(f"{API}/partition")
def partition(
    response: Response, user: User, store: Store, source: Source, key: Annotated[str, Query()]
) -> PartitionView:
    """Return one partition. A key may hold any character, so it is no part of the path."""
    return _timed(response, reading.partition(user, store, source, key))


@routes.get(f"{API}/owners")
def owners(
    response: Response,
    user: User,
    store: Store,
    source: Source,
    after: After = None,
    limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 100,
) -> OwnersPage:
    """Return who holds what in a source: since when, when it was last heard of, and until when the lease lasts."""
    return _timed(response, reading.holdings(user, store, source, after, limit))


@routes.get(f"{API}/audit")
def audit(
    response: Response,
    user: User,
    store: Store,
    source: Annotated[str | None, Query(description="Only this one: a stored identifier; else all you see")] = None,
    by: Annotated[str | None, Query(description="Only what this person did")] = None,
    action: Annotated[str | None, Query(description="Only this action")] = None,
    reach: Annotated[Reach | None, Query(description="Only to the source, one partition, or many at once")] = None,
    has: Annotated[str | None, Query(description="Only with this in its reason, or in a partition's key")] = None,
    since: Annotated[AwareDatetime | None, Query(description="Only what was done since, with a time zone")] = None,
    after: Annotated[str, Query(description="As the page before said")] = "",
    limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 100,
    became: Annotated[bool, Query(description="Also what became of it: 100 partitions are read for that")] = False,
) -> DeedsPage:
    """Return what people did, the newest first; what somebody did to many partitions at once is one line."""
    meant = Meant(by=by or None, action=action or None, reach=reach, has=has or None, since=since)
    return _timed(response, deeds_page(user, store, source or None, Asked(meant, after, limit, became)))


@routes.get(f"{API}/documents")
def documents(
    response: Response,
    user: User,
    store: Store,
    source: Annotated[str | None, Query(description="Only this one: a stored identifier; else all")] = None,
    document: Annotated[str | None, Query(description="Only this document of the source, by name")] = None,
    before: Annotated[int | None, Query(ge=1, le=2**53, description="Of that one only versions older")] = None,
    by: Annotated[str | None, Query(description="Only what this person or duty has set")] = None,
    has: Annotated[str | None, Query(description="Only with this in its reason")] = None,
    since: Annotated[AwareDatetime | None, Query(description="Only what was set since, with a time zone")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_CHANGES)] = 30,
) -> SettingsPage:
    """Return what people and duties have set, the newest first: settings and rules, with what they were before."""
    meant = Meant(by=by or None, has=has or None, since=since)
    asked = AskedSettings(source or None, document or None, before, meant, limit)
    return _timed(response, settings_page(user, store, asked))


@routes.get(f"{API}/datasets")
def datasets(response: Response, user: User, store: Store, source: Source) -> DatasetsPage:
    """Return what a source's datasets add up to, by the sums that the planner of compaction keeps."""
    return _timed(response, of_source.datasets(user, store, source))


@routes.get(f"{API}/dataset")
def dataset(
    response: Response,
    user: User,
    store: Store,
    source: Source,
    dataset: Annotated[str, Query()],
    after: Annotated[str | None, Query(description="Only chunks behind this place")] = None,
    limit: Annotated[int, Query(ge=1, le=of_source.MOST_CHUNKS)] = of_source.MOST_CHUNKS,
) -> DatasetPage:
    """Return one dataset with a page of its chunks, the newest first."""
    return _timed(response, of_source.dataset(user, store, source, dataset, after, limit))


@routes.get(f"{API}/view")
def view(
    response: Response,
    user: User,
    store: Store,
    source: Source,
    dataset: Annotated[str | None, Query(description="Only what is hidden of this dataset")] = None,
) -> ViewPage:
    """Return what readers see of a source: its branches, and what is hidden of its datasets."""
    return _timed(response, view_page(user, store, source, dataset))


@routes.get(f"{API}/rules")
def rules(
    response: Response,
    user: User,
    store: Store,
    source: Source,
    dataset: Annotated[str, Query()],
    of: Annotated[str | None, Query(description="Also which of them decides about this key or interval")] = None,
) -> RulesPage:
    """Return the rules that decide about a dataset, in their order, with what each decides and when that changes."""
    return _timed(response, rules_page(user, store, source, dataset, of or None))


@routes.get(f"{API}/duties")
def duties(response: Response, user: User, store: Store) -> DutiesPage:
    """Return what happens by itself in a store: groups of duties, what each did, who leads, what is next."""
    return _timed(response, duties_of.duties(user, store))


@routes.get(f"{API}/config")
def config(response: Response, user: User, store: Store) -> ConfigPage:
    """Return the configuration of the duties: each key with its value, its default, and what has set it."""
    return _timed(response, duties_of.config(user, store))


@routes.get(f"{API}/config/history")
def config_history(
    response: Response,
    user: User,
    store: Store,
    before: Annotated[int | None, Query(ge=1, le=2**53, description="Only versions older than this one")] = None,
    limit: Annotated[int, Query(ge=1, le=duties_of.MOST_VERSIONS)] = 20,
) -> ConfigHistory:
    """Return versions of the configuration with who has set what and why, the newest first."""
    return _timed(response, duties_of.history(user, store, before, limit))


@routes.post(f"{API}/config", dependencies=[SAME_ORIGIN])
def change_config(user: User, asked: ConfigRequest) -> ConfigResult:
    """Change keys of the configuration, only if nobody has set them otherwise since; in force from the next runs on."""
    return of_duties.change_config(user, asked)


@routes.post(f"{API}/duties/run-now", dependencies=[SAME_ORIGIN])
def run_now(user: User, asked: RunNowRequest) -> RunNowResult:
    """Let a group that waits for its time be run by whoever comes next."""
    return of_duties.run_now(user, asked)


@routes.post(f"{API}/actions/dry-run", dependencies=[SAME_ORIGIN])
def dry_run(user: User, asked: DryRunRequest) -> DryRunResult:
    """Count what an action would fall on, and say for which of it it would be refused; nothing is changed."""
    return acting.dry_run(user, asked)


@routes.post(f"{API}/actions", dependencies=[SAME_ORIGIN])
def act(user: User, asked: ActionRequest) -> ActionResult:
    """Do something to partitions that a dry run has counted, each only if it still is what it was."""
    return acting.act(user, asked)


@routes.post(f"{API}/actions/again/dry-run", dependencies=[SAME_ORIGIN])
def again_dry_run(user: User, asked: AgainDryRunRequest) -> AgainDryRunResult:
    """Say what a reset of one partition would do, and which run would be triggered for it; nothing is changed."""
    return again.dry_run(user, asked)


@routes.post(f"{API}/actions/again", dependencies=[SAME_ORIGIN])
def act_again(user: User, asked: AgainRequest) -> AgainResult:
    """Reset one partition, only if it still is what it was, and trigger a run of its DAG that tries it first."""
    return again.act(user, asked)


@routes.post(f"{API}/pause/dry-run", dependencies=[SAME_ORIGIN])
def pause_dry_run(user: User, asked: PauseDryRunRequest) -> PauseDryRunResult:
    """Say what a pause would hold back, or what would go on without it; nothing is changed."""
    return pausing.dry_run(user, asked)


@routes.post(f"{API}/pause", dependencies=[SAME_ORIGIN])
def pause(user: User, asked: PauseRequest) -> PauseResult:
    """Pause or resume a whole source, only if nobody has since the user saw it."""
    return pausing.set_pause(user, asked)


@routes.post(f"{API}/view/dry-run", dependencies=[SAME_ORIGIN])
def view_dry_run(user: User, asked: ViewDryRunRequest) -> ViewDryRunResult:
    """Say what a change of a branch, or of what is hidden, would do to what readers see; nothing is changed."""
    return of_view.dry_run(user, asked)


@routes.post(f"{API}/view/change", dependencies=[SAME_ORIGIN])
def change_view(user: User, asked: ViewChangeRequest) -> ViewChangeResult:
    """Publish or roll back a branch, hide or restore an interval, only if nobody has changed the view since."""
    return of_view.change(user, asked)


@routes.post(f"{API}/purge/dry-run", dependencies=[SAME_ORIGIN])
def purge_dry_run(user: User, asked: PurgeDryRunRequest) -> PurgeDryRunResult:
    """Say what a purge would delete of a dataset; it is carried out on the command line alone."""
    return purging.dry_run(user, asked)


@routes.get("/static/{name:path}", response_class=Response, responses={200: {"content": {"text/javascript": {}}}})
def static(name: str) -> Response:
    """Return a module of the page."""
    if name not in _NAMES:
        raise HTTPException(404, "There is no such file")
    return Response((_STATIC / name).read_bytes(), media_type="text/javascript", headers={"Cache-Control": "no-cache"})


def _timed(response: Response, read: Read[Body]) -> Body:
    response.headers[STORE_TIME] = read.now.isoformat()
    return read.body


def create_app() -> FastAPI:
    """Return the application, in which no route is open; its own documentation is off because it would be."""
    app = FastAPI(
        title="Partitions",
        version=API_VERSION,
        dependencies=[AUTHENTICATED],
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    app.include_router(routes)
    app.middleware("http")(_protected)
    app.exception_handler(NotVisibleError)(_not_found)
    app.exception_handler(MayNotActError)(_forbidden)
    app.exception_handler(StoreDoesNotAnswerError)(_unavailable)
    app.exception_handler(InvalidInputError)(_refused)
    app.exception_handler(RequestValidationError)(_not_understood)
    return app


async def _protected(request: Request, following: Callable[[Request], Awaitable[Response]]) -> Response:
    response = await following(request)
    response.headers.update(_HEADERS)
    response.headers.setdefault("Cache-Control", "no-store")
    return response


def _not_found(request: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"detail": "There is no such partition or source, or none that you may see"}, 404)


def _forbidden(request: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"detail": str(error)}, 403)


def _unavailable(request: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"detail": str(error)}, 503)


def _refused(request: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"detail": storable(error)}, 422)


def _not_understood(request: Request, error: Exception) -> JSONResponse:
    """Say which field is wrong, without what was sent: it may be what JSON or UTF-8 cannot hold."""
    found = error.errors() if isinstance(error, RequestValidationError) else []
    said = [{"loc": [storable(part) for part in one["loc"]], "msg": storable(one["msg"])} for one in found]
    return JSONResponse({"detail": said}, 422)
