"""Hiding: secrets taken out of what models and tools give back, before anything else sees it."""

from dataclasses import replace
from typing import Any

from studio.core.masking import Mask
from studio.core.providers.provider import ProposedCall, ProviderError, Reply
from studio.core.rules import contents
from studio.core.rules import events as e
from studio.core.rules.calls import Outcome


def outcome(mask: Mask, came: Outcome) -> Outcome:
    """What came of a call, without secrets, and how many there were."""
    message = mask.hide(came.message)
    kept, count = content(mask, came.result)
    total = message.count + count
    if not total:
        return came
    return replace(came, message=message.value, result=kept, masked=came.masked + total)


def content(mask: Mask, given: e.Content | None) -> tuple[e.Content | None, int]:
    """The content without secrets, and how many there were. It must be inline still."""
    if given is None or given.stored:
        return given, 0
    hidden = mask.hide(given.value)
    if not hidden.count:
        return given, 0
    if isinstance(given.value, str) and given.media != "application/json":
        return contents.of_text(hidden.value, given.media), hidden.count
    return contents.of(hidden.value), hidden.count


def reply(mask: Mask, given: Reply) -> tuple[Reply, int]:
    """A model's reply without secrets: what it says, proposes and thinks, why it stopped, and how
    many there were.

    State that is only for the provider is left out when there is a secret in it, as it may not be
    changed.
    """
    text, summary = mask.hide(given.text), mask.hide(given.summary)
    stop = mask.hide(given.stop)  # the provider's own word
    calls = [_call(mask, call) for call in given.calls]
    state, lost = given.state, 0
    if state is not None and (lost := mask.hide(list(state.items)).count):
        state = None
    total = text.count + summary.count + stop.count + lost + sum(count for _, count in calls)
    if not total:
        return given, 0
    hidden = replace(
        given, text=text.value, summary=summary.value, stop=stop.value,
        calls=tuple(call for call, _ in calls), state=state,
    )  # fmt: skip
    return hidden, total


def error(mask: Mask, given: ProviderError) -> ProviderError:
    """A failure whose words hold no secret."""
    message, words = mask.text(given.message), mask.text(given.words)
    if (message, words) == (given.message, given.words):
        return given
    hidden = ProviderError(
        given.code, message, permanent=given.permanent, retry_after=given.retry_after
    )
    hidden.words, hidden.begun, hidden.usage = words, given.begun, given.usage
    return hidden


def _call(mask: Mask, call: ProposedCall) -> tuple[ProposedCall, int]:
    given: list[Any] = [call.id, call.name, call.arguments, call.broken]
    hidden = mask.hide(given)
    if not hidden.count:
        return call, 0
    call_id, name, arguments, broken = hidden.value
    return ProposedCall(id=call_id, name=name, arguments=arguments, broken=broken), hidden.count
