"""The scripted model decides from the request alone, and says only what the talk says happened."""

from typing import Any

import pytest

from studio.core.providers.provider import (
    Message,
    ProposedCall,
    ProviderError,
    Reply,
    Request,
    TextDelta,
    ToolOffer,
)
from studio.core.providers.scripted import Scripted


def user(text: str) -> Message:
    return Message(role="user", text=text)


def replied(*names: str, text: str = "") -> Message:
    calls = tuple(
        ProposedCall(id=f"c{at}", name=name, arguments={}) for at, name in enumerate(names)
    )
    return Message(role="assistant", text=text, calls=calls)


def result(text: str, *, name: str = "publish", failed: bool = False) -> Message:
    return Message(role="tool", text=text, call_id="c0", name=name, failed=failed)


def request(*messages: Message, **options: Any) -> Request:
    return Request(model="scripted", instructions="be kind", messages=messages, options=options)


async def answer(asked: Request, model: Scripted | None = None) -> Reply:
    *deltas, last = [item async for item in (model or Scripted()).stream(asked)]

    assert isinstance(last, Reply)
    assert "".join(item.text for item in deltas if isinstance(item, TextDelta)) == last.text
    return last


async def test_a_message_without_directives_is_told_what_directives_exist():
    offer = ToolOffer(name="publish", description="", schema={})
    asked = Request(model="m", instructions="", messages=(user("hello"),), tools=(offer,))

    reply = await answer(asked)

    assert "call <tool> <json>" in reply.text
    assert "publish" in reply.text
    assert reply.calls == ()


async def test_say_says_what_it_is_told():
    assert (await answer(request(user("say it is done\nsay and well")))).text == (
        "it is done\nand well"
    )


async def test_text_comes_in_pieces_that_add_up():
    pieces = [item async for item in Scripted().stream(request(user("say " + "wörd " * 40)))]

    assert len(pieces) > 5


async def test_slow_text_comes_a_word_at_a_time():
    pieces = [item async for item in Scripted().stream(request(user("slow 1 one two three")))]

    assert [item.text for item in pieces[:-1]] == ["one", " two", " three"]


async def test_consecutive_calls_are_one_step():
    reply = await answer(request(user('call read {"a": 1}\ncall publish {"b": [2]}')))

    assert [(call.name, call.arguments) for call in reply.calls] == [
        ("read", {"a": 1}),
        ("publish", {"b": [2]}),
    ]
    assert len({call.id for call in reply.calls}) == 2
    assert reply.stop == "calls"


async def test_then_parts_the_steps():
    message = user("call read\nthen\ncall publish\nthen\nsay done")

    first = await answer(request(message))
    second = await answer(request(message, replied("read"), result("1")))
    third = await answer(
        request(message, replied("read"), result("1"), replied("publish"), result("2"))
    )

    assert [call.name for call in first.calls] == ["read"]
    assert [call.name for call in second.calls] == ["publish"]
    assert third.text == "done"


async def test_only_replies_since_the_last_message_count():
    earlier = (user("say no"), replied(text="no"), user("say yes"))

    assert (await answer(request(*earlier))).text == "yes"


async def test_the_same_request_gives_the_same_reply():
    asked = request(user('say hi\ncall publish {"a": 1}'))

    assert await answer(asked) == await answer(asked, Scripted())


async def test_calls_of_different_steps_have_different_ids():
    message = user("repeat 2 call read")

    first = await answer(request(message))
    second = await answer(request(message, replied("read"), result("1")))

    assert first.calls[0].id != second.calls[0].id


async def test_arguments_that_are_not_json_are_kept_as_they_were():
    reply = await answer(request(user('call publish {"a": ')))

    assert reply.calls[0].broken == '{"a":'


@pytest.mark.parametrize(
    "text", ['{"a": NaN}', '{"a": 1e999}', '{"a": 1, "a": 2}', "[" * 100 + "]" * 100]
)
async def test_json_that_reads_in_two_ways_is_not_json(text):
    assert (await answer(request(user(f"call publish {text}")))).calls[0].broken == text


async def test_ask_asks_a_person_with_the_schema_behind_the_question():
    reply = await answer(request(user('ask How many {x} files? {"type": "object"}')))

    assert (reply.calls[0].name, reply.calls[0].arguments) == (
        "ask_person",
        {"prompt": "How many {x} files?", "schema": {"type": "object"}},
    )


async def test_wait_waits():
    reply = await answer(request(user("wait 90")))

    assert (reply.calls[0].name, reply.calls[0].arguments) == ("wait_until", {"seconds": 90})


async def test_repeat_calls_once_a_step_and_then_ends():
    message, talk = user("repeat 2 call read"), []
    seen = []
    for _ in range(3):
        reply = await answer(request(message, *talk))
        seen.append([call.name for call in reply.calls])
        talk += [replied("read"), result("1", name="read")]

    assert seen == [["read"], ["read"], []]


async def test_loop_never_ends():
    talk = [replied("read"), result("1")] * 500

    assert (await answer(request(user("loop call read"), *talk))).calls[0].name == "read"


@pytest.mark.parametrize(
    "kind,permanent",
    [("rate", False), ("refused", True), ("context", True), ("server", False), ("garbage", True)],
)
async def test_fail_raises_the_named_error(kind, permanent):
    with pytest.raises(ProviderError) as caught:
        await answer(request(user(f"fail {kind}")))

    assert caught.value.permanent is permanent


async def test_rate_says_when_to_come_back():
    with pytest.raises(ProviderError) as caught:
        await answer(request(user("fail rate")))

    assert caught.value.retry_after == 0.5


async def test_fail_empty_is_an_empty_reply():
    assert (await answer(request(user("fail empty")))).text == ""


