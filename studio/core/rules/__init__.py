"""What may happen: pure functions over facts, on the standard library alone.

No clock, no dice, no input or output. Times (milliseconds since 1970, UTC) and ids come in as
arguments; what goes out is a list of events, or a `Refused` that says why not.
"""
