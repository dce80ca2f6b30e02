"""JSON Schema: is it one, does a value fit, and what is wrong in plain sentences.

`checking` asks and `words` answers; `keywords` keeps every check within bounds. Draft 2020-12, or
an older draft that a schema names.
"""

from studio.core.schemas.checking import DEEPEST, MOST_ERRORS, depth_over, errors, problem

__all__ = ["DEEPEST", "MOST_ERRORS", "depth_over", "errors", "problem"]
