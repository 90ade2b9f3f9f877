"use strict";
(() => {
const run = JSON.parse(document.getElementById("run").textContent);
const chart = document.getElementById("chart");
const tip = document.getElementById("tip");
const GUTTER = 116, RIGHT = 10, FONT = "11px system-ui, -apple-system, 'Segoe UI', sans-serif";
const SMALL = "10px system-ui, -apple-system, 'Segoe UI', sans-serif";
const STATES = ["outside", "rebalancing", "stable"];
const STATE_WORDS = ["in no generation", "rebalancing", "stable"];
const FOLD_FROM = 60;  // members; fewer are all shown at once
const names = run.members.map(member => member[0]).concat(run.owners);
const named = new Set(run.named);
const view = {a: 0, b: run.end};
let colors = {}, lit = -1, kept = -1, pending = false, unfolded = run.members.length <= FOLD_FROM;
const panels = [];

// Words -------------------------------------------------------------------------------------------

function when(ms, step) {
  const digits = step === undefined ? 3 : step >= 1000 ? 0 : step >= 100 ? 1 : step >= 10 ? 2 : 3;
  return (ms / 1000).toFixed(digits) + " s";
}
const many = (n, noun) => n.toLocaleString("en") + " " + noun + (n === 1 ? "" : "s");
const stretch = (a, b) => when(a) + " to " + when(b) + " (" + Math.round(b - a).toLocaleString("en") + " ms)";

// Elements ----------------------------------------------------------------------------------------

function element(tag, parent, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  if (parent) parent.appendChild(made);
  return made;
}

function readColors() {
  const style = getComputedStyle(document.documentElement);
  colors = new Proxy({}, {get: (cache, name) =>
    cache[name] ??= style.getPropertyValue("--" + name).trim()});
}

// The golden angle keeps neighbours apart, however many there are.
function ownerColor(owner) {
  const shift = [0, 9, -8][Math.floor(owner / 12) % 3];
  const light = parseFloat(colors["owner-light"]) + shift;
  return `hsl(${(205 + owner * 137.508) % 360} ${colors["owner-saturation"]} ${light}%)`;
}

// Rows: a label, a height, bars {a, b, fill, text, tip, top, bottom} and ticks {at, glyph, fill, tip}.

const row = (label, height, more) => Object.assign({label, height, bars: [], ticks: []}, more);

function groupRows() {
  return run.groups.map(([name, generations]) => {
    const made = row(name, 26);
    generations.forEach(([at, number, leader, joined, assigned], index) => {
      const until = index + 1 < generations.length ? generations[index + 1][0] : run.end;
      made.bars.push({
        a: at, b: until, fill: index % 2 ? "generation-2" : "generation", edge: true, top: 3, bottom: 3,
        texts: leader ? [`${number} · ${leader} leads · ${many(joined, "member")}`, `${number} · ${leader}`, `${number}`] : [`${number}`],
        tip: [`${name}, generation ${number}`, stretch(at, until),
          leader ? `${leader} leads, ${many(joined, "member")} joined` : "nobody was told of it",
          assigned >= 0 ? `all assigned ${Math.round(assigned - at).toLocaleString("en")} ms after it began` : ""],
      });
    });
    return made;
  });
}

function recordRows() {
  const width = run.end / run.delivered.length;
  return [["delivered", run.delivered], ["committed", run.committed]].map(([name, bins]) => {
    const most = Math.max(1, ...bins), made = row(name, 30);
    bins.forEach((records, index) => {
      if (records) made.bars.push({
        a: index * width, b: (index + 1) * width, fill: name, top: 30 - Math.max(2, 26 * records / most), bottom: 0,
        tip: [many(records, "record") + " " + name, stretch(index * width, (index + 1) * width)],
      });
    });
    return made;
  });
}

function nodeRows() {
  return run.nodes.map(([name, down, paused]) => {
    const made = row(name, 18, {broken: named.has(name)});
    made.bars.push({a: 0, b: run.end, fill: "generation", top: 7, bottom: 7, quiet: true, tip: [name + " is up"]});
    for (const [a, b] of paused) made.bars.push({a, b, fill: "still", hatch: true, top: 3, bottom: 3, texts: ["stands still"], tip: [name + " stands still", stretch(a, b)]});
    for (const [a, b] of down) made.bars.push({a, b, fill: "down", top: 3, bottom: 3, texts: ["down"], ink: "card", tip: [name + " is down", stretch(a, b)]});
    return made;
  });
}

function faultRows() {
  return run.faults.map(([kind, hits, words, marks]) => {
    const made = row(kind, 17, {tip: [kind, words, many(marks.length, "time")]});
    for (const [at, until, who, text] of marks) {
      const lines = [kind + ": " + text, words, until > at ? stretch(at, until) : "at " + when(at)];
      if (until > at) made.bars.push({a: at, b: until, fill: hits, top: 6, bottom: 6, tip: lines, faint: true});
      made.ticks.push({at, glyph: "dot", fill: hits, tip: lines, who});
    }
    return made;
  });
}

function stateRow() {
  const made = row("all members", 74, {tip: ["all members", "how many are in which state"]});
  made.census = run.census;
  return made;
}

function lineage(index, height) {
  const [name, group, instance, notable, spans, zombie, slow, marks] = run.members[index];
  const inset = height > 9 ? 2 : height > 6 ? 1 : 0.5;
  const made = row(name, height, {member: index, broken: named.has(name), group,
    tip: [name, group + (instance ? ", static as " + instance : "")]});
  for (const [a, b, state, generation, partitions, reason] of spans) {
    const stable = state === 2, hidden = zombie.find(still => still[1] > a && still[0] < b);
    made.bars.push({
      a, b, fill: STATES[state], top: inset, bottom: inset, ink: "stable-ink", legible: hidden ? Math.max(hidden[0], a) : b,
      texts: stable ? [`generation ${generation} · ${many(partitions, "partition")}`, `g${generation} · ${partitions}`] : [],
      tip: [`${name}: ${STATE_WORDS[state]}`, stretch(a, b),
        state && generation >= 0 ? `generation ${generation}, ${many(partitions, "partition")}` : "",
        state === 1 && reason >= 0 ? "because: " + run.reasons[reason] : "",
        group + (instance ? ", static as " + instance : "")],
    });
  }
  for (const [a, b] of zombie) made.bars.push({a, b, fill: "still", hatch: true, top: inset, bottom: inset, tip: [name + ": its process stands still", stretch(a, b)]});
  const thin = Math.max(1.5, height / 7);
  for (const [a, b] of slow) made.bars.push({a, b, fill: "slow", top: height - inset - thin, bottom: inset, tip: [name + ": slow, does not poll", stretch(a, b)]});
  const glyphs = {crashed: "cross", left: "end", fenced: "cross", lost: "caret", error: "bang", fault: "dot", leads: "crown", start: "start"};
  const inks = {crashed: "gone", left: "left", fenced: "gone", lost: "gone", error: "gone", fault: "ink", leads: "ink", start: "left"};
  for (const [at, kind, words] of marks) made.ticks.push({at, glyph: glyphs[kind], fill: inks[kind], tip: [`${name}: ${words}`, "at " + when(at)]});
  return made;
}

function memberRows() {
  const rows = [];
  const shown = run.members.map((member, index) => index).filter(index => unfolded || run.members[index][3] || named.has(run.members[index][0]));
  if (run.members.length > 24 || run.census.length >= 1000) rows.push(stateRow(), row("", 6));
  const n = shown.length, height = n <= 26 ? 22 : n <= 70 ? 15 : n <= 140 ? 11 : n <= 220 ? 7 : 5;
  let group = null;
  if (run.groups.length > 1) shown.sort((x, y) => groupOrder(x) - groupOrder(y) || x - y);
  for (const index of shown) {
    if (run.groups.length > 1 && run.members[index][1] !== group) {
      group = run.members[index][1];
      rows.push(row(group, 18, {heading: true}));
    }
    rows.push(lineage(index, height));
  }
  return rows;
}
const order = new Map(run.groups.map(([name], index) => [name, index]));
const groupOrder = index => order.get(run.members[index][1]) ?? 1e9;

function partitionRows() {
  const n = run.partitions.length, height = n <= 30 ? 20 : n <= 70 ? 14 : n <= 140 ? 10 : n <= 220 ? 6 : 4;
  const rows = height < 10 ? [row("", 4)] : [];
  let last = null;
  for (const [group, topic, partition, spans, overlaps] of run.partitions) {
    if (run.groups.length > 1 && group !== last) rows.push(row(last = group, 18, {heading: true}));
    const made = row(`${topic}-${partition}`, height, {tip: [`${topic}-${partition}`, `for ${group}`], group, broken: named.has(`${topic}-${partition}`)});
    const inset = height > 9 ? 1.5 : 0.5;
    for (const [a, b, owner, first, final] of spans) made.bars.push({
      a, b, owner, top: inset, bottom: inset, ink: "owner-ink", texts: [names[owner]],
      tip: [`${names[owner]} has ${topic}-${partition}`, stretch(a, b),
        first === final ? `generation ${first} of ${group}` : `generations ${first} to ${final} of ${group}`],
    });
    for (const [a, b] of overlaps) made.bars.push({a, b, fill: "gone", hatch: true, top: height * 0.6, bottom: inset, keep: true,
      tip: [`Two members believe that ${topic}-${partition} is theirs`, stretch(a, b), "in different generations: what the older one commits is refused"]});
    rows.push(made);
  }
  return rows;
}

// Drawing -----------------------------------------------------------------------------------------

const spanX = () => chartWidth - GUTTER - RIGHT;
let chartWidth = 1000;
const X = t => GUTTER + (t - view.a) / (view.b - view.a) * spanX();
const T = x => view.a + (x - GUTTER) / spanX() * (view.b - view.a);

function prepare(canvas, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(chartWidth * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = height + "px";
  const ctx = canvas.getContext("2d");
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.textBaseline = "middle";
  return ctx;
}

const hatches = {};
function hatch(ctx, color) {
  if (!hatches[color]) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const on = tile.getContext("2d");
    on.strokeStyle = color;
    on.lineWidth = 1.6;
    on.beginPath();
    for (const shift of [-6, 0, 6]) { on.moveTo(shift - 1, 7); on.lineTo(shift + 7, -1); }
    on.stroke();
    hatches[color] = ctx.createPattern(tile, "repeat");
  }
  return hatches[color];
}

function drawBar(ctx, bar, y, height) {
  if (bar.b < view.a || bar.a > view.b) return;
  const left = Math.max(X(bar.a), GUTTER), right = Math.min(X(bar.b), chartWidth - RIGHT);
  const wide = Math.max(right - left, 1), top = y + bar.top, tall = Math.max(height - bar.top - bar.bottom, 1);
  const color = bar.owner === undefined ? colors[bar.fill] : ownerColor(bar.owner);
  const dim = lit >= 0 && bar.owner !== undefined && bar.owner !== lit;
  ctx.globalAlpha = dim ? 0.2 : bar.faint ? 0.42 : 1;
  const gap = wide > 6 && !bar.faint && !bar.hatch && bar.owner !== undefined ? 0.75 : 0;
  if (bar.hatch) {
    ctx.globalAlpha = bar.keep ? 1 : 0.85;
    ctx.fillStyle = colors.card;
    ctx.fillRect(left, top, wide, tall);
    ctx.globalAlpha = 1;
    ctx.fillStyle = hatch(ctx, color);
  } else ctx.fillStyle = color;
  ctx.fillRect(left, top, wide - gap, tall);
  if (bar.edge && X(bar.a) >= GUTTER) { ctx.fillStyle = colors.muted; ctx.fillRect(left, top, 1, tall); }
  if (bar.texts && tall >= 10 && wide > 12) {
    ctx.font = tall >= 14 ? FONT : SMALL;
    const room = bar.legible === undefined ? wide : Math.min(wide, X(bar.legible) - left);
    const text = bar.texts.find(text => ctx.measureText(text).width < room - 8);
    if (text) {
      if (bar.hatch) { ctx.fillStyle = colors.card; ctx.fillRect(left + 3, top, ctx.measureText(text).width + 4, tall); }
      ctx.fillStyle = colors[bar.ink || "ink"];
      ctx.fillText(text, left + 5, top + tall / 2 + 0.5);
    }
  }
  ctx.globalAlpha = 1;
}

function drawTick(ctx, tick, y, height) {
  if (tick.at < view.a || tick.at > view.b) return;
  const x = X(tick.at), middle = y + height / 2, r = Math.min(4, Math.max(1.5, height / 3.4));
  ctx.fillStyle = ctx.strokeStyle = colors[tick.fill];
  ctx.lineWidth = height > 9 ? 1.8 : 1.2;
  ctx.beginPath();
  if (tick.glyph === "cross") {
    ctx.moveTo(x - r, middle - r); ctx.lineTo(x + r, middle + r);
    ctx.moveTo(x - r, middle + r); ctx.lineTo(x + r, middle - r);
    ctx.stroke();
  } else if (tick.glyph === "end" || tick.glyph === "start") {
    ctx.fillRect(x - 1, y + 1, 2, height - 2);
  } else if (tick.glyph === "caret") {
    ctx.moveTo(x - r, y + 1); ctx.lineTo(x + r, y + 1); ctx.lineTo(x, y + 1 + r * 1.5); ctx.fill();
  } else if (tick.glyph === "bang") {
    ctx.fillRect(x - 0.75, y + 1, 1.5, height - 2);
  } else if (tick.glyph === "crown") {
    if (height > 9) { ctx.moveTo(x, middle - r); ctx.lineTo(x + r, middle); ctx.lineTo(x, middle + r); ctx.lineTo(x - r, middle); ctx.fill(); }
  } else if (tick.glyph === "dot") {
    ctx.arc(x, middle, Math.min(3.2, r), 0, 7); ctx.fill();
  }
}

function drawCensus(ctx, points, y, height) {
  const most = mostOf(points);
  const fills = [[4, "still"], [2, "rebalancing"], [1, "outside"], [3, "stable"]];
  const base = y + height - 2, scale = (height - 6) / most;
  points.forEach((point, index) => {
    const a = point[0], b = index + 1 < points.length ? points[index + 1][0] : run.end;
    if (b < view.a || a > view.b) return;
    const left = Math.round(Math.max(X(a), GUTTER)), wide = Math.round(Math.min(X(b), chartWidth - RIGHT)) - left;
    if (!wide) return;
    let at = base;
    for (const [column, fill] of fills) {
      const tall = point[column] * scale;
      ctx.fillStyle = colors[fill];
      ctx.fillRect(left, at - tall, wide, tall);
      at -= tall;
    }
  });
}
const mostOf = points => Math.max(1, ...points.map(point => point[1] + point[2] + point[3] + point[4]));

function drawPhases(ctx, height, strong) {
  const healed = run.healed ?? run.end, settled = run.settled ?? run.end;
  const parts = [[0, healed, "faults"], [healed, settled, "healing"], [settled, run.end, "leaving"]];
  for (const [a, b, name] of parts) {
    if (b <= a || b < view.a || a > view.b || (!strong && name === "faults")) continue;
    const shade = name === "faults" && run.calm ? "leaving" : name;
    const left = Math.max(X(a), GUTTER), wide = Math.min(X(b), chartWidth - RIGHT) - left;
    ctx.fillStyle = colors[(strong ? "phase-" : "tint-") + shade];
    ctx.fillRect(left, 0, wide, height);
    if (strong) {
      ctx.font = FONT; ctx.fillStyle = colors.ink;
      const words = {faults: run.calm ? ["nothing goes wrong"] : ["faults happen", "faults"], healing: [run.calm ? "everything has to settle" : "healed: everything has to settle", run.calm ? "settling" : "healing"], leaving: ["settled: everybody leaves", "leaving"]}[name];
      const text = words.find(text => ctx.measureText(text).width < wide - 10);
      if (text) ctx.fillText(text, left + 6, height / 2 + 0.5);
    }
  }
}

function drawBroken(ctx, height) {
  if (!run.broken || run.end > view.b) return;
  ctx.fillStyle = colors.bad;
  ctx.fillRect(X(run.end) - 1, 0, 2, height);
}

function drawPanel(panel) {
  const height = panel.rows.reduce((sum, one) => sum + one.height, 0);
  const ctx = prepare(panel.canvas, height);
  drawPhases(ctx, height, false);
  let y = 0, labelled = -99;
  for (const one of panel.rows) {
    one.y = y;
    if (one.member !== undefined && one.member === lit) { ctx.fillStyle = colors.lit; ctx.fillRect(0, y, chartWidth, one.height); }
    if (one.heading) {
      ctx.font = "600 " + FONT; ctx.fillStyle = colors.muted; ctx.fillText(one.label, 0, y + one.height / 2 + 2);
    } else if (one.label && (y - labelled >= 10 || one.broken || one.member === lit)) {
      ctx.font = (one.broken || one.member === lit ? "600 " : "") + (one.height >= 14 ? FONT : SMALL);
      ctx.fillStyle = one.broken ? colors.bad : one.member === lit ? colors.ink : colors.muted;
      ctx.textAlign = "right";
      ctx.fillText(fit(ctx, one.label, GUTTER - (one.census ? 36 : 10)), GUTTER - (one.census ? 32 : 8), y + one.height / 2 + 0.5);
      if (one.census) {
        ctx.font = SMALL;
        ctx.fillText(mostOf(one.census).toLocaleString("en"), GUTTER - 8, y + 8);
        ctx.fillText("0", GUTTER - 8, y + one.height - 7);
      }
      ctx.textAlign = "left";
      labelled = y;
    }
    y += one.height;
  }
  ctx.save();
  ctx.beginPath(); ctx.rect(GUTTER - 4, 0, chartWidth - GUTTER - RIGHT + 8, height); ctx.clip();
  for (const one of panel.rows) {
    if (one.height >= 14 && !one.heading && one.label) { ctx.fillStyle = colors.line; ctx.globalAlpha = 0.55; ctx.fillRect(GUTTER, one.y + one.height - 0.5, spanX(), 0.5); ctx.globalAlpha = 1; }
    if (one.census) drawCensus(ctx, one.census, one.y, one.height);
    for (const bar of one.bars) drawBar(ctx, bar, one.y, one.height);
  }
  if (panel.generations) drawGenerations(ctx, panel, height);
  for (const one of panel.rows) for (const tick of one.ticks) drawTick(ctx, tick, one.y, one.height);
  drawBroken(ctx, height);
  ctx.restore();
}

function fit(ctx, text, width) {
  if (ctx.measureText(text).width <= width) return text;
  while (text && ctx.measureText(text + "…").width > width) text = text.slice(0, -1);
  return text + "…";
}

function drawGenerations(ctx, panel, height) {
  ctx.fillStyle = colors.ink;
  for (const [name, generations] of run.groups) {
    const own = run.groups.length > 1 ? panel.rows.filter(one => one.group === name) : panel.rows;
    if (!own.length) continue;
    const top = own[0].y, bottom = own[own.length - 1].y + own[own.length - 1].height;
    ctx.globalAlpha = 0.28;
    for (const [at] of generations) if (at >= view.a && at <= view.b) ctx.fillRect(X(at) - 0.5, top, 1, bottom - top);
    ctx.globalAlpha = 1;
  }
}

function drawAxis(panel) {
  const ctx = prepare(panel.canvas, 44);
  drawPhases(ctx, 20, true);
  drawBroken(ctx, 44);
  const about = (view.b - view.a) / Math.max(2, spanX() / 110), power = 10 ** Math.floor(Math.log10(Math.max(about, 1)));
  const step = Math.max(1, [1, 2, 5, 10].map(n => n * power).find(n => n >= about));
  ctx.font = FONT; ctx.textAlign = "center";
  for (let t = Math.ceil(view.a / step) * step; t <= view.b; t += step) {
    ctx.fillStyle = colors.muted;
    ctx.fillRect(X(t) - 0.5, 21, 1, 5);
    ctx.fillText(when(t, step), Math.min(X(t), chartWidth - RIGHT - 12), 35);
  }
  ctx.textAlign = "left";
}

function draw() {
  pending = false;
  chartWidth = chart.clientWidth - 28;
  for (const panel of panels) (panel.axis ? drawAxis : drawPanel)(panel);
}
function redraw() { if (!pending) { pending = true; requestAnimationFrame(draw); } }

// Panels ------------------------------------------------------------------------------------------

function addPanel(title, rows, legend, more) {
  const section = element("section", chart, "panel"), head = element("div", section, "head");
  element("h2", head, "", title);
  const note = element("span", head, "muted", "");
  const list = element("div", head, "legend");
  for (const [words, color, shape] of legend || []) {
    const item = element("span", list), mark = element("i", item, shape ? (shape === "thin" ? "thin" : "glyph") : "");
    if (shape && shape !== "thin") { mark.textContent = shape; mark.style.color = `var(--${color})`; }
    else mark.style.background = color === "still" || color === "overlap" ? `repeating-linear-gradient(135deg, var(--${color === "still" ? "still" : "gone"}) 0 2px, transparent 2px 4px)` : `var(--${color})`;
    item.append(words);
  }
  const canvas = element("canvas", section);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", title + ": a lane each over time; the list at the end of the page has the same in words");
  const panel = Object.assign({title, section, head, note, canvas, rows}, more);
  panels.push(panel);
  watch(panel);
  return panel;
}

function addAll() {
  const axis = element("div", chart, "axis");
  const top = {axis: true, canvas: element("canvas", axis), rows: []};
  panels.push(top);
  watch(top);
  if (run.groups.length) addPanel("Generations", groupRows(), []).note.textContent = "who led, and how many joined";
  addPanel("Records", recordRows(), [["handed to applications", "delivered"], ["committed", "committed"]]);
  if (run.nodes.length) addPanel("Brokers", nodeRows(), [["down", "down"], ["stands still", "still"]]);
  if (run.faults.length) {
    const hits = [...new Set(run.faults.map(fault => fault[1]))];
    addPanel("Faults and changes", faultRows(), hits.map(hit => ["hits " + hit, hit]));
  }
  const members = addPanel("Members", memberRows(), [
    ["stable", "stable"], ["rebalancing", "rebalancing"], ["in no generation", "outside"], ["stands still (zombie)", "still"],
    ["slow", "slow", "thin"], ["crashed or fenced", "gone", "✕"], ["lost its partitions", "gone", "▾"], ["error", "gone", "|"],
    ["leads", "ink", "◆"], ["fault", "ink", "•"]], {generations: true});
  if (run.members.length > FOLD_FROM) addFold(members);
  addPanel("Assignments", partitionRows(), [["two members believe it theirs", "overlap"]], {generations: true})
    .note.textContent = "which member had which partition";
  tell();
}

function addFold(panel) {
  const button = element("button", panel.head);
  button.type = "button";
  button.id = "fold";
  const quiet = run.members.filter(member => !member[3]).length;
  const say = () => {
    button.textContent = unfolded ? "Fold the quiet ones" : `Show all ${run.members.length} lanes`;
    panel.note.textContent = unfolded ? "" : `${quiet} to which nothing special happened are folded`;
  };
  button.addEventListener("click", () => { unfolded = !unfolded; panel.rows = memberRows(); say(); tell(); redraw(); });
  panel.head.insertBefore(button, panel.note.nextSibling);
  say();
}

// What was drawn, for who looks at the page with a program.
function tell() {
  const of = title => panels.find(panel => panel.title === title)?.rows ?? [];
  const data = document.documentElement.dataset;
  data.members = of("Members").filter(one => one.member !== undefined).length;
  data.partitions = of("Assignments").filter(one => !one.heading).length;
  data.faults = of("Faults and changes").reduce((sum, one) => sum + one.ticks.length, 0);
  data.generations = of("Generations").reduce((sum, one) => sum + one.bars.length, 0);
  data.view = Math.round(view.a) + "-" + Math.round(view.b);
}

// Looking around ----------------------------------------------------------------------------------

function look(a, b) {
  const least = Math.min(20, run.end), wide = Math.min(Math.max(b - a, least), run.end);
  a = Math.min(Math.max(a, 0), run.end - wide);
  view.a = a;
  view.b = a + wide;
  const all = wide >= run.end;
  try { history.replaceState(null, "", all ? location.pathname + location.search : `#t=${Math.round(view.a)}-${Math.round(view.b)}`); } catch { /* a page without an address */ }
  tell();
  redraw();
}
function zoom(by, around = (view.a + view.b) / 2) { look(around - (around - view.a) * by, around + (view.b - around) * by); }
function fromAddress() {
  const found = /^#t=(\d+)-(\d+)$/.exec(location.hash);
  if (found && +found[2] > +found[1]) look(+found[1], +found[2]);
}

function hit(panel, x, y) {
  const one = panel.rows.find(one => y >= one.y && y < one.y + one.height);
  if (!one) return null;
  if (x < GUTTER) return {one, tip: one.tip};
  const near = (view.b - view.a) / spanX() * 5, t = T(x);
  let best = null;
  for (const tick of one.ticks) if (Math.abs(tick.at - t) <= near && (!best || Math.abs(tick.at - t) < Math.abs(best.at - t))) best = tick;
  if (best) return {one, tip: sameTime(one, best, near / 2)};
  if (one.census) return {one, tip: censusTip(one.census, t)};
  for (let index = one.bars.length - 1; index >= 0; index--) {
    const bar = one.bars[index];
    if (t >= bar.a - near / 4 && t <= bar.b + near / 4) return {one, tip: bar.tip, owner: bar.owner};
  }
  return {one, tip: null};
}

function sameTime(one, best, near) {
  const others = one.ticks.filter(tick => tick !== best && Math.abs(tick.at - best.at) <= near);
  const more = others.slice(0, 6).map(tick => when(tick.at) + "  " + tick.tip[0]);
  if (others.length > 6) more.push(`and ${others.length - 6} more here`);
  return more.length ? [...best.tip, "", ...more] : best.tip;
}

function censusTip(points, t) {
  let point = null;
  for (const one of points) { if (one[0] > t) break; point = one; }
  return point && [when(t), `${point[3]} stable`, `${point[2]} rebalancing`, `${point[1]} in no generation`, `${point[4]} standing still`];
}

function show(lines, event) {
  tip.hidden = !lines;
  if (!lines) return;
  tip.textContent = "";
  element("b", tip, "", lines[0]);
  tip.append(lines.slice(1).filter((line, index) => line || index).join("\n").replace(/\n+$/, ""));
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8)) + "px";
  tip.style.top = (event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 12 : event.clientY + 18) + "px";
}

