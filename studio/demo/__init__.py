"""The demonstration: an agent, a plugin and a policy on which everything can be tried for real.

Its effects are real: releases are written to a ledger on disk by the plugin's own server, notices
arrive at the endpoint of `host`. The studio itself knows nothing of any of it.
"""
