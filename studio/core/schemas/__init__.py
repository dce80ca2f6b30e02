"""JSON Schema: is it one, does a value fit, and what is wrong in plain sentences.

`checking` asks and `words` answers; `keywords` keeps every check within bounds. Draft 2020-12, or
an older draft that a schema names. The library is loaded with the first schema that is looked at.
"""

DEEPEST = 64
MOST_ERRORS = 20


def problem(schema: object, *, foreign: bool = False) -> str | None:
    """What is wrong with a schema, as a sentence without its subject; None when it may be used.

    A `foreign` schema (a tool server's own) may hold patterns that could take too long: they are
    never run here, and left to the server.
    """
    from studio.core.schemas import checking

    return checking.problem(schema, foreign=foreign)


def errors(schema: object, value: object) -> dict[str, str]:
    """What does not fit, by dotted path, in plain sentences; at most `MOST_ERRORS`. {} is a fit."""
    from studio.core.schemas import checking

    return checking.errors(schema, value)


def depth_over(value: object, most: int) -> bool:
    """Whether a value is nested deeper than `most` levels."""
    from studio.core.schemas import checking

    return checking.depth_over(value, most)
