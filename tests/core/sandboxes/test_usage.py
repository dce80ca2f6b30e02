"""How much lies on a disk: measured truly, and not more often than it is worth."""

import os
import time

from studio.core.sandboxes.box import usage
from studio.core.sandboxes.contract import Limits
from studio.core.sandboxes.trees import MOST_DEPTH


def fill(folder, files: int, size: int = 8_192) -> None:
    for number in range(files):
        (folder / f"f{number}").write_bytes(b"x" * size)


def test_files_folders_and_links_are_counted_and_what_they_take_up(tmp_path):
    (tmp_path / "sub").mkdir()
    fill(tmp_path / "sub", 3)
    (tmp_path / "link").symlink_to("/usr")
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(2**40)

    found = usage.measured(tmp_path, 1_000)

    assert found.entries == 6
    assert 3 * 8_192 <= found.size < 3 * 8_192 + 5 * 4_096


def test_counting_ends_where_a_disk_has_too_many_entries(tmp_path):
    fill(tmp_path, 20, 0)

    assert usage.measured(tmp_path, 5).entries == 6


def test_folders_that_nest_too_deeply_are_told(tmp_path):
    deep = os.path.join(tmp_path, *["d"] * (MOST_DEPTH + 3))
    os.makedirs(deep)

    assert usage.measured(tmp_path, 10_000).is_too_deep


async def test_a_disk_is_over_its_bound_only_when_it_grew(tmp_path):
    watch = usage.Watch(tmp_path, Limits(disk=100_000, entries=100), free=0)
    empty = await watch.look()
    assert await watch.over(empty) is None
    with (tmp_path / "big").open("wb") as file:
        file.write(b"x" * 3_000_000)
        os.fsync(file.fileno())

    full = await watch.look()

    assert "0 MiB" in str(await watch.over(empty))
    assert await watch.over(full) is None, "who found it full may clear it"


async def test_a_look_that_takes_longer_comes_less_often(tmp_path, monkeypatch):
    watch = usage.Watch(tmp_path, Limits(), free=0)
    await watch.look()
    quick = watch.period

    def slow(root, most):
        time.sleep(0.05)
        return usage.Usage(size=0, entries=0)

    monkeypatch.setattr(usage, "measured", slow)
    await watch.look()

    assert watch.period >= usage.SHARE * 0.05 > quick >= usage.SHORTEST


async def test_nothing_is_looked_at_again_while_the_file_system_lost_nothing(tmp_path):
    watch = usage.Watch(tmp_path, Limits(), free=0)
    first = await watch.look()
    (tmp_path / "a").write_bytes(b"x")

    await watch.over(first)

    assert watch.last == first


async def test_the_machine_s_last_room_is_kept(tmp_path):
    watch = usage.Watch(tmp_path, Limits(), free=2**61)

    assert "An operator has to make room" in str(watch.no_room())
    assert "almost full" in str(await watch.over(None))
