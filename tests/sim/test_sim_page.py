"""The page of a run: whole in itself, the same again, and nothing in it is taken for markup."""

import os
import subprocess
import sys
from html.parser import HTMLParser

import pytest
from sim_pages import data_in, event, outcome, page, started
from sim_runs import BUSY, run

from kcore.sim import Fault, Plan, Rule, ViolationError
from kcore.sim.trace import What

HOSTILE = "</script><img src=x onerror=alert(1)><!--\"'&amp; {{data}}\u2028"
VOID = {"meta", "br", "img", "link"}


class Outline(HTMLParser):
    """Elements of a page, each of which is closed where it should be."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.text = [], [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, (tag, self.getpos())

    def handle_data(self, data):
        self.text.append(data)

    @property
    def tags(self):
        return [tag for tag, _ in self.seen]


@pytest.fixture(scope="module")
def busy():
    """A run of two groups in which a lot goes wrong."""
    faults = dict.fromkeys((*BUSY, Fault.SLOW, Fault.LEADER_MOVE), 2_000)
    return run(
        Plan(
            seed=11, members=6, groups=2, brokers=3, partitions=5, duration_ms=15_000, faults=faults
        )
    )


def test_a_page_needs_nothing_else(busy):
    text = page(busy)
    outline = Outline(text)
    assert "://" not in text
    for _, attributes in outline.seen:
        assert not {"src", "href", "action", "srcset"} & attributes.keys()
    assert "url(" not in text
    assert "@import" not in text
    assert {"link", "img", "iframe"}.isdisjoint(outline.tags)


def test_every_member_fault_and_generation_is_there(busy):
    text = page(busy)
    data = data_in(text)
    events = busy.events
    names = {one.who for one in events if one.what is What.MEMBER_STARTED}
    assert names == {name.split(" (")[0] for name, *_ in data["members"]}
    faults = [(one.at_ms, one.detail["kind"]) for one in events if one.what is What.FAULT]
    drawn = [(mark[0], kind) for kind, _, _, marks in data["faults"] for mark in marks]
    assert len(faults) > 20
    assert sorted(drawn) == sorted(faults)
    generations = sum(one.what is What.GENERATION for one in events)
    assert sum(len(group) for _, group in data["groups"]) == generations > 2
    rows = {(group, topic, number) for group, topic, number, *_ in data["partitions"]}
    assert rows == {(f"group{g}", "t1", n) for g in (1, 2) for n in range(5)}
    outline = Outline(text)
    words = "".join(outline.text)
    for _, kind in faults:
        assert f"{kind}" in words
    assert busy.digest in words
    assert outline.tags.count("tr") > len(faults)


def test_the_same_run_is_the_same_page_byte_for_byte(busy):
    again = run(busy.plan)
    assert page(again).encode() == page(busy).encode()


def test_hostile_names_are_text():
    bad = outcome(
        started(0, HOSTILE, group=HOSTILE),
        event(10, What.GENERATION, HOSTILE, generation=1),
        event(20, What.FAULT, HOSTILE, kind="cut", node=HOSTILE),
        event(30, What.ERROR, HOSTILE, process=1, error=HOSTILE),
        violation=ViolationError(Rule.OWNED_ONCE, HOSTILE),
        tail=[HOSTILE],
    )
    text = page(bad)
    outline = Outline(text)
    assert "img" not in outline.tags
    assert outline.tags.count("script") == 2
    assert "".join(outline.text).count(HOSTILE) >= 4
    assert data_in(text)["members"][0][0] == HOSTILE
    assert "\u2028" not in text.split('id="run">')[1]


def test_what_is_broken_is_said_on_top():
    broken = ViolationError(Rule.OWNED_ONCE, "t1-0 is m1's and m2's in node1")
    text = page(outcome(started(0, "m1"), started(0, "m3", 2), violation=broken, tail=["so be it"]))
    words = "".join(Outline(text).text)
    assert "OWNED_ONCE is broken" in words
    assert "t1-0 is m1's and m2's" in words
    assert "so be it" in words
    data = data_in(text)
    assert data["named"] == ["m1", "node1"]
    assert data["broken"] == Rule.OWNED_ONCE.value
    assert "every rule held" not in words
    assert "every rule held" in page(outcome())


def test_what_was_folded_is_said_on_the_page():
    events = [started(0, f"m{n}", n) for n in range(450)]
    assert "50 more members have no lane of their own" in page(outcome(*events))


def test_a_page_stays_small_however_long_the_run_was():
    events = [started(0, f"m{n}", n) for n in range(600)]
    for at_ms in range(0, 10_000, 5):
        who = at_ms // 5 % 600
        events.append(event(at_ms, What.REBALANCING, f"m{who}", process=who, why="again"))
        events.append(event(at_ms, What.ERROR, f"m{who}", process=who, error="no " * 20))
        events.append(event(at_ms, What.FAULT, f"m{who}", kind="cut", node="node1"))
    assert len(page(outcome(*events))) < 1_500_000


def test_the_bytes_do_not_hang_on_how_sets_hash():
    script = (
        "import hashlib, random\n"
        "from kcore.cli.sim_page import page_of\n"
        "from kcore.sim import plan_of, simulate\n"
        "text = page_of(simulate(plan_of(random.Random, 3), random.Random), 'again')\n"
        "print(hashlib.sha256(text.encode()).hexdigest())"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(said) == 1
