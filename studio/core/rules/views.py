"""Saved views: which filters of which list may stand under a name, and who may change them."""

import re
from urllib.parse import parse_qsl, urlencode

from studio.core.rules import access, reveal
from studio.core.rules.access import Person
from studio.core.rules.errors import Denied, Invalid, Refused

LISTS = ("traces", "sessions")  # that have views
NAME_MOST, QUERY_MOST, VIEWS_MOST = 60, 1_000, 100
FILTER = re.compile(r"[a-z_]{1,30}")
NO_FILTERS = frozenset({"cursor", "region", "list"})  # a view keeps no place in the list


def checked_list(name: str) -> str:
    """The list, or Invalid."""
    if name not in LISTS:
        words = f"Choose one of {', '.join(LISTS)}."
        raise Invalid(f"There is no list {name[:40]!r}.", fields={"list": words}, code="view.list")
    return name


def checked_name(name: str) -> str:
    """The name on one line, or Invalid."""
    name = " ".join(name.split())
    if not 1 <= len(name) <= NAME_MOST:
        words = f"Use 1 to {NAME_MOST} characters."
        raise Invalid("The view needs a name.", fields={"name": words}, code="view.name")
    if reveal.hidden_characters(name):
        words = "has characters that nobody would see."
        raise Invalid(f"The name {words}", fields={"name": words}, code="view.name")
    return name


def checked_query(query: str) -> str:
    """The filters of a list's URL alone, by name, or Invalid."""
    try:
        given = dict(parse_qsl(query.lstrip("?"), max_num_fields=50))
    except ValueError:
        given = {}
    named = sorted(name for name in given if FILTER.fullmatch(name) and name not in NO_FILTERS)
    kept = {name: given[name].strip() for name in named if given[name].strip()}
    if not kept:
        raise Invalid(
            "There is nothing to save: no filter is chosen. Filter the list first.",
            fields={"query": "Choose a filter."}, code="view.query",
        )  # fmt: skip
    made = urlencode(kept)
    if len(made) > QUERY_MOST:
        words = f"Use at most {QUERY_MOST} characters."
        raise Invalid("These filters are too long.", fields={"query": words}, code="view.query")
    return made


def may_share(person: Person) -> None:
    """Denied unless the person may show views to everybody."""
    access.needs(person, "operator", "share a view with everybody")


def may_change(person: Person, *, owner: str, shared: bool) -> None:
    """Its owner changes it; what is shared an admin, too. Denied."""
    if person.id == owner or (shared and person.role == "admin"):
        return
    raise Denied(
        "Only who saved this view, or an admin, may change it. Save one of your own.",
        code="denied.view_owner",
    )


def one_more(names: list[str], name: str) -> None:
    """Refused when the person has enough of them, or one of this name."""
    if len(names) >= VIEWS_MOST:
        raise Refused(
            f"You have {VIEWS_MOST} views of this list. Delete one first.", code="view.too_many"
        )
    free(names, name)


def free(names: list[str], name: str) -> None:
    """Refused when the person has one of this name in the list."""
    if name.casefold() in {one.casefold() for one in names}:
        raise Refused(
            f"You have a view called “{name}” already. Choose another name.", code="view.exists"
        )
