// The panels of the page, and how mouse and keyboard look around in them.

const chart = document.getElementById("chart"), tip = document.getElementById("tip");
const panels = [];
const MARGIN = 14;  // between the chart's edge and its canvases
const CLICK = 4;  // px that a hand moves without meaning it
let kept = -1, pending = false, unfolded = run.members.length <= FOLD_FROM;

function element(tag, parent, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  parent.appendChild(made);
  return made;
}

function draw() {
  pending = false;
  chartWidth = chart.clientWidth - 2 * MARGIN;
  for (const panel of panels) (panel.axis ? drawAxis : drawPanel)(panel);
}

function redraw() {
  if (!pending) requestAnimationFrame(draw);
  pending = true;
}

// Panels ------------------------------------------------------------------------------------------

const striped = color =>
  `repeating-linear-gradient(135deg, var(--${color}) 0 2px, transparent 2px 4px)`;

function addLegend(head, items) {
  const list = element("div", head, "legend");
  for (const [words, color, shape] of items) {
    const item = element("span", list), mark = element("i", item);
    if (shape === "striped") mark.style.background = striped(color);
    else if (shape === "thin" || !shape) mark.style.background = `var(--${color})`;
    else {
      mark.textContent = shape;
      mark.style.color = `var(--${color})`;
    }
    mark.className = !shape || shape === "striped" ? "" : shape === "thin" ? "thin" : "glyph";
    item.append(words);
  }
}

function addPanel(title, note, rows, legend, more) {
  const section = element("section", chart, "panel"), head = element("div", section, "head");
  element("h2", head, "", title);
  const said = element("span", head, "muted", note);
  addLegend(head, legend);
  const canvas = element("canvas", section);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${title} over time; the list below has it in words`);
  const panel = {title, head, said, canvas, rows, ...more};
  panels.push(panel);
  watch(panel);
  return panel;
}

function addAll() {
  const axis = {axis: true, rows: [], canvas: element("canvas", element("div", chart, "axis"))};
  panels.push(axis);
  watch(axis);
  if (run.groups.length) addPanel("Generations", "who led, and how many joined", groupRows(), []);
  addPanel("Records", "", recordRows(),
    [["handed to applications", "delivered"], ["committed", "committed"]]);
  if (run.nodes.length) {
    addPanel("Brokers", "", nodeRows(), [["down", "down"], ["stands still", "still", "striped"]]);
  }
  if (run.faults.length) {
    const hit = [...new Set(run.faults.map(fault => fault[1]))];
    addPanel("Faults and changes", "", faultRows(), hit.map(one => [`hits ${one}`, one]));
  }
  const members = addPanel("Members", "", memberRows(unfolded), [
    ["stable", "stable"], ["rebalancing", "rebalancing"], ["in no generation", "outside"],
    ["stands still (zombie)", "still", "striped"], ["slow", "slow", "thin"],
    ["crashed or fenced", "gone", "✕"], ["lost its partitions", "gone", "▾"],
    ["error", "gone", "|"], ["leads", "ink", "◆"], ["fault", "ink", "•"],
  ], {generations: true});
  if (!unfolded) addFold(members);
  addPanel("Assignments", "which member had which partition", partitionRows(),
    [["two members believe it theirs", "gone", "striped"]], {generations: true});
  tell();
}

function addFold(panel) {
  const button = element("button", panel.head), total = run.members.length;
  const quiet = run.members.filter(member => !member[3]).length;
  button.type = "button";
  button.id = "fold";
  const say = () => {
    button.textContent = unfolded ? "Fold the quiet ones" : `Show all ${total} lanes`;
    panel.said.textContent =
      unfolded ? "" : `${quiet} to which nothing special happened are folded`;
  };
  button.addEventListener("click", () => {
    unfolded = !unfolded;
    panel.rows = memberRows(unfolded);
    say();
    tell();
    redraw();
  });
  panel.head.insertBefore(button, panel.said.nextSibling);
  say();
}

// What is drawn, for who looks at the page with a program.
function tell() {
  const rowsOf = title => panels.find(panel => panel.title === title)?.rows ?? [];
  const marks = (title, of) => rowsOf(title).reduce((sum, one) => sum + one[of].length, 0);
  const data = document.documentElement.dataset;
  data.members = rowsOf("Members").filter(one => one.member !== undefined).length;
  data.partitions = rowsOf("Assignments").filter(one => one.partition).length;
  data.faults = marks("Faults and changes", "ticks");
  data.generations = marks("Generations", "bars");
  data.view = `${Math.round(view.a)}-${Math.round(view.b)}`;
}

// What is looked at -------------------------------------------------------------------------------

function look(a, b) {
  const wide = Math.min(Math.max(b - a, Math.min(20, run.end)), run.end);
  view.a = Math.min(Math.max(a, 0), run.end - wide);
  view.b = view.a + wide;
  tell();
  const address = wide >= run.end ? "#" : `#t=${document.documentElement.dataset.view}`;
  try {
    history.replaceState(null, "", address);
  } catch { /* a page inside another one has no address of its own */ }
  redraw();
}

const all = () => look(0, run.end);
const move = by => look(view.a + by * (view.b - view.a), view.b + by * (view.b - view.a));
const zoom = (by, around = (view.a + view.b) / 2) =>
  look(around - (around - view.a) * by, around + (view.b - around) * by);

function fromAddress() {
  const found = /^#t=(\d+)-(\d+)$/.exec(location.hash);
  if (found && +found[2] > +found[1]) look(+found[1], +found[2]);
}

