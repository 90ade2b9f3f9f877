"""Whether answers that nobody reads are followed by what reading them would bring."""

from kcore.actions import Send


class Spied:
    """Before a core's class: keeps all it sends."""

    def __init__(self, *args):
        self.written = []
        super().__init__(*args)

    def next_action(self):
        action = super().next_action()
        if isinstance(action, Send):
            self.written.append(bytes(action.data))
        return action


def repeated_of_asked(monkeypatch, standing, story):
    """How many answers `standing.again` followed, and how many it saw, in a story that is told with
    it and without: the same is sent both times.
    """
    counts = {"asked": 0, "repeated": 0}
    again = standing.again

    def counted(self, *args):
        found = again(self, *args)
        counts["asked"] += 1
        counts["repeated"] += found is not None
        return found

    monkeypatch.setattr(standing, "again", counted)
    short = story()
    monkeypatch.setattr(standing, "again", lambda self, *args: None)
    assert short == story()
    return counts["repeated"], counts["asked"]
