"""Every kind does what the contract says, or differs where that is stated."""

import pytest

from tests import sandboxes


@pytest.mark.parametrize("words", sandboxes.CASES)
@pytest.mark.parametrize("name", sandboxes.KINDS)
async def test_the_contract(name, words, tmp_path):
    wrong = await sandboxes.play(name, words, tmp_path)

    if (name, words) in sandboxes.DIFFERENCES:
        assert wrong, "it does not differ any more"
    else:
        assert wrong == ""


@pytest.mark.parametrize("words", sandboxes.CASES)
async def test_the_kind_none_refuses_in_one_way(words, tmp_path):
    wrong = await sandboxes.play("none", words, tmp_path)

    assert "its kind is “none”" in wrong or "sandbox.unsupported" in wrong


def test_there_are_many_cases():
    assert len(sandboxes.CASES) >= 35
