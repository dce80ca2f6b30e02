"""An agent of the OpenAI Agents SDK, seen by its OpenInference instrumentation."""

import asyncio
import sys

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    Runner,
    function_tool,
    set_trace_processors,
)
from exporting import provider
from openai import AsyncOpenAI
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor
from standin import QUESTION, serve, weather

made = provider("openai-agents")
set_trace_processors([])
OpenAIAgentsInstrumentor().instrument(tracer_provider=made)
client = AsyncOpenAI(base_url=serve(), api_key="none")
agent = Agent(
    name="weather agent", instructions="Say what the weather is.", tools=[function_tool(weather)],
    model=OpenAIChatCompletionsModel("stand-in-1", client),
)  # fmt: skip
sys.stdout.write(asyncio.run(Runner.run(agent, QUESTION)).final_output)
made.shutdown()