// What the pointer is on --------------------------------------------------------------------------

function hit(panel, x, y) {
  const one = panel.rows.find(row => y >= row.y && y < row.y + row.height);
  if (!one || x < GUTTER) return one && {one, tip: one.tip};
  const near = (view.b - view.a) / spanX() * 5, t = T(x);
  const ticks = one.ticks.filter(tick => Math.abs(tick.at - t) <= near);
  if (ticks.length) return {one, tip: tipOf(ticks, t)};
  if (one.census) return {one, tip: censusTip(one.census, t)};
  const bar = one.bars.findLast(bar => t >= bar.a - near / 4 && t <= bar.b + near / 4);
  return {one, tip: bar?.tip, owner: bar?.owner};
}

// The nearest in full, the others by their first line.
function tipOf(ticks, t) {
  ticks.sort((one, other) => Math.abs(one.at - t) - Math.abs(other.at - t));
  const [best, ...others] = ticks;
  if (!others.length) return best.tip;
  const more = others.slice(0, 6).map(tick => `${when(tick.at)}  ${tick.tip[0]}`);
  if (others.length > 6) more.push(`and ${others.length - 6} more here`);
  return [...best.tip, "", ...more];
}

function censusTip(points, t) {
  const point = points.findLast(one => one[0] <= t);
  return point && [when(t), `${point[3]} stable`, `${point[2]} rebalancing`,
    `${point[1]} in no generation`, `${point[4]} standing still`];
}

function show(lines, event) {
  tip.hidden = !lines;
  if (!lines) return;
  tip.textContent = "";
  element("b", tip, "", lines[0]);
  tip.append(lines.slice(1).join("\n"));
  const box = tip.getBoundingClientRect();
  const below = event.clientY + 18, above = event.clientY - box.height - 12;
  tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8)) + "px";
  tip.style.top = (below + box.height > innerHeight ? Math.max(4, above) : below) + "px";
}

function light(owner) {
  if (lit === owner) return;
  lit = owner;
  redraw();
}

// Mouse and keyboard ------------------------------------------------------------------------------

const cursor = element("div", chart), picked = element("div", chart);
cursor.id = "cursor";
picked.id = "picked";
cursor.hidden = picked.hidden = true;
let from = null, pan = null;
const clamped = x => Math.min(Math.max(x, GUTTER), chartWidth - RIGHT);
const picks = x => from !== null && Math.abs(x - from) > CLICK;

function local(panel, event) {
  const box = panel.canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

function watch(panel) {
  const on = (kind, act) => panel.canvas.addEventListener(kind, act, {passive: false});
  on("pointermove", event => moved(panel, event));
  on("pointerdown", event => pressed(panel, event));
  on("pointerup", event => released(panel, event));
  on("pointercancel", letGo);
  on("dblclick", all);
  on("click", event => {
    const at = hit(panel, ...local(panel, event)), owner = at?.one.member ?? at?.owner;
    if (owner !== undefined) light(kept = kept === owner ? -1 : owner);
  });
  on("pointerleave", () => {
    cursor.hidden = true;
    show(null);
    light(kept);
  });
  on("wheel", event => {
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!(event.ctrlKey || event.metaKey || sideways)) return;  // the page scrolls
    event.preventDefault();
    if (sideways) move(event.deltaX / spanX());
    else zoom(Math.exp(event.deltaY / 300), T(clamped(local(panel, event)[0])));
  });
}

function pressed(panel, event) {
  const [x] = local(panel, event);
  if (event.button || x < GUTTER) return;
  panel.canvas.setPointerCapture(event.pointerId);
  if (event.shiftKey) pan = {x, a: view.a, b: view.b};
  else from = x;
}

function moved(panel, event) {
  const [x, y] = local(panel, event), inside = x === clamped(x);
  cursor.hidden = !inside;
  cursor.style.left = x + MARGIN + "px";
  if (pan) {
    const by = (pan.x - x) / spanX() * (pan.b - pan.a);
    look(pan.a + by, pan.b + by);
  } else if (picks(x)) {
    const a = Math.min(from, clamped(x)), b = Math.max(from, clamped(x));
    picked.hidden = false;
    picked.style.left = a + MARGIN + "px";
    picked.style.width = b - a + "px";
    show([stretch(T(a), T(b))], event);
  } else {
    const at = hit(panel, x, y);
    show(at?.tip ?? (inside ? [when(T(x))] : null), event);
    light(at?.one.member ?? at?.owner ?? kept);
  }
}

function released(panel, event) {
  const x = clamped(local(panel, event)[0]);
  if (picks(x)) look(T(Math.min(from, x)), T(Math.max(from, x)));
  letGo();
}

function letGo() {
  from = pan = null;
  picked.hidden = true;
}

const KEYS = {
  "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1 / 0.7), 0: all, Escape: all,
  ArrowLeft: () => move(-1 / 8), ArrowRight: () => move(1 / 8),
};
document.addEventListener("keydown", event => {
  const act = event.ctrlKey || event.metaKey || event.altKey ? null : KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});
const BUTTONS = {in: () => zoom(0.6), out: () => zoom(1 / 0.6), all};
for (const button of chart.querySelectorAll("[data-do]")) {
  button.addEventListener("click", BUTTONS[button.dataset.do]);
}
addEventListener("resize", redraw);
addEventListener("hashchange", fromAddress);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  readColors();
  redraw();
});

readColors();
addAll();
fromAddress();
draw();
document.documentElement.dataset.drawn = panels.length;
