"""An agent of LangChain on LangGraph, seen by OpenInference's instrumentation of LangChain."""

import sys

from exporting import provider
from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from openinference.instrumentation.langchain import LangChainInstrumentor
from standin import QUESTION, serve, weather

made = provider("langgraph")
LangChainInstrumentor().instrument(tracer_provider=made)
model = ChatOpenAI(model="stand-in-1", base_url=serve(), api_key="none")
agent = create_agent(model, [tool(weather)], name="weather agent")
done = agent.invoke({"messages": [("user", QUESTION)]})
sys.stdout.write(done["messages"][-1].content)
made.shutdown()
