"""What a developer holds in hand: `Memory`, `AsyncMemory` and the handles they give out.

Thin: a handle knows its scope and asks its backend, which may be an engine in this process or a
server. It holds no state and decides nothing else.
"""
