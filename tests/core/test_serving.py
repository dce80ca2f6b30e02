"""Where a running studio says it is: while it lives, and no longer."""

import os
from pathlib import Path

from studio.core import serving
from studio.core.serving import Place

HERE = Place(url="https://studio.example", own_url="http://127.0.0.1:8400")


def test_a_place_is_found_while_it_is_told(tmp_path: Path) -> None:
    with serving.told(tmp_path, HERE):
        found = serving.found(tmp_path)

    assert found == HERE
    assert serving.found(tmp_path) is None
    assert list((tmp_path / serving.FOLDER).iterdir()) == []


def test_what_a_killed_process_left_is_not_believed(tmp_path: Path) -> None:
    folder = tmp_path / serving.FOLDER
    folder.mkdir()
    left = folder / "1.json"
    left.write_text('{"url": "http://127.0.0.1:1", "own_url": "http://127.0.0.1:1"}')

    assert serving.found(tmp_path) is None
    assert not left.exists()


def test_of_several_the_one_that_came_last_is_found(tmp_path: Path) -> None:
    other = Place(url="http://localhost:1", own_url="http://127.0.0.1:1")
    with serving.told(tmp_path, HERE):
        (first,) = (tmp_path / serving.FOLDER).iterdir()
        os.utime(first, (1, 1))
        with serving.told(tmp_path, other):
            assert serving.found(tmp_path) == other
        assert serving.found(tmp_path) == HERE


def test_nothing_is_known_of_a_folder_that_is_not_there(tmp_path: Path) -> None:
    assert serving.found(tmp_path / "none") is None
