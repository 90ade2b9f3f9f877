// How rows become pixels: one canvas a panel, all with the same axis of time.

const GUTTER = 116, RIGHT = 10;  // for labels, and at the other end
const FONT = "11px system-ui, -apple-system, 'Segoe UI', sans-serif";
const SMALL = FONT.replace("11px", "10px"), BOLD = "600 ";
const view = {a: 0, b: run.end};  // what is looked at
const hatches = {};
let colors = {}, chartWidth = 1000, lit = -1;

const spanX = () => chartWidth - GUTTER - RIGHT;
const X = t => GUTTER + (t - view.a) / (view.b - view.a) * spanX();
const T = x => view.a + (x - GUTTER) / spanX() * (view.b - view.a);
const inView = (a, b) => b >= view.a && a <= view.b;
const leftOf = a => Math.max(X(a), GUTTER);
const rightOf = b => Math.min(X(b), chartWidth - RIGHT);
const heightOf = rows => rows.reduce((sum, one) => sum + one.height, 0);

// Colors are the style sheet's, by day and by night.
function readColors() {
  const style = getComputedStyle(document.documentElement);
  const read = (cache, name) => cache[name] ??= style.getPropertyValue("--" + name).trim();
  colors = new Proxy({}, {get: read});
}

// The golden angle keeps neighbours apart, however many there are.
function ownerColor(owner) {
  const light = parseFloat(colors["owner-light"]) + [0, 9, -8][Math.floor(owner / 12) % 3];
  return `hsl(${(205 + owner * 137.508) % 360} ${colors["owner-saturation"]} ${light}%)`;
}

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

function hatch(ctx, color) {
  if (!hatches[color]) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const on = tile.getContext("2d");
    on.strokeStyle = color;
    on.lineWidth = 1.6;
    on.beginPath();
    for (const shift of [-6, 0, 6]) {
      on.moveTo(shift - 1, 7);
      on.lineTo(shift + 7, -1);
    }
    on.stroke();
    hatches[color] = ctx.createPattern(tile, "repeat");
  }
  return hatches[color];
}

function drawBar(ctx, bar, y, height) {
  if (!inView(bar.a, bar.b)) return;
  const owned = bar.owner !== undefined, left = leftOf(bar.a);
  const wide = Math.max(rightOf(bar.b) - left, 1);
  const top = y + bar.top, tall = Math.max(height - bar.top - bar.bottom, 1);
  const color = owned ? ownerColor(bar.owner) : colors[bar.fill];
  ctx.globalAlpha = lit >= 0 && owned && bar.owner !== lit ? 0.2 : bar.faint ? 0.42 : 1;
  if (bar.hatch) {
    ctx.fillStyle = colors.card;
    ctx.fillRect(left, top, wide, tall);
  }
  ctx.fillStyle = bar.hatch ? hatch(ctx, color) : color;
  ctx.fillRect(left, top, wide - (owned && wide > 6 ? 0.75 : 0), tall);
  if (bar.edge && X(bar.a) >= GUTTER) {
    ctx.fillStyle = colors.muted;
    ctx.fillRect(left, top, 1, tall);
  }
  if (bar.texts && tall >= 10 && wide > 12) drawText(ctx, bar, left, wide, top, tall);
  ctx.globalAlpha = 1;
}

// The longest of its texts that fits.
function drawText(ctx, bar, left, wide, top, tall) {
  ctx.font = tall >= 14 ? FONT : SMALL;
  const room = bar.legible === undefined ? wide : Math.min(wide, X(bar.legible) - left);
  const text = bar.texts.find(one => ctx.measureText(one).width < room - 8);
  if (!text) return;
  if (bar.hatch) {
    ctx.fillStyle = colors.card;
    ctx.fillRect(left + 3, top, ctx.measureText(text).width + 4, tall);
  }
  ctx.fillStyle = colors[bar.ink || "ink"];
  ctx.fillText(text, left + 5, top + tall / 2 + 0.5);
}

