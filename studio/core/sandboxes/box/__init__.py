"""The hardened box of this machine: how a command is held, and by what.

`probe` says what this machine gives. `bubblewrap` writes the profile of namespaces and mounts,
`landlock` rules for machines that refuse those, `seccomp` the filter of system calls, `limits` and
`cgroups` the bounds. `launcher` is a small process of its own that starts and ends commands;
`launching` is our side of it. `usage` watches the disk.
"""
