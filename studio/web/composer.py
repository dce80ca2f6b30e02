"""Where a person writes to a session: what may be done now, and what was typed when refused."""

from dataclasses import dataclass

from starlette.requests import Request

from studio.core.reader import ModelChoice, SessionView
from studio.core.rules.errors import Invalid, StudioError
from studio.core.runtime import Upload
from studio.web.visit import may, new_key, person, reader, runtime

IN_HAND = frozenset({"queued", "running", "held", "waiting"})


@dataclass(frozen=True, kw_only=True)
class Composer:
    """What stands below the timeline.

    `is_busy`: a turn is in hand, so a message is refused until it ends or is stopped, or, when
    calls are held, until they are denied by sending it. `said` is what an action just did, `most`
    the bytes that one file may have.
    """

    session_id: str
    agent: str
    status: str
    is_busy: bool
    held: int
    may_act: bool
    key: str
    models: tuple[ModelChoice, ...] = ()
    model: str = ""
    text: str = ""
    said: str = ""
    refusal: StudioError | None = None
    uploads: tuple[Upload, ...] = ()
    most: int = 0

    @property
    def can_deny(self) -> bool:
        """Calls are held: denying them makes room for the message."""
        return self.held > 0

    @property
    def wrong(self) -> str:
        """What is wrong with the text itself."""
        fields = self.refusal.fields if isinstance(self.refusal, Invalid) else {}
        return fields.get("text", "")


async def composer(
    request: Request, session: SessionView, *, typed: str = "", said: str = "",
    refusal: StudioError | None = None, uploads: tuple[Upload, ...] = (),
) -> Composer:  # fmt: skip
    """The composer as it stands, or as it was when a message was refused."""
    row = session.row
    is_busy = row.status in IN_HAND
    return Composer(
        session_id=row.id,
        agent=row.agent,
        status=row.status,
        is_busy=is_busy,
        held=row.held if is_busy else 0,
        may_act=may(request, "operator"),
        key=new_key(),
        models=tuple(await reader(request).model_choices(person(request))),
        model=row.model,
        text=typed,
        said=said,
        refusal=refusal,
        uploads=uploads,
        most=runtime(request).limits.upload_bytes,
    )


def model_of(chosen: str) -> tuple[str, str] | None:
    """The provider and the model of a form's one field; None is the agent's own."""
    provider, _, name = chosen.partition("/")
    return (provider, name) if provider else None
