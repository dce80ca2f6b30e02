"""Traces of one sender from outside are forgotten: what would go is said first, then it goes."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from studio.core.reader import OutsideSender
from studio.core.rules.access import needs
from studio.core.rules.errors import Invalid
from studio.web import filtering
from studio.web.filtering import Wrong
from studio.web.render import Frame, frame, page
from studio.web.visit import onward, person, reader, runtime, text, typed

ASK = "outside/removal.html"
DAY = 86_400_000
DAYS = ("1", "3", "7", "14", "30")
CHECKS: dict[str, filtering.Read] = {
    "sent_by": filtering.plain, "days": filtering.one_of("number of days", DAYS),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class RemovalView:
    """The page that asks. What came after the moment that was looked at (`before`, ms) stays.

    `senders` are the largest: names, spans and bytes.
    """

    frame: Frame
    it: OutsideSender
    before: int
    days: str
    wrong: Wrong
    senders: list[tuple[str, int, int]]
    choices: tuple[str, ...] = DAYS


async def ask(request: Request) -> Response:
    """GET /traces/outside/removal."""
    needs(person(request), "admin", "forget the traces of a sender")
    kept, wrong = filtering.read(request, CHECKS)
    now, days = reader(request).now(), kept["days"]
    before = now - int(days) * DAY if days else now + 1
    view = RemovalView(
        frame=await frame(request, "Forget traces", nav="traces"), before=before, days=days,
        it=await reader(request).outside_sender(person(request), kept["sent_by"], before),
        wrong=wrong, senders=await reader(request).outside_senders(person(request)),
    )  # fmt: skip
    return page(request, ASK, view, status=422 if wrong else 200)


async def forget(request: Request) -> Response:
    """POST /traces/outside/removal."""
    form = await typed(request)
    before = text(form, "before")
    if not before.isdecimal() or len(before) > 15:
        raise Invalid("The form does not say what it showed. Open it again.", code="form.unclear")
    await runtime(request).forget_outside_sender(
        person(request), text(form, "sent_by"), before=int(before)
    )
    return onward(request, "/traces/outside")
