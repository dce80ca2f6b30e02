"""Environments: what a manifest may say, what an environment is, and what may become of it.

`manifest` reads a definition whole, with `files`, `slots` and `network` for its parts;
`environment` folds the facts of one; `records` and `forks` decide what is recorded next.
"""
