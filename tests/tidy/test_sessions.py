"""The judge of groups: what it lets pass, and what it does not."""

import pytest
from member_group import Sessions

PARTITION = 3


class Story:
    """What members say, in order."""

    def __init__(self):
        self.sessions = Sessions()

    def begins(self, member):
        self.sessions.take(member, {"said": "assigned", "partitions": [PARTITION]})

    def reads(self, member, first, last):
        runs = [[PARTITION, first, last, last - first + 1]]
        self.sessions.take(member, {"said": "read", "runs": runs})

    def commits(self, member, offset):
        self.sessions.take(member, {"said": "committed", "offsets": {str(PARTITION): offset}})

    def is_refused(self, member):
        self.sessions.take(member, {"said": "refused", "error": "too late"})

    def loses(self, member):
        self.sessions.take(member, {"said": "lost", "partitions": [PARTITION]})


@pytest.fixture
def story():
    """One member read three runs, committed the first, and was refused for the others."""
    told = Story()
    told.begins(0)
    told.reads(0, 0, 9)
    told.commits(0, 10)
    for first, last in ((10, 14), (15, 29)):
        told.reads(0, first, last)
        told.is_refused(0)
    told.loses(0)
    return told


@pytest.mark.parametrize("start", [10, 15, 30])
def test_any_of_the_refused_commits_may_have_arrived(story, start):
    story.begins(1)
    story.reads(1, start, 39)
    story.commits(1, 40)
    story.sessions.check({PARTITION: 40})


@pytest.mark.parametrize("start", [0, 9, 11, 16, 29, 31])
def test_nobody_begins_elsewhere(story, start):
    story.begins(1)
    story.reads(1, start, 39)
    story.commits(1, 40)
    with pytest.raises(AssertionError, match="one hold after the other"):
        story.sessions.check({PARTITION: 40})


def test_without_a_refusal_only_what_was_committed_counts():
    story = Story()
    story.begins(0)
    story.reads(0, 0, 9)
    story.commits(0, 10)
    story.reads(0, 10, 19)
    story.loses(0)
    story.begins(1)
    story.reads(1, 20, 29)
    story.commits(1, 30)
    with pytest.raises(AssertionError, match="one hold after the other"):
        story.sessions.check({PARTITION: 30})


def test_the_end_has_to_be_committed(story):
    with pytest.raises(AssertionError):
        story.sessions.check({PARTITION: 30})


def test_a_hole_is_seen():
    story = Story()
    story.begins(0)
    story.reads(0, 0, 9)
    story.reads(0, 11, 19)
    story.commits(0, 20)
    with pytest.raises(AssertionError):
        story.sessions.check({PARTITION: 20})


def test_whose_last_commit_nobody_heard_of(story):
    sessions, end = story.sessions, {PARTITION: 30}
    (hold,) = sessions.doubtful(end)
    assert (hold.member, hold.behind, hold.committed) == (0, 30, 10)
    assert sessions.doubtful({PARTITION: 31}) == []  # there is more to be read
    story.begins(1)
    assert sessions.doubtful(end) == [hold]  # the next one has found nothing to read
    story.reads(1, 15, 29)
    assert sessions.doubtful(end) == []  # it commits, and says so
