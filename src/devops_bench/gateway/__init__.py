"""What stands between an agent and the outside: model gateway and MCP gateway. They meter, record and refuse."""
