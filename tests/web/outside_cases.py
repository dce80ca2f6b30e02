"""Traces from outside, as the tests of pages send them."""

from typing import Any

from studio.core.rules.access import Person
from studio.core.rules.outside.claims import Claim
from tests.core.rules.outside.spans import TRACE, claim, span_id
from tests.web.conftest import Studio

SENDER = Person(id="key:exporter", role="operator", via="key")
MS = 1_000_000  # ns


def sent(studio: Studio, number: int, parent: int, begin: int, end: int, **more: Any) -> Claim:
    """A span that began and ended so many ms ago."""
    now = studio.reader.now()
    times = {"start": (now - begin) * MS, "end": (now - end) * MS}
    return claim(number, parent, **{**times, **more})


def said(operation: str, **more: Any) -> dict[str, Any]:
    """Attributes of the GenAI conventions; `__` stands for a dot."""
    return {
        "gen_ai.operation.name": operation,
        **{name.replace("__", "."): value for name, value in more.items()},
    }


async def one_trace(studio: Studio) -> str:
    """A trace with an agent, a model call, a failed tool call, a lost span, and a refused one."""
    chat = said(
        "chat", gen_ai__request__model="small", gen_ai__usage__input_tokens=40,
        gen_ai__usage__output_tokens=9, gen_ai__input__messages="What is the weather?",
    )  # fmt: skip
    tool = said("execute_tool", gen_ai__tool__name="weather", error__type="Timeout")
    spans = [
        sent(studio, 1, 0, 9_000, 1_000, name="invoke_agent clerk",
             attributes=said("invoke_agent", gen_ai__agent__name="clerk"),
             links=[{"trace_id": "cd" * 16, "span_id": span_id(7), "attributes": {}}]),
        sent(studio, 2, 1, 8_000, 5_000, name="chat small", attributes=chat,
             cut={"gen_ai.input.messages": {"size": 10_000_000, "sha256": "ab" * 32}}),
        sent(studio, 3, 1, 5_000, 2_000, name="execute_tool weather", attributes=tool,
             is_error=True, message="it did not come", dropped=3,
             events=[{"name": "exception", "time": "1796000000000000000",
                      "attributes": {"exception.type": "Timeout"}}]),
        sent(studio, 4, 99, 3_000, 2_500, name="lost"),
        sent(studio, 5, 1, 3_000, 2_500, name="from 1970", start=5),
    ]  # fmt: skip
    await studio.runtime.take_spans(SENDER, iter(spans))
    return TRACE
