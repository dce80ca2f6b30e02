"""The way out of an environment: a proxy that knows which places may be reached, and tells of all.

`allowing` is the list of places, `heads` and `bodies` read HTTP strictly, `relays` carries bytes,
`proxy` listens and judges, `tried` is what is told of each try. Bytes inside a tunnel are not seen.
"""
