"""The verbs of the runtime, by noun. Each is load, rule, append, in one transaction.

They take the person first and check their rights themselves. What they refuse, they refuse with a
sentence and a stable code, and then nothing was changed.
"""
