"""One refusal for everything that is wrong with a package, in words about packages."""

from studio.core.rules.errors import Invalid
from studio.core.rules.reading import Faults


def check(faults: Faults, what: str, *, code: str) -> None:
    """Raise Invalid with all that was found, by place, when anything was."""
    if faults.fields:
        count = len(faults.fields)
        things = "one thing in it is" if count == 1 else f"{count} things in it are"
        raise Invalid(
            f"{what} cannot be used: {things} not right.", fields=faults.fields, code=code
        )
