"""ATIF v1.8 as a validator, written from its RFC: every object closed, ids in order, references resolved."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class AtifAgent(Closed):
    name: str
    version: str
    model_name: str | None = None
    tool_definitions: list[dict[str, Any]] | None = None
    extra: dict[str, Any] | None = None


class AtifCall(Closed):
    tool_call_id: str
    function_name: str
    arguments: dict[str, Any]
    extra: dict[str, Any] | None = None


class AtifResult(Closed):
    source_call_id: str | None = None
    content: str | None = None
    extra: dict[str, Any] | None = None


class AtifObservation(Closed):
    results: list[AtifResult]


class AtifMetrics(Closed):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    extra: dict[str, Any] | None = None


class AtifStep(Closed):
    step_id: int = Field(ge=1)
    timestamp: str | None = None
    source: Literal["system", "user", "agent"]
    model_name: str | None = None
    message: str
    reasoning_content: str | None = None
    tool_calls: list[AtifCall] | None = None
    observation: AtifObservation | None = None
    metrics: AtifMetrics | None = None
    llm_call_count: int | None = Field(default=None, ge=0)
    extra: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _rules(self) -> AtifStep:
        if self.timestamp is not None:
            datetime.fromisoformat(self.timestamp.replace("Z", "+00:00"))
        mine = (self.model_name, self.reasoning_content, self.tool_calls, self.metrics)
        if self.source != "agent" and any(item is not None for item in mine):
            raise ValueError("only an agent's step has a model, reasoning, calls and metrics")
        if self.llm_call_count == 0 and (self.metrics or self.reasoning_content):
            raise ValueError("a step without a model call has no metrics and no reasoning")
        known = {call.tool_call_id for call in self.tool_calls or ()}
        for result in self.observation.results if self.observation else ():
            if result.source_call_id is not None and result.source_call_id not in known:
                raise ValueError(f"{result.source_call_id} is no call of this step")
        return self


class AtifFinal(Closed):
    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_cost_usd: float | None = None
    total_steps: int | None = Field(default=None, ge=0)
    extra: dict[str, Any] | None = None


class AtifTrajectory(Closed):
    schema_version: Literal["ATIF-v1.8"]
    session_id: str
    agent: AtifAgent
    steps: list[AtifStep] = Field(min_length=1)
    notes: str | None = None
    final_metrics: AtifFinal | None = None
    extra: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _order(self) -> AtifTrajectory:
        if [step.step_id for step in self.steps] != list(range(1, len(self.steps) + 1)):
            raise ValueError("step ids count from 1")
        ids = [call.tool_call_id for step in self.steps for call in step.tool_calls or ()]
        if len(ids) != len(set(ids)):
            raise ValueError("a tool call id occurs twice")
        if self.final_metrics and self.final_metrics.total_steps not in {None, len(self.steps)}:
            raise ValueError("total_steps is not the number of steps")
        return self
