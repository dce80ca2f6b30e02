"""Where an agent's commands run and its files lie: one contract, four kinds.

`contract` says what every kind can do and how it answers, `gaps` what each kind cannot enforce.
`sandbox` is a hardened box on this machine, `container` speaks to docker or podman, `remote` to an
HTTP service, and `none` has no disk and runs nothing. Nothing here knows of sessions or the store.
"""
