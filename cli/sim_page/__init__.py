"""A run as one page of HTML that needs nothing else: no network, no fonts, no other files.

`kcore.sim.story` says what is to be seen; `page.html`, `page.css` and the scripts how. Nothing of
today is in the page: the same run gives the same bytes.
"""

from __future__ import annotations

import json
import re
from functools import cache
from html import escape
from importlib import resources
from typing import Final

from kcore.sim import Outcome
from kcore.sim.story import Story, data_of, story_of
from kcore.sim.words import (
    Verdict,
    count,
    plan_in_words,
    rates_in_words,
    seconds,
    verdicts,
)

_PLACE: Final = re.compile(r"\{\{(\w+)\}\}")
_SCRIPTS: Final = ("rows.js", "drawing.js", "looking.js")
_TAIL_LINES: Final = 120
_TEXT_MAX: Final = 20_000  # characters of what a checker says

# Words that the page finds in what a checker says, to mark who is meant.
_NAME: Final = re.compile(r"[\w()-]+")

_MARKS: Final = {Verdict.HELD: "", Verdict.BROKEN: "broken", Verdict.NOT_REACHED: "unreached"}


def page_of(outcome: Outcome, replay: str) -> str:
    """The whole page. replay: the command that gives this run again."""
    story = story_of(outcome)
    return _filled(
        _file("page.html"),
        {
            "title": escape(f"kcore sim, seed {outcome.plan.seed}"),
            "style": _file("page.css"),
            "script": "".join(map(_file, _SCRIPTS)),
            "header": _header(outcome, replay),
            "violation": _violation(outcome),
            "figures": _figures(outcome, story),
            "plan": "".join(f"<p>{escape(line)}</p>\n" for line in plan_in_words(outcome.plan)),
            "rates": _rates(outcome),
            "rules": _rules(outcome),
            "folded": _folded(story),
            "open": "" if outcome.violation is None else " open",
            "line_count": f"{len(story.lines):,}",
            "lines": _lines(outcome, story),
            "names": escape("\n".join(outcome.plan.lines())),
            "data": _json(outcome, story),
        },
    )


@cache
def _file(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text("utf-8")


def _filled(template: str, parts: dict[str, str]) -> str:
    """Once through: what is put in is not looked at again."""
    return _PLACE.sub(lambda found: parts[found[1]], template)


def _json(outcome: Outcome, story: Story) -> str:
    """Inside a script element nothing may look like its end, or like a comment."""
    data = data_of(story)
    violation = outcome.violation
    named = set(_NAME.findall(violation.text)) if violation is not None else set()
    data["calm"] = not outcome.plan.faults
    data["broken"] = violation.rule.value if violation is not None else None
    partitions = {f"{topic}-{number}" for _, topic, number, *_ in data["partitions"]}
    known = {lane.name for lane in story.lanes} | story.nodes.keys() | partitions
    data["named"] = sorted(named & known)
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _header(outcome: Outcome, replay: str) -> str:
    violation = outcome.violation
    verdict = (
        '<span class="verdict held">every rule held</span>'
        if violation is None
        else f'<span class="verdict broken">{escape(violation.rule.name)} is broken</span>'
    )
    return (
        f"<h1>Simulation, seed {outcome.plan.seed}</h1>\n{verdict}\n"
        f'<span class="muted">trace hash <code id="hash">{escape(outcome.digest)}</code></span>\n'
        f'<span class="replay">Again, bit for bit: <code>{escape(replay)}</code></span>'
    )


def _violation(outcome: Outcome) -> str:
    violation = outcome.violation
    if violation is None:
        return ""
    text = violation.text[:_TEXT_MAX]
    tail = "\n".join(outcome.tail[-_TAIL_LINES:])
    return (
        '<section class="violation" id="violation">\n'
        f"<h2>At {seconds(outcome.ended_ms)}, turn {outcome.steps:,}:"
        f" {escape(violation.rule.value)}</h2>\n<pre>{escape(text)}</pre>\n"
        f"<details><summary>The last lines before that</summary><pre>{escape(tail)}</pre>"
        "</details>\n</section>"
    )


def _figures(outcome: Outcome, story: Story) -> str:
    never = "never" if story.healed_ms is not None else "\N{EN DASH}"
    settled = never if outcome.settled_ms is None else seconds(outcome.settled_ms)
    counts = outcome.counts
    shown = [
        *((f"{counts[name]:,}", name) for name in ("members", "generations", "faults")),
        (f"{counts['records']:,}", "records promised"),
        (f"{counts['delivered']:,}", "delivered"),
        *_done(outcome, story),
        *((f"{counts[name]:,}", name) for name in ("requests", "connects")),
        (f"{outcome.steps:,}", "turns"),
        (seconds(outcome.ended_ms), "of the world"),
        (settled, "to settle after the last fault"),
    ]
    return "\n".join(
        f"<div><b>{escape(figure)}</b><span>{name}</span></div>" for figure, name in shown
    )


def _done(outcome: Outcome, story: Story) -> list[tuple[str, str]]:
    """What members have said of records."""
    counts = outcome.counts
    plan = outcome.plan
    if plan.share or plan.exact:
        names = ("acquired", "done with") if plan.share else ("moved", "transactions", "aborted")
        return [(f"{counts[name]:,}", name) for name in names]
    commits = count(counts["commits"], "commit")
    return [(f"{sum(story.committed):,}", f"committed, by {commits}")]


def _rates(outcome: Outcome) -> str:
    rates = rates_in_words(outcome.plan)
    if not rates:
        return '<p class="muted">None.</p>'
    items = "\n".join(
        f'<li title="{escape(what)}">{escape(word)} <span class="muted">{escape(often)}</span></li>'
        for word, often, what in rates
    )
    return f'<ul class="rates">\n{items}\n</ul>'


def _rules(outcome: Outcome) -> str:
    items = "\n".join(
        f'<li class="{_MARKS[verdict]}" title="{rule.name}: {verdict.value}">'
        f"{escape(rule.value)}</li>"
        for rule, verdict in verdicts(outcome)
    )
    return f'<ul class="rules">\n{items}\n</ul>'


def _folded(story: Story) -> str:
    if not story.folded:
        return ""
    return f'<p class="folded">{escape(" ".join(story.folded))}</p>'


def _lines(outcome: Outcome, story: Story) -> str:
    rows = [_row(*line) for line in story.lines]
    if outcome.violation is not None:
        rule = outcome.violation.rule
        rows.append(_row(outcome.ended_ms, rule.name, "", rule.value, ' class="broken"'))
    return "\n".join(rows)


def _row(at_ms: int, what: str, who: str, words: str, marks: str = "") -> str:
    return (
        f"<tr{marks}><td>{at_ms / 1_000:,.3f} s</td><td>{escape(what)}</td>"
        f"<td>{escape(who)}</td><td>{escape(words)}</td></tr>"
    )
