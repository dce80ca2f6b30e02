"""The same verbs for programs: JSON in, JSON out, under `/v1`.

`routes` lists every URL; each resource file (`agents sessions approvals policy keys health`) holds
its endpoints as values. `bodies` and `answers` say what comes in and goes out, `shapes` parses,
renders and describes them, and `openapi` writes the document from those same values. `endpoint`
carries a request from the wire to the handler and back; `errors` says what each error looks like.
"""
