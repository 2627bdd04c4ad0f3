"""Graphs without a model. What waits, waits for a file in its gate, so that a test decides when a step is done."""

import asyncio
import operator
import os
from typing import Annotated, TypedDict

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt


class Talk(MessagesState):
    gate: str
    count: int


class Sum(TypedDict):
    total: int
    log: Annotated[list[str], operator.add]


async def opened(gate, step):
    while gate and not os.path.exists(os.path.join(gate, str(step))):
        await asyncio.sleep(0.01)


async def echo(state):
    return {"messages": [AIMessage("echo: " + (state["messages"][-1].content if state["messages"] else ""))]}


async def step(state):
    number = state.get("count", 0) + 1
    await opened(state.get("gate"), number)
    usage = {"input_tokens": 10, "output_tokens": number, "total_tokens": 10 + number}
    return {"messages": [AIMessage(f"step {number}", usage_metadata=usage)], "count": number}


async def look(state):
    call = {"name": "look", "args": {}, "id": "1"}
    return {"messages": [AIMessage("let me look", tool_calls=[call]), {"role": "tool", "content": "42", "tool_call_id": "1"}]}


async def fail(state):
    raise ValueError("the well is dry")


async def for_ever(state):
    await asyncio.Event().wait()


async def ask(state):
    answer = interrupt({"question": "Approve change", "risk": "low"})
    return {"messages": [AIMessage(f"you said {answer}")]}


async def add(state):
    return {"total": state.get("total", 0) + 1, "log": ["added"]}


async def nothing(state):
    return None


def chain(schema, *nodes):
    graph = StateGraph(schema)
    names = [f"{node.__name__}_{place}" for place, node in enumerate(nodes)]
    for name, node in zip(names, nodes):
        graph.add_node(name, node)
    for before, behind in zip([START, *names], [*names, END]):
        graph.add_edge(before, behind)
    return graph.compile()


def fork(schema, first, *beside):
    graph = StateGraph(schema)
    graph.add_node("first", first)
    graph.add_edge(START, "first")
    for place, node in enumerate(beside):
        graph.add_node(f"beside_{place}", node)
        graph.add_edge("first", f"beside_{place}")
    return graph.compile()


echo_graph = chain(Talk, echo)
steps = chain(Talk, step, step, step)
failing = chain(Talk, step, fail)
endless = chain(Talk, step, for_ever)
orphan = chain(Talk, for_ever)
approve = chain(Talk, step, ask)
tools = chain(Talk, look, step)
total = chain(Sum, add, nothing, add)
parallel = fork(Talk, step, echo, echo)
