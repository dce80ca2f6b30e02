"""Operator Studio: a studio in the browser for people who are answerable for AI agents.

`core` is a small runtime that runs agents durably: rules decide what may happen, the store
remembers every fact, the worker acts and records, and projections answer. `web` shows it to
people as pages that stay true while one looks at them; `api` repeats the same verbs for
programs. Imports point down, never sideways: web and api know the core only as `Runtime` (what
one may do) and `Reader` (what one may ask), and `app` alone joins the parts.
"""

__version__ = "0.1.0"
