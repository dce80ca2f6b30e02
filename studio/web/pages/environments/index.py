"""The list of environments, narrowed by labels, state, kind and name; all of it is in the URL."""

from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from studio.core.projections.environments import EnvironmentRow
from studio.core.projections.pages import Page
from studio.core.rules.environments import names
from studio.core.rules.environments.environment import STATES
from studio.core.rules.environments.manifest import KINDS
from studio.core.rules.errors import Invalid
from studio.web import filtering
from studio.web.filtering import Fault, Wrong
from studio.web.render import Frame, block, frame, page
from studio.web.visit import asked, is_swap, may, person, reader

INDEX = "environments/index.html"
MOST_LABELS = 16
CHECKS: dict[str, filtering.Read] = {
    "state": filtering.one_of("state", STATES), "kind": filtering.one_of("kind", KINDS),
    "name": filtering.plain, "manifest": filtering.plain,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What the list is narrowed to. `labels` are key=value, each of which must be there."""

    labels: tuple[str, ...] = ()
    state: str = ""
    kind: str = ""
    name: str = ""
    manifest: str = ""

    @property
    def any(self) -> bool:
        """Something is asked for."""
        return bool(self.labels or self.state or self.kind or self.name or self.manifest)

    def url(self, **changes: str) -> str:
        """The list's URL with some fields changed; empty ones are left out."""
        named = {"state": self.state, "kind": self.kind, "name": self.name,
                 "manifest": self.manifest, **changes}  # fmt: skip
        found = [("label", label) for label in self.labels]
        found += [(name, value) for name, value in named.items() if value]
        return "/environments" + (f"?{urlencode(found)}" if found else "")

    def with_label(self, key: str, value: str) -> str:
        """The list's URL with one label more."""
        label = f"{key}={value}"
        kept = self.labels if label in self.labels else (*self.labels, label)
        return self._labelled(kept)

    def without_label(self, label: str) -> str:
        """The list's URL with one label less."""
        return self._labelled(tuple(one for one in self.labels if one != label))

    def _labelled(self, labels: tuple[str, ...]) -> str:
        other = Filters(
            labels=labels, state=self.state, kind=self.kind, name=self.name, manifest=self.manifest
        )
        return other.url()


@dataclass(frozen=True, kw_only=True)
class ListView:
    """The list. `wrong` is what was asked for, not understood and left out."""

    frame: Frame
    page: Page[EnvironmentRow]
    filters: Filters
    cursor: str
    wrong: Wrong
    may_act: bool
    states: tuple[str, ...] = STATES
    kinds: tuple[str, ...] = KINDS


async def index(request: Request) -> Response:
    """GET /environments; `?region=list` gives the list alone."""
    position = await reader(request).position()
    filters, wrong = _filters(request)
    pairs = names.label_filter(",".join(filters.labels))
    found, cursor, off = await filtering.listed(
        lambda cursor: reader(request).environments(
            person(request), labels=pairs, state=filters.state, kind=filters.kind,
            name=filters.name, manifest=filters.manifest, cursor=cursor,
        ),
        asked(request, "cursor"),
    )  # fmt: skip
    live = f"/live/environments?after={position}"
    view = ListView(
        frame=await frame(request, "Environments", nav="environments", live=live), page=found,
        filters=filters, cursor=cursor, wrong=wrong | off, may_act=may(request, "operator"),
    )  # fmt: skip
    if is_swap(request) and asked(request, "region") == "list":
        return block(request, INDEX, "list", view)
    return page(request, INDEX, view, status=422 if off else 200)


def _filters(request: Request) -> tuple[Filters, dict[str, Fault]]:
    """What is asked for, and what of it is not understood."""
    kept, wrong = filtering.read(request, CHECKS)
    labels, bad = list[str](), list[str]()
    given = request.query_params.getlist("label")
    for label in dict.fromkeys(one.strip() for one in given[:MOST_LABELS]):
        try:
            names.label_filter(label)
        except Invalid:
            bad.append(label)
            continue
        labels += [one for one in label.split(",") if one]
    if bad:
        words = ", ".join(f"“{label[:80]}”" for label in bad)
        said = f"{words} {'is no label' if len(bad) == 1 else 'are no labels'}: write key=value."
        wrong["label"] = Fault(typed=bad[0], message=f"{said} {filtering.WITHOUT}")
    elif len(given) > MOST_LABELS:
        said = f"A list is narrowed by at most {MOST_LABELS} labels; the others are left out."
        wrong["label"] = Fault(typed="", message=said)
    return Filters(labels=tuple(dict.fromkeys(labels)), **kept), wrong
