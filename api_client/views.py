"""Calls about saved views of lists."""

from api_client.call import ABSENT, Absent, Call, get, given, part
from api_client.shapes import View, Views


def index(list: str = "") -> Call[Views]:
    """Your own views of a list (traces or sessions; "" for both), and those that are shared."""
    return get("/v1/views", list=list)


def save(list: str, name: str, query: str, *, shared: bool = False) -> Call[View]:
    """Keep filters, as the list's URL has them, under a name."""
    body = given(list=list, name=name, query=query, shared=shared)
    return Call(method="POST", path="/v1/views", body=body)


def change(
    view_id: str, *, name: str | Absent = ABSENT, query: str | Absent = ABSENT,
    shared: bool | Absent = ABSENT,
) -> Call[View]:  # fmt: skip
    """Another name, other filters, shared or not; what is not told stays as it is."""
    body = given(name=name, query=query, shared=shared)
    return Call(method="PUT", path=f"/v1/views/{part(view_id)}", body=body)


def remove(view_id: str) -> Call[None]:
    """Delete a view."""
    return Call(method="DELETE", path=f"/v1/views/{part(view_id)}")
