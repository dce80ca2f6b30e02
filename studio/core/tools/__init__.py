"""The hands: one file per kind of tool. Each sees its arguments and a `Kit`, nothing else."""
