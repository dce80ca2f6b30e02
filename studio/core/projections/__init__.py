"""Answers: what people and programs are shown, read from the store in windows.

Every function takes a connection inside one read transaction, asks few statements and gives frozen
rows. None writes. Access is part of each statement, so what a person may not see is not counted.
"""
