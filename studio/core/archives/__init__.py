"""Archives of strangers, read strictly: an archive is as it should be throughout, or it is refused.

`opening` tells the kinds apart, `tars` and `zips` read them entry by entry and never hold one in
memory, `names` says what a path may be, `layout` which entries may stand beside each other. Nothing
here writes; whoever takes an entry in must have a way to forget all of it when a later one is bad.
"""
