"""Plants faults one by one into the product's own code and finds out whether a test notices each of them.

All faults of a folder are compiled into one build, each behind a switch with a number (`switches`), and a run of a test
turns one of them on. So a fault costs a run of the tests that reach it, and no build.
"""
