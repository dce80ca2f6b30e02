"""Many at once, or one alone."""

import asyncio
import threading

from studio.core.sandboxes.gate import Gate, whole


async def test_many_are_inside_at_once_and_one_waits_for_all_of_them():
    gate, order = Gate(), list[str]()
    both, leave = asyncio.Barrier(3), asyncio.Event()

    async def beside(name):
        async with gate.shared():
            await both.wait()
            await leave.wait()
            order.append(name)

    async def alone():
        await both.wait()
        leave.set()
        async with gate.alone():
            order.append("alone")

    async with asyncio.TaskGroup() as group:
        for work in (beside("one"), beside("two"), alone()):
            group.create_task(work)

    assert order[2] == "alone"


async def test_who_waits_to_be_alone_is_not_overtaken():
    gate, order = Gate(), list[str]()
    leave = asyncio.Event()

    async def first():
        async with gate.shared():
            await leave.wait()
            order.append("first")

    async def alone():
        async with gate.alone():
            order.append("alone")

    async def late():
        async with gate.shared():
            order.append("late")

    async with asyncio.TaskGroup() as group:
        for work in (first(), alone(), late()):
            group.create_task(work)
            await asyncio.sleep(0)
        leave.set()

    assert order == ["first", "alone", "late"]


async def test_who_gives_up_waiting_lets_the_others_in():
    gate = Gate()
    async with gate.shared(), asyncio.TaskGroup() as group:
        waiting = group.create_task(gate.alone().__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()

    async with asyncio.timeout(1), gate.shared():
        pass
    assert waiting.cancelled()


async def test_what_was_begun_in_a_thread_is_done_before_who_asked_goes():
    begun, go_on, done = threading.Event(), threading.Event(), list[str]()

    def slow():
        begun.set()
        go_on.wait(5)
        done.append("whole")

    async with asyncio.TaskGroup() as group:
        asking = group.create_task(whole(slow))
        await asyncio.to_thread(begun.wait, 5)
        asking.cancel()
        await asyncio.sleep(0)
        assert not asking.done()
        go_on.set()

    assert (asking.cancelled(), done) == (True, ["whole"])
