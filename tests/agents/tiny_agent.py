#!/usr/bin/env python3
"""The CLI of the worked example in docs/extending/agents.md: one tool, OpenAI's chat format, JSON lines out."""

import json
import os
import pathlib
import subprocess
import sys
import urllib.error
import urllib.request

if sys.argv[1:] == ["--version"]:
    print("tiny-agent 0.3.1")
    sys.exit()
MODEL = (pathlib.Path.home() / ".tiny/settings.ini").read_text().split("=", 1)[1].strip()
TOOL = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
tokens = {"in": 0, "out": 0}


def say(kind, **fields):
    print(json.dumps({"type": kind, **fields}), flush=True)


def ask(messages):
    tools = [{"type": "function", "function": {"name": "shell", "description": "Run a command.", "parameters": TOOL}}]
    request = urllib.request.Request(
        os.environ["TINY_URL"] + "/chat/completions",
        json.dumps({"model": MODEL, "messages": messages, "tools": tools}).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["TINY_KEY"]},
    )
    with urllib.request.urlopen(request) as reply:
        whole = json.load(reply)
    tokens["in"] += whole["usage"]["prompt_tokens"]
    tokens["out"] += whole["usage"]["completion_tokens"]
    return whole["id"], whole["choices"][0]["message"]


def run(call):
    args = json.loads(call["function"]["arguments"])
    done = subprocess.run(["/bin/bash", "-c", args["command"]], capture_output=True, text=True)
    return args, done.stdout + done.stderr, done.returncode


assert sys.argv[1:] == ["--json"], sys.argv
messages = [{"role": "user", "content": sys.stdin.read()}]
while True:
    try:
        reply, message = ask(messages)
    except urllib.error.URLError as error:
        say("done", why="failed", text=str(error), tokens=tokens)
        sys.exit(1)
    messages.append(message)
    if message.get("content"):
        say("text", reply=reply, text=message["content"])
    if not message.get("tool_calls"):
        say("done", why="finished", text=message.get("content") or "", tokens=tokens)
        break
    for call in message["tool_calls"]:
        args = json.loads(call["function"]["arguments"])
        say("call", reply=reply, id=call["id"], tool=call["function"]["name"], args=args)
        args, output, code = run(call)
        say("result", id=call["id"], output=output, exit=code)
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": output})
