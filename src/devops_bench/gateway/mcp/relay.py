"""What the agent's CLI starts in place of the MCP server: a bash that joins its own stdin and stdout to the gateway.

It holds no evidence and no rights: whoever talks through it is recorded and guarded by the gateway. The token keeps out
other processes of the host where the network is shared. bash and cat are all it needs, and both block: no busy loop.
"""

from __future__ import annotations

NAME = "mcp-relay"
# The side that reads stdin ends its sibling, so that it also does when the shell between them was killed; the signal
# tells that shell which side ended.
SCRIPT = """\
# Joins stdin and stdout to the MCP server. Ends with 0 when stdin ends, with 1 when the server's side does.
exec 4<&0
{{ exec 3<>/dev/tcp/{host}/{port}; }} 2>/dev/null || {{ echo 'MCP server: cannot connect' >&2; exit 1; }}
printf '%s\\n' '{token}' >&3
cat <&3 4<&- & down=$!
{{ cat <&4 >&3 2>/dev/null && kill "$down" 2>/dev/null; }} & up=$!
exec 3>&- 4<&- <&- >&-
trap 'kill "$up" "$down" 2>/dev/null' EXIT
trap 'exit 143' TERM INT HUP
wait "$down" 2>/dev/null
[ "$?" = 143 ] && exit 0
echo 'MCP server: the connection has ended' >&2
exit 1
"""


def script(host: str, port: int, token: str) -> bytes:
    """The relay for a gateway at `host`:`port`; run it with bash."""
    return SCRIPT.format(host=host, port=port, token=token).encode()
