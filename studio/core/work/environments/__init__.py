"""What a worker does with environments: opens them, sets them up, keeps their disks, ends them.

`locks` lets one change a disk while nobody works on it, `places` opens environments, `setup`
prepares a new disk, `turns` serves sessions, `operations` does what people asked for, `sweeping`
clears what is over.
"""