const cursor = element("div", chart), picked = element("div", chart);
cursor.id = "cursor";
picked.id = "picked";
cursor.hidden = picked.hidden = true;
let from = null, pan = null;
const local = (panel, event) => { const box = panel.canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
const clamped = x => Math.min(Math.max(x, GUTTER), chartWidth - RIGHT);

function watch(panel) {
  const canvas = panel.canvas;
  canvas.addEventListener("pointermove", event => moved(panel, event));
  canvas.addEventListener("pointerleave", () => { cursor.hidden = true; show(null); light(kept); });
  canvas.addEventListener("pointerdown", event => {
    const [x] = local(panel, event);
    if (event.button || x < GUTTER) return;
    canvas.setPointerCapture(event.pointerId);
    if (event.shiftKey) pan = {x, a: view.a, b: view.b}; else from = x;
  });
  canvas.addEventListener("pointerup", event => released(panel, event));
  canvas.addEventListener("dblclick", () => look(0, run.end));
  canvas.addEventListener("click", event => {
    const [x, y] = local(panel, event), at = hit(panel, x, y), owner = at && (at.one.member ?? at.owner);
    if (owner !== undefined && owner !== null) light(kept = kept === owner ? -1 : owner);
  });
  canvas.addEventListener("wheel", event => {
    if (event.ctrlKey || event.metaKey) { event.preventDefault(); zoom(Math.exp(event.deltaY / 300), T(clamped(local(panel, event)[0]))); }
    else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) { event.preventDefault(); const by = event.deltaX / spanX() * (view.b - view.a); look(view.a + by, view.b + by); }
  }, {passive: false});
}

