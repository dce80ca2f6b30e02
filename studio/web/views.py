"""Saved views on the page of their list: links to them, and the form that saves one more."""

from dataclasses import dataclass

from starlette.requests import Request

from studio.core.rules import views as rule_of
from studio.core.rules.errors import Invalid
from studio.web.visit import may, person, reader

SHARED_LINKS = 20  # of other people's; more stand under "Manage views"


@dataclass(frozen=True, kw_only=True)
class SavedLink:
    """One saved view. `whose` is "" when it is one's own."""

    name: str
    href: str
    is_current: bool
    whose: str


@dataclass(frozen=True, kw_only=True)
class ViewsBar:
    """Those of a list. `query` is what it is narrowed to now, as a view would keep it, or "".

    `left_out` counts views that others share and that are no link here.
    """

    list: str
    query: str
    links: tuple[SavedLink, ...]
    left_out: int
    may_share: bool

    @property
    def is_new(self) -> bool:
        """The present filters are in no view."""
        return bool(self.query) and not any(link.is_current for link in self.links)


@dataclass(frozen=True, kw_only=True)
class BarPart:
    """The bar alone, for an open page."""

    saved: ViewsBar


async def bar(request: Request, list: str, query: str) -> ViewsBar:
    """What a person has saved of this list, and what is shared."""
    try:
        current = rule_of.checked_query(query)
    except Invalid:
        current = ""
    asking = person(request)
    found = await reader(request).views(asking, list, shared=SHARED_LINKS)
    links = (
        SavedLink(
            name=one.name, href=one.url, is_current=one.query == current,
            whose="" if one.owner == asking.id else one.owner,
        )
        for one in found.items
    )  # fmt: skip
    return ViewsBar(
        list=list, query=current, links=tuple(links), left_out=found.left_out,
        may_share=may(request, "operator"),
    )  # fmt: skip
