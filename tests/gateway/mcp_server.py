"""A stdio MCP server for tests, in the standard library alone; its tools misbehave on request.

Flags: --gate FIFO (starts to answer once somebody opens it for writing), --slow SECONDS (before it answers at all),
--die (ends at once, with a word), --hang (reads and never answers), --garbage (lines that are no JSON between all
others), --flood (1 MB on stderr first), --no-tools, --pages (one tool a page), --all (resources and prompts, empty).
"""

import json
import os
import sys
import tempfile
import time

FLAGS = sys.argv[1:]
TOOLS = {
    "echo": {"text": {"type": "string"}},
    "big": {"bytes": {"type": "integer"}},
    "die": {},
    "hang": {},
    "freeze": {},
    "ask": {},
    "progress": {},
    "look": {"path": {"type": "string"}},
    "run": {"code": {"type": "string"}},
    "fail": {},
}


def say(item):
    if "--garbage" in FLAGS:
        sys.stdout.write("starting up, please wait...\n{half\n\n")
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **item}, separators=(", ", ":")) + "\n")
    sys.stdout.flush()


def hear():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def text(value, **more):
    return {"content": [{"type": "text", "text": value}], **more}


def call(id, name, args, meta):
    if name == "echo":
        return text(args.get("text", ""))
    if name == "big":
        return text("x" * args["bytes"])
    if name == "die":
        sys.stderr.write("the disk is on fire\n")
        sys.stderr.flush()
        os._exit(3)
    if name == "hang":
        return None
    if name == "freeze":
        time.sleep(3600)
    if name == "ask":
        say({"id": "s1", "method": "roots/list"})
        return text(json.dumps(hear()))
    if name == "progress":
        say({"method": "notifications/progress", "params": {"progressToken": meta["progressToken"], "progress": 1}})
        return text("done")
    if name == "look":
        try:
            return text(open(args["path"]).read())
        except OSError as error:
            return text(str(error), isError=True)
    if name == "run":
        scope = {}
        exec(args["code"], scope)
        return text(str(scope.get("out")))
    if name == "fail":
        return text("it went wrong", isError=True)
    return None


def handle(item):
    id, method = item.get("id"), item.get("method")
    if method is None or id is None:
        return
    if method == "initialize":
        say(
            {
                "id": id,
                "result": {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {}, **({"resources": {}, "prompts": {}} if "--all" in FLAGS else {})},
                    "serverInfo": {"name": "test", "version": "1"},
                },
            }
        )
    elif method in {"resources/list", "resources/templates/list", "prompts/list"}:
        say({"id": id, "result": {"resources": [], "resourceTemplates": [], "prompts": []}})
    elif method == "tools/list":
        names = [] if "--no-tools" in FLAGS else list(TOOLS)
        at = int((item.get("params") or {}).get("cursor") or 0)
        more = {}
        if "--pages" in FLAGS and at + 1 < len(names):
            more = {"nextCursor": str(at + 1)}
        if "--pages" in FLAGS:
            names = names[at : at + 1]
        tools = [
            {"name": name, "description": f"{name}.", "inputSchema": {"type": "object", "properties": TOOLS[name]}}
            for name in names
        ]
        say({"id": id, "result": {"tools": tools, **more}})
    elif method == "tools/call":
        params = item["params"]
        result = call(id, params["name"], params.get("arguments") or {}, params.get("_meta"))
        if result is not None:
            say({"id": id, "result": result})
    else:
        say({"id": id, "result": {"was": item}})


if "--flood" in FLAGS:
    sys.stderr.write("noise\n" * 170_000)
if "--die" in FLAGS:
    sys.exit("no such cluster: check --context")
if "--slow" in FLAGS:
    time.sleep(float(FLAGS[FLAGS.index("--slow") + 1]))
if "--gate" in FLAGS:
    place = FLAGS[FLAGS.index("--gate") + 1]
    os.close(os.open(place, os.O_RDONLY))
    os.close(tempfile.mkstemp(prefix="passed", dir=os.path.dirname(place))[0])
while True:
    message = hear()
    if "--hang" in FLAGS:
        time.sleep(3600)
    for one in message if isinstance(message, list) else [message]:
        handle(one)
