"""The commands of this machine: `studio serve`, `studio approvals list` and the rest.

`server` starts and keeps the studio through `studio.app`; `agents sessions approvals keys` ask a
running one through `api_client`, like any other program. Every failure is one paragraph on standard
error and an exit code that is not zero.
"""

from studio.cli.entry import main

__all__ = ["main"]