async def test_fail_twice_fails_the_first_two_attempts_only():
    model, asked = Scripted(), request(user("fail server 2\nsay at last"))
    for _ in range(2):
        with pytest.raises(ProviderError):
            await answer(asked, model)

    assert (await answer(asked, model)).text == "at last"
    with pytest.raises(ProviderError):
        await answer(asked, model)


async def test_failures_of_two_turns_are_counted_apart():
    model = Scripted()
    one, two = (
        Request(
            model="m", instructions="", messages=(user("fail server 1\nsay hi"),),
            traceparent=f"00-{trace}-{'b' * 16}-01",
        )
        for trace in ("1" * 32, "2" * 32)
    )  # fmt: skip
    for asked in (one, two):
        with pytest.raises(ProviderError):
            await answer(asked, model)

    assert (await answer(two, model)).text == "hi"


async def test_when_the_lines_are_done_the_outcomes_are_told():
    message = user("call publish\ncall withdraw")
    told = await answer(
        request(
            message,
            replied("publish", "withdraw"),
            result('{"version": "1.0"}'),
            result(
                "Denied by the policy; it did not run. Not on a Friday.",
                name="withdraw",
                failed=True,
            ),
        )
    )

    assert told.text == (
        'publish: {"version": "1.0"}\n'
        "withdraw: Denied by the policy; it did not run. Not on a Friday."
    )


# Scripts of a manifest ------------------------------------------------------------------------

SCRIPT = [
    {
        "when": r"(?i)publish (\d[\d.]*)",
        "steps": [
            {
                "say": "I publish {match[1]}.",
                "calls": [{"tool": "publish", "arguments": {"version": "{match[1]}", "n": 1}}],
                "after": {
                    "denied": [{"say": "You said no: {reason}"}],
                    "failed": [{"say": "It broke: {reason}"}],
                    "edited": [
                        {"say": "You changed it to {edited.version}, and it said {result.ok}."}
                    ],
                    "uncertain": [{"say": "Nobody knows."}],
                },
            },
            {"say": "{result.version} is out for {results[0].to[1]}."},
        ],
    },
    {"when": "", "steps": [{"say": {"any": 1}}]},
]


async def scripted(*after: Message) -> Reply:
    return await answer(request(user("Please publish 1.4.0 now"), *after, script=SCRIPT))


async def test_a_script_answers_the_message_its_pattern_finds():
    reply = await scripted()

    assert reply.text == "I publish 1.4.0."
    assert reply.calls[0].arguments == {"version": "1.4.0", "n": 1}


@pytest.mark.parametrize(
    "outcome,said",
    [
        (result('{"version": "1.4.0", "to": ["a", "b"]}'), "1.4.0 is out for b."),
        (
            result("Denied by a person; it did not run. Too early.", failed=True),
            "You said no: Too early.",
        ),
        (result("Failed (tool.failed): access denied", failed=True), "It broke: access denied"),
        (result("Not run. The turn was stopped.", failed=True), "It broke: The turn was stopped."),
        (
            result(
                "[A person changed the arguments before this ran. "
                'It ran with: {"version": "1.4.1"}]\n{"version": "1.4.1", "ok": true}'
            ),
            "You changed it to 1.4.1, and it said true.",
        ),
        (
            result(
                "Outcome unknown: it was sent and nobody recorded what came of it.", failed=True
            ),
            "Nobody knows.",
        ),
        (result("A person says that it ran; its result is not known. "), "Nobody knows."),
        (result("not json"), "(nothing) is out for (nothing)."),
    ],
)
async def test_what_is_said_next_follows_what_became_of_the_call(outcome, said):
    assert (await scripted(replied("publish"), outcome)).text == said


async def test_a_branch_replaces_the_rest():
    denied = result("Denied by a person; it did not run. No.", failed=True)
    talk = (replied("publish"), denied, replied(text="You said no: No."))

    assert (await scripted(*talk)).text == "Done."


async def test_a_later_entry_answers_what_no_earlier_one_finds():
    assert (await answer(request(user("else"), script=SCRIPT))).text == '{"any": 1}'


async def test_placeholders_reach_nothing_but_the_values_they_name():
    script = [{"when": "", "steps": [{"say": "{result.__class__} {names} {0} {message}"}]}]

    assert (await answer(request(user("hi"), script=script))).text == ("(nothing) {names} {0} hi")


@pytest.mark.parametrize(
    "script,words",
    [
        ([{"when": "(", "steps": []}], "is not a pattern"),
        ([{"steps": []}], "“when” is a text"),
        ([{"when": "", "steps": "x"}], "“steps” is a list"),
        ([{"when": "", "steps": [{"sya": "x"}]}], "“sya” is not known"),
        ([{"when": "", "steps": [{"fail": "x"}]}], "“fail” is one of"),
        ([{"when": "", "steps": [{"calls": [{}]}]}], "“tool” is a text"),
        ([{"when": "", "steps": [{"after": {"x": []}}]}], "“after” maps"),
        (["x"], "“when” is a text"),
    ],
)
async def test_a_script_that_makes_no_sense_is_refused_in_words(script, words):
    with pytest.raises(ProviderError, match=words) as caught:
        await answer(request(user("hi"), script=script))

    assert caught.value.permanent


async def test_words_are_counted_and_cost_nothing():
    reply = await answer(request(user("say one two three")))

    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (6, 3)
    assert reply.usage.cost == 0.0


async def test_closing_the_stream_early_is_quiet():
    stream = Scripted().stream(request(user("slow 60000 one two")))
    closing = stream.aclose()

    await closing

    assert [item async for item in stream] == []
