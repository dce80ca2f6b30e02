"""What an error of the protocol says of the call: it ran, it did not run, or nobody knows."""

from studio.core.tools.tool import ToolError

# Ours, for what happens below the protocol; servers use none of these.
NOT_SENT, BROKE, SESSION_ENDED, TOO_LARGE = -32099, -32098, -32097, -32096
# The protocol's own.
CLOSED, PARSE, NO_METHOD, BAD_PARAMS = -32000, -32700, -32601, -32602


def of_protocol(code: int, said: str, *, read_only: bool) -> ToolError:
    """The error of a call that the server, or the way to it, answered with this code."""
    match code:
        case _ if code in {NOT_SENT, SESSION_ENDED}:
            return not_sent("tool.unreachable", said)
        case _ if code in {NO_METHOD, BAD_PARAMS}:
            return ToolError("tool.refused", said, settled=True)
        case _ if code == TOO_LARGE or "larger than" in said:
            return unsure("tool.too_large", said, read_only=read_only)
        case _ if code in {CLOSED, BROKE} or "the connection broke" in said:
            return unsure("tool.unreachable", said, read_only=read_only)
        case _ if code == PARSE:
            return unsure("tool.bad_result", said, read_only=read_only)
    return ToolError("tool.failed", said)


def not_sent(code: str, said: str) -> ToolError:
    """It never left us."""
    return ToolError(code, f"{said} Nothing was sent.", settled=True)


def unsure(code: str, said: str, *, read_only: bool) -> ToolError:
    """It was sent, and no answer says what became of it; reading changes nothing in any case."""
    return ToolError(code, said, maybe_ran=not read_only)