const SHAPES = {
  cross(ctx, x, y, r) {
    ctx.moveTo(x - r, y - r);
    ctx.lineTo(x + r, y + r);
    ctx.moveTo(x - r, y + r);
    ctx.lineTo(x + r, y - r);
    ctx.stroke();
  },
  edge(ctx, x, y, r, height) { ctx.fillRect(x - 1, y - height / 2 + 1, 2, height - 2); },
  line(ctx, x, y, r, height) { ctx.fillRect(x - 0.75, y - height / 2 + 1, 1.5, height - 2); },
  caret(ctx, x, y, r, height) {
    const top = y - height / 2 + 1;
    ctx.moveTo(x - r, top);
    ctx.lineTo(x + r, top);
    ctx.lineTo(x, top + r * 1.5);
    ctx.fill();
  },
  diamond(ctx, x, y, r, height) {
    if (height <= 9) return;  // it would hide more than it says
    ctx.moveTo(x, y - r);
    ctx.lineTo(x + r, y);
    ctx.lineTo(x, y + r);
    ctx.lineTo(x - r, y);
    ctx.fill();
  },
  dot(ctx, x, y, r) {
    ctx.arc(x, y, Math.min(3.2, r), 0, 7);
    ctx.fill();
  },
};

function drawTick(ctx, tick, y, height) {
  if (!inView(tick.at, tick.at)) return;
  ctx.fillStyle = ctx.strokeStyle = colors[tick.fill];
  ctx.lineWidth = height > 9 ? 1.8 : 1.2;
  ctx.beginPath();
  const radius = Math.min(4, Math.max(1.5, height / 3.4));
  SHAPES[tick.glyph](ctx, X(tick.at), y + height / 2, radius, height);
}

// How many members are in which state: [at, outside, rebalancing, stable, standing still].
const totalOf = point => point[1] + point[2] + point[3] + point[4];
const mostOf = points => points.reduce((most, point) => Math.max(most, totalOf(point)), 1);

function drawCensus(ctx, points, y, height) {
  const base = y + height - 2, scale = (height - 6) / mostOf(points);
  const columns = [[4, "still"], [2, "rebalancing"], [1, "outside"], [3, "stable"]];
  points.forEach((point, index) => {
    const until = index + 1 < points.length ? points[index + 1][0] : run.end;
    if (!inView(point[0], until)) return;
    const left = Math.round(leftOf(point[0])), wide = Math.round(rightOf(until)) - left;
    let at = base;
    for (const [column, fill] of columns) {
      const tall = point[column] * scale;
      ctx.fillStyle = colors[fill];
      ctx.fillRect(left, at - tall, wide, tall);
      at -= tall;
    }
  });
}

function phases() {
  const healed = run.healed ?? run.end, settled = run.settled ?? run.end;
  const begin = run.calm ? "leaving" : "faults";
  return [
    [0, healed, begin, run.calm ? ["nothing goes wrong"] : ["faults happen", "faults"]],
    [healed, settled, "healing", run.calm ? ["everything has to settle", "settling"]
      : ["healed: everything has to settle", "healing"]],
    [settled, run.end, "leaving", ["settled: everybody leaves", "leaving"]],
  ];
}

function drawPhases(ctx, height, strong) {
  for (const [a, b, name, words] of phases()) {
    if (b <= a || !inView(a, b) || (!strong && a === 0)) continue;
    const left = leftOf(a), wide = rightOf(b) - left;
    ctx.fillStyle = colors[(strong ? "phase-" : "tint-") + name];
    ctx.fillRect(left, 0, wide, height);
    if (!strong) continue;
    ctx.font = FONT;
    ctx.fillStyle = colors.ink;
    const text = words.find(one => ctx.measureText(one).width < wide - 10);
    if (text) ctx.fillText(text, left + 6, height / 2 + 0.5);
  }
}

function drawBroken(ctx, height) {
  if (!run.broken || run.end > view.b) return;
  ctx.fillStyle = colors.bad;
  ctx.fillRect(X(run.end) - 1, 0, 2, height);
}

function fit(ctx, text, width) {
  if (ctx.measureText(text).width <= width) return text;
  while (text && ctx.measureText(text + "…").width > width) text = text.slice(0, -1);
  return text + "…";
}

