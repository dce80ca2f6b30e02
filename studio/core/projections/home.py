"""The first page: what needs a person, what runs, what failed, and the numbers of the day."""

from dataclasses import dataclass

from studio.core.projections.sessions import SessionRow
from studio.core.projections.waits import WaitRow


@dataclass(frozen=True, kw_only=True)
class Home:
    """Counts of open waits, the oldest five of them, and the turns since `since`.

    `turns` are those that ended since then and those in hand now; tokens and cost are of the ended
    ones. With `cost_known` false the cost is a lower bound. `oldest_wait` is when it opened (ms).
    """

    held: int
    questions: int
    uncertain: int
    needs: tuple[WaitRow, ...]
    running: tuple[SessionRow, ...]
    failed_today: tuple[SessionRow, ...]
    since: int
    turns: int
    in_hand: int
    completed: int
    failed: int
    cancelled: int
    input_tokens: int
    output_tokens: int
    cost: float
    cost_known: bool
    oldest_wait: int | None
