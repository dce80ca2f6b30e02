"""JSON that people wrote: what is refused, and that refusing costs little."""

import time

import pytest

from studio.core.packages import json_text


def test_a_doubled_name_among_many_is_found_at_once():
    names = [*(f'"n{number}": 0' for number in range(60_000)), '"twice": 1', '"twice": 2']
    begun = time.process_time()

    with pytest.raises(json_text.NotJson, match="the name twice stands twice"):
        json_text.loads("{" + ",".join(names) + "}")

    assert time.process_time() - begun < 5  # a pass over all names for each of them takes a minute
