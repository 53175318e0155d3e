"""Mutation testing: a test must fail for each changed operator, value or branch."""
