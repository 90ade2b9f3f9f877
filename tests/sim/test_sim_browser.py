"""The page of a run in a real browser: its script runs, draws, and answers mouse and keyboard."""

import json
import re

import matplotlib.image
import numpy as np
import pytest
from sim_pages import assigned, event, outcome, page, started
from sim_runs import busy
from test_sim_page import HOSTILE

from kcore.sim.trace import What

# What a hand would do, done by a script; what the page made of it is left in the document.
HANDS = """
<script>
const of = title => [...document.querySelectorAll(".panel")]
  .find(one => one.querySelector("h2").textContent === title).querySelector("canvas");
const tip = document.getElementById("tip"), root = document.documentElement, said = {};
function act(canvas, kind, x, y, more) {
  const box = canvas.getBoundingClientRect(), make = kind === "wheel" ? WheelEvent : PointerEvent;
  const at = {clientX: box.left + x, clientY: box.top + y, bubbles: true, cancelable: true};
  canvas.dispatchEvent(new make(kind, Object.assign(at, more)));
}
const key = name => document.dispatchEvent(new KeyboardEvent("keydown", {key: name}));
const members = of("Members");
act(members, "pointermove", 40, 10);
said.name = tip.textContent;
act(members, "pointermove", members.clientWidth - 300, 10);
said.span = tip.textContent;
act(members, "pointerleave", 0, 0);
said.hidden = tip.hidden;
key("+");
said.keyboard = root.dataset.view;
key("0");
said.all = root.dataset.view;
act(members, "wheel", 500, 10, {deltaY: -200, ctrlKey: true});
said.wheel = root.dataset.view;
said.address = location.hash;
act(members, "dblclick", 500, 10);
said.after = root.dataset.view;
members.setPointerCapture = () => {};  // there is no real pointer
for (const [kind, x] of [["pointerdown", 300], ["pointermove", 500], ["pointerup", 500]])
  act(members, kind, x, 10);
said.picked = root.dataset.view;
for (const [kind, x] of [["pointerdown", 400], ["pointermove", 300], ["pointerup", 300]])
  act(members, kind, x, 10, {shiftKey: true});
said.moved = root.dataset.view;
said.width = members.clientWidth;
key("Escape");
said.folded = +root.dataset.members;
document.getElementById("fold")?.click();
said.unfolded = +root.dataset.members;
const made = document.createElement("pre");
made.id = "said";
made.textContent = JSON.stringify(said);
document.body.append(made);
</script>
</body>"""


def saved(folder, text):
    path = folder / "run.html"
    path.write_text(text, "utf-8")
    return path


def counts(document):
    """What the script says that it drew."""
    return {
        name: int(number)
        for name, number in re.findall(r'data-(\w+)="(\d+)"', document[: document.index("<head")])
    }


@pytest.fixture
def many():
    """200 members, to four of which something happens."""
    events = [started(0, f"m{n}", n) for n in range(200)]
    events += [event(50, What.REBALANCING, f"m{n}", process=n, why="") for n in range(200)]
    events += [event(100, What.GENERATION, "g", generation=1)]
    events += [assigned(100 + n, f"m{n}", n, 1, n) for n in range(200)]
    events += [event(900 + n, What.ERROR, f"m{n}", process=n, error="late") for n in range(4)]
    events += [event(1_000, What.FAULT, "node1", kind="node-crash", until_ms=2_000)]
    return outcome(*events)


def test_the_script_draws_everything(chromium, tmp_path):
    run = busy(3)
    document, console = chromium.document(saved(tmp_path, page(run)))
    assert not console
    drawn = counts(document)
    of = [one.what for one in run.events]
    assert drawn["faults"] == of.count(What.FAULT) > 10
    assert drawn["generations"] == of.count(What.GENERATION) > 1
    assert drawn["members"] >= 4
    assert drawn["partitions"] == 5
    assert drawn["drawn"] == document.count("<canvas") == 7


def test_mouse_and_keyboard(chromium, tmp_path, many):
    text = page(many).replace("</body>", HANDS)
    document, console = chromium.document(saved(tmp_path, text))
    assert not console
    said = json.loads(re.search(r'<pre id="said">(.*?)</pre>', document)[1])
    assert said["name"].startswith("all members")
    assert "200 stable" in said["span"]
    assert said["hidden"]
    assert said["all"] == said["after"] == "0-10000"
    begin, end = map(int, said["keyboard"].split("-"))
    assert end - begin == 7_000
    assert said["wheel"] != said["all"]
    assert said["address"] == f"#t={said['wheel']}"
    picked, moved = (list(map(int, said[name].split("-"))) for name in ("picked", "moved"))
    assert picked[1] - picked[0] == pytest.approx(200 / (said["width"] - 126) * 10_000, abs=2)
    assert moved[1] - moved[0] == pytest.approx(picked[1] - picked[0], abs=2)
    assert moved[0] > picked[0]
    assert (said["folded"], said["unfolded"]) == (4, 200)


def test_an_address_names_a_stretch_of_time_and_hostile_names_stay_text(chromium, tmp_path):
    run = outcome(started(0, HOSTILE), event(9, What.FAULT, HOSTILE, kind="cut", node=HOSTILE))
    document, console = chromium.document(saved(tmp_path, page(run)), "#t=2000-5000")
    assert not console
    assert 'data-view="2000-5000"' in document
    assert "<img" not in document
    assert counts(document)["members"] == 1


def test_it_can_be_seen_by_day_and_by_night(chromium, tmp_path, many):
    path, shades = saved(tmp_path, page(many)), {}
    for name, *options in (("day",), ("night", "--blink-settings=preferredColorScheme=0")):
        picture = tmp_path / f"{name}.png"
        chromium.picture(path, picture, *options)
        pixels = np.round(matplotlib.image.imread(picture)[:, :, :3] * 255)
        shades[name] = float(np.median(pixels))
        stable = (141, 189, 177) if name == "day" else (70, 122, 112)
        drawn = int((pixels == stable).all(axis=2).sum())
        assert drawn > 20_000, f"no member is stable by {name}"
    assert shades["day"] > 230
    assert shades["night"] < 50
