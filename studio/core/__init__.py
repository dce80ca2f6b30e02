"""The runtime. It knows sessions and nothing of HTTP or HTML.

`rules` decide and touch nothing; `store` remembers; `providers` think and `tools` act;
`projections` answer. `Runtime` holds every verb, `Reader` every question, and `Worker`
is the only code that touches the outside world.
"""
