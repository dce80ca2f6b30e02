"""One tool of an MCP server: its definition, and a call of it."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from studio.core import schemas
from studio.core.rules.servers import unsaid
from studio.core.tools.mcp import errors, results
from studio.core.tools.mcp.connection import Connection, Down
from studio.core.tools.tool import Kit, Result, ToolError, ToolSpec

if TYPE_CHECKING:
    import mcp_types
    from mcp.client.client import Client

KEY_META = "studio/idempotency-key"


class McpTool:
    """One tool of a server. `name` is the server's own name for it.

    `hash_in` gives the hash of its definition in a list of the server's tools, None when it is not
    there: what is called is what was offered, also by a server that was started again meanwhile.
    """

    def __init__(
        self, spec: ToolSpec, name: str, connection: Connection,
        hash_in: "Callable[[Iterable[mcp_types.Tool]], str | None]",
    ) -> None:  # fmt: skip
        self.spec = spec
        self._name, self._connection, self._hash_in = name, connection, hash_in

    async def call(self, arguments: Any, kit: Kit) -> Result:
        """Call it once; a server that has forgotten us is asked again, for it ran nothing."""
        if not isinstance(arguments, dict):
            raise ToolError("tool.bad_arguments", "The arguments are not an object.", settled=True)
        for last in (False, True):
            answer = await self._ask(arguments, kit, again=not last)
            if answer is not None:
                return self._result(answer, kit.effect_id)
            self._connection.drop()
        raise AssertionError("the last try answers or raises")

    async def _ask(
        self, arguments: dict[str, Any], kit: Kit, *, again: bool
    ) -> "mcp_types.CallToolResult | None":
        """The answer, or None when the server has forgotten us and may be asked again."""
        from mcp.shared.exceptions import MCPError
        from pydantic import ValidationError

        begun = False
        left = min(self.spec.timeout, kit.deadline - time.monotonic())
        try:
            with self._connection.at_work():
                async with asyncio.timeout(left):
                    client, listed = await self._connection.offering(anew=kit.held)
                    self._compare(listed)
                    begun = True
                    answer = await self._send(client, arguments, kit)
        except Down as wrong:
            raise errors.not_sent("tool.unreachable", unsaid(str(wrong))) from None
        except TimeoutError:
            words = f"No answer came in time.{self._connection.words()}"
            raise (
                self._unsure("tool.timeout", words)
                if begun
                else errors.not_sent("tool.timeout", words)
            ) from None
        except MCPError as wrong:
            if again and wrong.code == errors.SESSION_ENDED:
                return None
            raise self._named(wrong.code, wrong.message) from None
        except ValidationError:
            words = "The server answered with something that is not a result."
            raise self._unsure("tool.bad_result", words) from None
        self._connection.well()
        return answer

    def _compare(self, listed: "Iterable[mcp_types.Tool]") -> None:
        """Raise ToolError unless the server still offers the tool as it was shown."""
        now = self._hash_in(listed)
        if now == self.spec.hash:
            return
        what = "is no longer offered by" if now is None else "was changed by"
        raise ToolError(
            "tool.changed",
            f"The tool {self.spec.name} {what} its server {self._connection.server.name} since "
            "this call was proposed, so it was not sent. Ask the agent again.",
            settled=True,
        )

    async def _send(
        self, client: "Client", arguments: dict[str, Any], kit: Kit
    ) -> "mcp_types.CallToolResult":
        import mcp_types
        from pydantic import TypeAdapter

        async def told(progress: float, total: float | None, message: str | None) -> None:
            words = self._connection.server.mask.text(message or "")
            kit.progress(progress, total, words[:300])

        meta: Any = {KEY_META: kit.key}
        if kit.traceparent:
            meta["traceparent"] = kit.traceparent
        if kit.tracestate:
            meta["tracestate"] = kit.tracestate
        either: TypeAdapter[Any] = TypeAdapter(
            mcp_types.CallToolResult | mcp_types.InputRequiredResult
        )
        params = mcp_types.CallToolRequestParams(name=self._name, arguments=arguments, _meta=meta)
        answer: Any = await client.session.send_request(
            mcp_types.CallToolRequest(params=params), either, progress_callback=told
        )
        if isinstance(answer, mcp_types.InputRequiredResult):
            raise ToolError(
                "tool.needs_input", "The tool asks for input that the studio does not give it."
            )
        found: mcp_types.CallToolResult = answer
        return found

    def _result(self, answer: "mcp_types.CallToolResult", effect_id: str) -> Result:
        mask = self._connection.server.mask
        if answer.is_error:
            found = results.result(answer, mask)
            told = found.value if found.text is None else found.text
            raise ToolError(
                "tool.failed", results.words(answer, mask), result=told, masked=found.masked
            )
        schema = self.spec.output_schema
        if schema is not None:
            self._check(schema, answer)
        return results.result(answer, mask, effect_id)

    def _check(self, schema: Mapping[str, Any], answer: "mcp_types.CallToolResult") -> None:
        value = answer.structured_content
        if value is None:
            raise ToolError("tool.bad_result", "The tool promises structured content; none came.")
        if wrong := schemas.errors(schema, value):
            listed = "; ".join(f"{path or 'result'}: {words}" for path, words in wrong.items())
            raise ToolError(
                "tool.bad_result", f"The result does not fit the tool's schema. {listed}",
                result=self._connection.server.mask.value(value),
            )  # fmt: skip

    def _named(self, code: int, message: str) -> ToolError:
        server = self._connection.server
        words = " ".join(server.mask.text(message).split())[:1_000].rstrip(".")
        more = self._connection.words() if code in {errors.CLOSED, errors.BROKE} else ""
        said = f"{server.name}: {words}.{more}"
        return errors.of_protocol(code, said, read_only=self.spec.read_only)

    def _unsure(self, code: str, words: str) -> ToolError:
        return errors.unsure(code, words, read_only=self.spec.read_only)
