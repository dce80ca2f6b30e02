"""Calls as methods of clients, with the signatures of the functions that describe them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Generic, ParamSpec, TypeVar

from api_client.call import Call, Listing

if TYPE_CHECKING:
    from api_client.client import AsyncClient, Client

P = ParamSpec("P")
T = TypeVar("T")


class Resource:
    """A group of calls of a client that blocks."""

    def __init__(self, client: "Client") -> None:
        self.client = client


class AsyncResource:
    """A group of calls of a client that is awaited."""

    def __init__(self, client: "AsyncClient") -> None:
        self.client = client


class Verb(Generic[P, T]):
    """A call as a method."""

    def __init__(self, describe: Callable[P, Call[T]]) -> None:
        self._describe = describe

    def __get__(self, group: Resource, _: type[Resource]) -> Callable[P, T]:
        def do(*args: P.args, **kwargs: P.kwargs) -> T:
            return group.client.do(self._describe(*args, **kwargs))

        return do


class Items(Generic[P, T]):
    """A list as a method that gives every item, page after page."""

    def __init__(self, describe: Callable[P, Listing[T]]) -> None:
        self._describe = describe

    def __get__(self, group: Resource, _: type[Resource]) -> Callable[P, Iterator[T]]:
        def items(*args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
            return group.client.items(self._describe(*args, **kwargs))

        return items


class AsyncVerb(Generic[P, T]):
    """A call as a method to await."""

    def __init__(self, describe: Callable[P, Call[T]]) -> None:
        self._describe = describe

    def __get__(self, group: AsyncResource, _: type[AsyncResource]) -> Callable[P, Awaitable[T]]:
        def do(*args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
            return group.client.do(self._describe(*args, **kwargs))

        return do


class AsyncItems(Generic[P, T]):
    """A list as a method that gives every item, page after page."""

    def __init__(self, describe: Callable[P, Listing[T]]) -> None:
        self._describe = describe

    def __get__(
        self, group: AsyncResource, _: type[AsyncResource]
    ) -> Callable[P, AsyncIterator[T]]:
        def items(*args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
            return group.client.items(self._describe(*args, **kwargs))

        return items
