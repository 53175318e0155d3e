"""`python -m sojourn` is the program `sojourn`."""

from sojourn_program import entry

if __name__ == "__main__":
    entry()
