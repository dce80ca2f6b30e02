"""An agent of Pydantic AI, seen by its own instrumentation."""

import sys

from exporting import provider
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from standin import QUESTION, serve, weather

made = provider("pydantic-ai")
Agent.instrument_all()
model = OpenAIChatModel("stand-in-1", provider=OpenAIProvider(base_url=serve(), api_key="none"))
agent = Agent(model, name="weather agent", tools=[weather])
sys.stdout.write(agent.run_sync(QUESTION).output)
made.shutdown()
