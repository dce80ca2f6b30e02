"""What a command cannot do in its box, tried one by one; also a program of its own.

It imports the standard library and `studio.core.sandboxes` alone, so that any user of the machine
can run it with any Python.
"""
