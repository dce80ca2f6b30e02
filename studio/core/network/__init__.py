"""The one way out: whatever reaches another host by order of an agent goes through here.

`hosts` reads a host however it is written, `addresses` is the table of what may be reached,
`resolver` asks for a name once and judges every answer, `wire` connects to what was judged and to
nothing else, `connector` sends HTTP over it, `streams` gives plain connections. HTTP tools, MCP
servers and the proxy of an environment share all of it.
"""
