"""Speed, measured: `make bench` prints every figure with the number it must reach.

Each module measures one thing and returns `Figure`s. Medians over repeats, all in one run; a
figure says how many were counted. Nothing here is a test, and no test is timed.
"""
