"""Disk versions: what a folder held at one moment, kept so that any moment can be had again.

`disks` is the one door. Below it: `tree` says what a version is, `objects` keeps bytes by their
hash in `packs` that `index` finds again through `tables`, `walk` and `reading` look at a folder
with the stat `cache`, and a module stands for each verb: `keeping`, `restoring`, `browsing`,
`differences`, `exporting`, `importing`, `collecting`. Plain folders of this machine on both sides;
nothing here knows of sessions, journals, sandboxes or SQL. All of it blocks: call from a thread.
"""
