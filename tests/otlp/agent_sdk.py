"""Spans by OpenTelemetry's SDK alone, named by the GenAI conventions."""

from exporting import provider
from opentelemetry import trace
from opentelemetry.trace import Status, StatusCode

made = provider("by-hand")
tracer = trace.get_tracer("by-hand", "1.0")
AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "weather agent"}
CHAT = {
    "gen_ai.operation.name": "chat", "gen_ai.provider.name": "stand-in",
    "gen_ai.request.model": "stand-in-1", "gen_ai.usage.input_tokens": 40,
    "gen_ai.usage.output_tokens": 9,
}  # fmt: skip
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather"}

with tracer.start_as_current_span("invoke_agent weather agent", attributes=AGENT):
    with tracer.start_as_current_span("chat stand-in-1", attributes=CHAT):
        pass
    with tracer.start_as_current_span("execute_tool weather", attributes=TOOL) as span:
        span.record_exception(TimeoutError("the weather did not come"))
        span.set_status(Status(StatusCode.ERROR, "timeout"))
    with tracer.start_as_current_span("read a file"):
        pass
made.shutdown()
