"""Papers as data: folders with scenarios, published values, claims and deviations, and the engine that judges them."""

from sojourn.papers.model import Paper, find_paper, find_papers, load_paper
from sojourn.papers.outcome import Outcome
from sojourn.papers.reproduce import RunOptions, reproduce
from sojourn.papers.verdict import Verdict

__all__ = ["Outcome", "Paper", "RunOptions", "Verdict", "find_paper", "find_papers", "load_paper", "reproduce"]