function light(owner) { if (lit !== owner) { lit = owner; redraw(); } }

function moved(panel, event) {
  const [x, y] = local(panel, event), inside = x >= GUTTER && x <= chartWidth - RIGHT;
  cursor.hidden = !inside;
  cursor.style.left = x + 14 + "px";
  if (pan) {
    const by = (pan.x - x) / spanX() * (pan.b - pan.a);
    look(pan.a + by, pan.b + by);
  } else if (from !== null && Math.abs(x - from) > 4) {
    const a = Math.min(from, clamped(x)), b = Math.max(from, clamped(x));
    picked.hidden = false;
    picked.style.left = a + 14 + "px";
    picked.style.width = b - a + "px";
    show([stretch(T(a), T(b))], event);
  } else {
    const at = panel.axis ? null : hit(panel, x, y);
    show(at?.tip ?? (inside ? [when(T(x))] : null), event);
    const owner = at ? at.one.member ?? at.owner : undefined;
    light(owner ?? kept);
  }
}

function released(panel, event) {
  const x = clamped(local(panel, event)[0]);
  if (from !== null && Math.abs(x - from) > 4) look(T(Math.min(from, x)), T(Math.max(from, x)));
  from = pan = null;
  picked.hidden = true;
}

document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const by = (view.b - view.a) / 8;
  const acts = {"+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1 / 0.7), "0": () => look(0, run.end), Escape: () => look(0, run.end),
    ArrowLeft: () => look(view.a - by, view.b - by), ArrowRight: () => look(view.a + by, view.b + by)};
  if (acts[event.key]) { event.preventDefault(); acts[event.key](); }
});
for (const button of chart.querySelectorAll("[data-do]")) button.addEventListener("click", () =>
  ({in: () => zoom(0.6), out: () => zoom(1 / 0.6), all: () => look(0, run.end)})[button.dataset.do]());
addEventListener("resize", redraw);
addEventListener("hashchange", fromAddress);
const dark = matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", () => { readColors(); redraw(); });

readColors();
addAll();
fromAddress();
draw();
document.documentElement.dataset.drawn = String(panels.length);
})();
