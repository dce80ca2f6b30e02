"""How one session is moved: ask the rules, record intent, touch the world, record the outcome.

`driver` goes round that loop, `asking` asks models, `sending` sends calls, `judge` finds out what
can be known of a proposed call. `studio.core.worker` says which sessions, and when.
"""
