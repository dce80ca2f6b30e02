"""Copies of records: what `dataclasses.replace` makes, and a wrong name is refused."""

import dataclasses

import pytest

from studio.core.rules.copies import replace
from studio.core.rules.session import Session


def test_a_copy_is_what_the_standard_library_makes() -> None:
    record = Session(id="ses_1", seq=3, title="One")
    changes = {"seq": 4, "time": 9}
    assert replace(record, **changes) == dataclasses.replace(record, **changes)
    assert (record.seq, record.time) == (3, 0)


def test_a_field_that_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="Session has no field sequence, titel"):
        replace(Session(id="ses_1"), seq=1, sequence=2, titel="")
