"""What comes from outside and is too large for a column, on both stores."""

import pytest

from studio.core.reader import Reader
from studio.core.rules.access import Person
from studio.core.rules.errors import NotFound
from tests.core.projections.story import Story


async def test_numbers_beyond_any_column_are_only_very_far_away(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id, _, _ = await story.held()
    far = 10**30

    assert (await reader.timeline(bob, session_id, after=far)).lines == ()
    assert len((await reader.timeline(bob, session_id, before=far)).lines) == 3
    assert await reader.events(bob, session_id, after=far) == []
    assert len(await reader.events_before(bob, session_id, before=far)) == 7
    assert len(await reader.calls(bob, session_id, before=far)) == 1
    assert (await reader.waits(bob, older_than_ms=far)).items == ()
    assert (await reader.home(bob, since=-far)).in_hand == 1
    for ask in (reader.policy(bob, far), reader.agent(bob, "helper", far)):
        with pytest.raises(NotFound):
            await ask
