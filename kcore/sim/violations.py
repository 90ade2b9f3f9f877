"""What a checker says when a rule is broken."""

from __future__ import annotations

import traceback
from enum import Enum


class Rule(Enum):
    """The rules that a run is judged by."""

    OWNED_ONCE = "no partition is owned twice in a generation"
    ANSWERED_ONCE = "every request is answered exactly once"
    NEVER_SKIPS = "positions never skip, records are what was written"
    COMMIT_BEHIND = "nothing is committed beyond what was handed to the application"
    COMMIT_FENCED = "a commit counts only from a member of the generation that is"
    COMMIT_OWN = "a member commits only what it has"
    COMMIT_FORWARD = "committed offsets never go back within a generation"
    DELIVERED = "every record is delivered at least once"
    PROGRESS = "assigned, unpaused and lagging implies a record or a typed error in time"
    THROTTLED = "who is told to wait sends nothing on that connection meanwhile"
    REMAINS = "who closes to remain is in its group until its session is over"
    SETTLES = "when the faults are over, everything settles in time"
    BOUNDED = "memory and work stay within their bounds"
    NO_FAULT = "nothing raises what it does not say it raises"
    STAYS = "a member that polls and is touched by no fault stays in its group"
    LEAVES = "who polls too late, or closes, is out of its group in time"
    HANDED_ON = "what auto commit has to commit is committed before others get its partition"
    TOLD = "an application is told of a commit what its coordinator has said"
    GIVES_UP = "what a member is to have no more it gives up in its next polls"
    HANDLED = "nothing is given on before its owner's application has handled that it goes"
    STICKY = "sticky assignors take nothing away that balance leaves"
    ROUNDS = "a rebalance waits for everybody it knows of, and no longer than it may"
    HELD_ONCE = "a record is acquired for one member at a time"
    DONE_ONCE = "what is accepted or rejected is never given out again"
    COUNTED = "deliveries are counted one by one, and end at the limit"
    HANDED = "an application is handed what was acquired for it, once, while it is locked"
    SAID = "a member acknowledges what its application has said, of what it was handed"
    WRITTEN_ONCE = "a record that was promised is in the log once, others at most once"
    IN_ORDER = "a producer's records are in the log in the order they were sent in"
    ALL_OR_NOTHING = "of a transaction all is committed or nothing, and by nobody else"
    READ_COMMITTED = "who reads what is committed gets nothing else"
    MOVED_ONCE = "what is made of a record is committed once"
    FENCED = "who has lost its id writes no more, and nobody loses it for nothing"
    OPERATED = "who operates the cluster is told in time, and what is so"
    COHERENT = "the coordinator's books agree with each other"


class ViolationError(Exception):
    """A rule is broken: the run ends here."""

    def __init__(self, rule: Rule, text: str) -> None:
        super().__init__(f"{rule.name}: {rule.value}: {text}")
        self.rule = rule
        self.text = text


def escaped(error: Exception) -> ViolationError:
    """An exception that nobody was to see."""
    return ViolationError(Rule.NO_FAULT, "".join(traceback.format_exception(error)))
