"""Mutation testing: checks that some test fails if an operator, value or branch of a source changes."""
