"""What is remembered. The only code that speaks SQL, together with `projections`, which only reads.

`db` opens the store, `journal` appends facts with everything that follows from them in one
transaction, `rows` derives the tables that pages read, `wakes` says who may move a session.
"""
