"""Packages: plugins and skills as they arrive, in an archive or a folder, read and checked.

Everything comes in as bytes by path, and every fault is told at once with its place. Nothing is
ever unpacked before all of it was looked at, and nothing here writes.
"""
