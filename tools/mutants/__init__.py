"""Faults planted one by one into the product's own code: does a test notice each?

All faults of a folder are compiled into one build, each behind a switch with a number (`switches`); a run of a test
has one of them on. So a fault costs the tests that reach it, and no build.
"""