// Where rows are lower than letters, as many labels as there is room for.
function drawLabels(ctx, rows) {
  let free = 0;
  for (const one of rows) {
    const middle = one.y + one.height / 2 + 0.5;
    const hot = one.member !== undefined && one.member === lit;
    const strong = one.broken || hot;
    if (one.heading) {
      ctx.font = BOLD + FONT;
      ctx.fillStyle = colors.muted;
      ctx.fillText(one.label, 0, middle + 1.5);
    } else if (one.label && (one.y >= free || strong)) {
      ctx.font = (strong ? BOLD : "") + (one.height >= 14 ? FONT : SMALL);
      ctx.fillStyle = one.broken ? colors.bad : hot ? colors.ink : colors.muted;
      ctx.textAlign = "right";
      const indent = one.census ? 32 : 8;
      ctx.fillText(fit(ctx, one.label, GUTTER - indent - 2), GUTTER - indent, middle);
      if (one.census) {
        ctx.font = SMALL;
        ctx.fillText(figure(mostOf(one.census)), GUTTER - 8, one.y + 8);
        ctx.fillText("0", GUTTER - 8, one.y + one.height - 7);
      }
      ctx.textAlign = "left";
      free = one.y + 10;
    }
  }
}

function drawGenerations(ctx, rows) {
  ctx.globalAlpha = 0.28;
  ctx.fillStyle = colors.ink;
  for (const [name, generations] of run.groups) {
    const own = manyGroups ? rows.filter(one => one.group === name) : rows;
    if (!own.length) continue;
    const top = own[0].y, last = own[own.length - 1];
    for (const [at] of generations) {
      if (inView(at, at)) ctx.fillRect(X(at) - 0.5, top, 1, last.y + last.height - top);
    }
  }
  ctx.globalAlpha = 1;
}

function drawPanel(panel) {
  const height = heightOf(panel.rows), ctx = prepare(panel.canvas, height);
  drawPhases(ctx, height, false);
  let y = 0;
  for (const one of panel.rows) {
    one.y = y;
    y += one.height;
    if (one.member === undefined || one.member !== lit) continue;
    ctx.fillStyle = colors.lit;
    ctx.fillRect(0, one.y, chartWidth, one.height);
  }
  drawLabels(ctx, panel.rows);
  ctx.save();
  ctx.beginPath();
  ctx.rect(GUTTER - 4, 0, spanX() + 8, height);
  ctx.clip();
  for (const one of panel.rows) {
    if (one.height >= 14 && one.label && !one.heading) {
      ctx.globalAlpha = 0.55;
      ctx.fillStyle = colors.line;
      ctx.fillRect(GUTTER, one.y + one.height - 0.5, spanX(), 0.5);
      ctx.globalAlpha = 1;
    }
    if (one.census) drawCensus(ctx, one.census, one.y, one.height);
    for (const bar of one.bars) drawBar(ctx, bar, one.y, one.height);
  }
  if (panel.generations) drawGenerations(ctx, panel.rows);
  for (const one of panel.rows) {
    for (const tick of one.ticks) drawTick(ctx, tick, one.y, one.height);
  }
  drawBroken(ctx, height);
  ctx.restore();
}

function drawAxis(panel) {
  const ctx = prepare(panel.canvas, 44);
  drawPhases(ctx, 20, true);
  drawBroken(ctx, 44);
  const about = (view.b - view.a) / Math.max(2, spanX() / 110);
  const power = 10 ** Math.floor(Math.log10(Math.max(about, 1)));
  const step = Math.max(1, [1, 2, 5, 10].map(n => n * power).find(n => n >= about));
  ctx.font = FONT;
  ctx.textAlign = "center";
  ctx.fillStyle = colors.muted;
  for (let t = Math.ceil(view.a / step) * step; t <= view.b; t += step) {
    ctx.fillRect(X(t) - 0.5, 21, 1, 5);
    ctx.fillText(when(t, step), Math.min(X(t), chartWidth - RIGHT - 12), 35);
  }
  ctx.textAlign = "left";
}
