"""Environments in the browser: the list, one with its tabs, making, forking, and manifests.

`index` is the list; `show` one environment with the `tabs` it has; `change` its labels and owner,
`secrets` its slots, `ending` what stops, empties or deletes it; `make` and `fork` make one;
`manifests` and `manifest_editor` are of what environments are made from.
"""
