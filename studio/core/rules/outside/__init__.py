"""Traces from outside: spans that other people's agents sent, read-only and only *claimed*.

`claims` is what a span says of itself and what is refused of it, `cutting` bounds it, `recognising`
reads the conventions, `arranging` makes a tree of whatever came.
"""
