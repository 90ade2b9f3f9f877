// What there is to draw: rows with a label and a height, and on them
// bars {a, b, fill, top, bottom, texts, tip} and ticks {at, glyph, fill, tip}. Times are ms.

const run = JSON.parse(document.getElementById("run").textContent);
const names = run.members.map(member => member[0]).concat(run.owners);
const named = new Set(run.named);  // in what a checker says
const manyGroups = run.groups.length > 1;
const groupPlaces = new Map(run.groups.map(([name], index) => [name, index]));

const FOLD_FROM = 60;  // members; fewer are all shown at once
const STATES = ["outside", "rebalancing", "stable"];
const STATE_WORDS = ["in no generation", "rebalancing", "stable"];
const STABLE = 2, REBALANCING = 1;
const GLYPHS = {  // of what happens to a member: the shape and the color
  crashed: ["cross", "gone"], fenced: ["cross", "gone"], left: ["edge", "left"],
  start: ["edge", "left"], refused: ["edge", "left"], lost: ["caret", "gone"], error: ["line", "gone"],
  fault: ["dot", "ink"], leads: ["diamond", "ink"],
};

const FATES = {committed: "committed", aborted: "gone", open: "still"};  // of transactions

// Words -------------------------------------------------------------------------------------------

function when(ms, step = 1) {
  const digits = step >= 1000 ? 0 : step >= 100 ? 1 : step >= 10 ? 2 : 3;
  return (ms / 1000).toFixed(digits) + " s";
}

const figure = n => Math.round(n).toLocaleString("en");
const many = (n, noun) => `${figure(n)} ${noun}${n === 1 ? "" : "s"}`;
const stretch = (a, b) => `${when(a)} to ${when(b)} (${figure(b - a)} ms)`;

// Rows --------------------------------------------------------------------------------------------

function row(label, height, more) {
  return Object.assign({label, height, bars: [], ticks: []}, more);
}

// Of so many rows, how high is each?
function heightFor(count, heights) {
  const bounds = [26, 70, 140, 220];
  const index = bounds.findIndex(bound => count <= bound);
  return heights[index < 0 ? bounds.length : index];
}

function groupRows() {
  return run.groups.map(([name, generations]) => {
    const made = row(name, 26);
    generations.forEach(([at, number, leader, joined, assigned], index) => {
      const until = index + 1 < generations.length ? generations[index + 1][0] : run.end;
      const texts = [`${number}`], tip = [`${name}, generation ${number}`, stretch(at, until)];
      if (leader) {
        texts.unshift(`${number} · ${leader} leads · ${many(joined, "member")}`,
          `${number} · ${leader}`);
        tip.push(`${leader} leads, ${many(joined, "member")} joined`);
      } else tip.push(run.epochs ? "nobody leads: members follow one by one" : "no leader was told of it");
      if (assigned >= 0) tip.push(`all assigned ${figure(assigned - at)} ms after it began`);
      const fill = index % 2 ? "generation-2" : "generation";
      made.bars.push({a: at, b: until, fill, edge: true, top: 3, bottom: 3, texts, tip});
    });
    return made;
  });
}

function recordRows() {
  const width = run.end / run.delivered.length, height = 30;
  return [["delivered", run.delivered], ["committed", run.committed]].map(([name, bins]) => {
    const most = Math.max(1, ...bins), made = row(name, height);
    bins.forEach((records, index) => {
      if (!records) return;
      const a = index * width, b = a + width;
      const top = height - Math.max(2, (height - 4) * records / most);
      const tip = [`${many(records, "record")} ${name}`, stretch(a, b)];
      made.bars.push({a, b, fill: name, top, bottom: 0, tip});
    });
    return made;
  });
}

function nodeRows() {
  return run.nodes.map(([name, down, paused]) => {
    const made = row(name, 18, {broken: named.has(name)});
    const thick = {top: 3, bottom: 3};
    const add = (a, b, more) => made.bars.push({a, b, ...more});
    add(0, run.end, {fill: "generation", top: 7, bottom: 7, tip: [`${name} is up`]});
    for (const [a, b] of paused) {
      const tip = [`${name} stands still`, stretch(a, b)];
      add(a, b, {fill: "still", hatch: true, texts: ["stands still"], tip, ...thick});
    }
    for (const [a, b] of down) {
      const tip = [`${name} is down`, stretch(a, b)];
      add(a, b, {fill: "down", ink: "card", texts: ["down"], tip, ...thick});
    }
    return made;
  });
}

function faultRows() {
  return run.faults.map(([kind, hits, words, marks]) => {
    const made = row(kind, 17, {tip: [kind, words, many(marks.length, "time")]});
    for (const [at, until, who, text] of marks) {
      const lasts = until > at;
      const tip = [`${kind}: ${text}`, words, lasts ? stretch(at, until) : `at ${when(at)}`];
      if (lasts) made.bars.push({a: at, b: until, fill: hits, top: 6, bottom: 6, faint: true, tip});
      made.ticks.push({at, glyph: "dot", fill: hits, tip});
    }
    return made;
  });
}

function memberRow(index, height) {
  const [name, group, instance, , spans, zombie, slow, marks, deals] = run.members[index];
  const whose = group + (instance ? `, static as ${instance}` : "");
  const inset = height > 9 ? 2 : height > 6 ? 1 : 0.5, thin = Math.max(1.5, height / 7);
  const made = row(name, height, {member: index, group, broken: named.has(name)});
  made.tip = [name, whose];
  const add = (a, b, more) => made.bars.push({a, b, top: inset, bottom: inset, ...more});
  for (const [a, b, state, generation, partitions, reason] of spans) {
    const has = many(partitions, "partition"), tip = [`${name}: ${STATE_WORDS[state]}`];
    tip.push(stretch(a, b));
    if (state && generation >= 0) tip.push(`generation ${generation}, ${has}`);
    if (state === REBALANCING && reason >= 0) tip.push(`because: ${run.reasons[reason]}`);
    tip.push(whose);
    const long = `generation ${generation} · ${has}`, short = `g${generation} · ${partitions}`;
    const texts = state === STABLE ? [long, short] : [];
    // A zombie is drawn over what it believes to be: words end where it begins.
    const hidden = zombie.find(still => still[1] > a && still[0] < b);
    const legible = hidden ? Math.max(hidden[0], a) : b;
    add(a, b, {fill: STATES[state], ink: "stable-ink", legible, texts, tip});
  }
  for (const [a, b] of zombie) {
    const tip = [`${name}: its process stands still`, stretch(a, b)];
    add(a, b, {fill: "still", hatch: true, tip});
  }
  for (const [a, b] of slow) {
    const tip = [`${name}: slow, does not poll`, stretch(a, b)];
    add(a, b, {fill: "slow", top: height - inset - thin, tip});
  }
  for (const [a, b, fate] of deals) {
    const tip = [`${name}: a transaction, ${fate === "open" ? "never ended" : fate}`, stretch(a, b)];
    add(a, b, {fill: FATES[fate], edge: true, bottom: height - inset - thin, tip});
  }
  for (const [at, kind, words] of marks) {
    const [glyph, fill] = GLYPHS[kind];
    made.ticks.push({at, glyph, fill, tip: [`${name}: ${words}`, `at ${when(at)}`]});
  }
  return made;
}

// all: also those to which nothing happened that did not happen to everybody.
function memberRows(all) {
  const rows = [], place = index => groupPlaces.get(run.members[index][1]) ?? groupPlaces.size;
  const shown = [...run.members.keys()].filter(index => {
    const [name, , , notable] = run.members[index];
    return all || notable || named.has(name);
  });
  if (run.members.length > 24) {
    const tip = ["all members", "how many are in which state"];
    rows.push(row("all members", 74, {census: run.census, tip}), row("", 6));
  }
  const height = heightFor(shown.length, [22, 15, 11, 7, 5]);
  if (manyGroups) shown.sort((one, other) => place(one) - place(other) || one - other);
  let last = null;
  for (const index of shown) {
    const group = run.members[index][1];
    if (manyGroups && group !== last) rows.push(row(group, 18, {heading: true}));
    last = group;
    rows.push(memberRow(index, height));
  }
  return rows;
}

function partitionRows() {
  const height = heightFor(run.partitions.length, [20, 14, 10, 6, 4]);
  const rows = height < 10 ? [row("", 4)] : [], inset = height > 9 ? 1.5 : 0.5;
  let last = null;
  for (const [group, topic, partition, spans, overlaps] of run.partitions) {
    if (manyGroups && group !== last) rows.push(row(group, 18, {heading: true}));
    last = group;
    const name = `${topic}-${partition}`;
    const made = row(name, height, {partition: name, group, broken: named.has(name)});
    made.tip = [name, `for ${group}`];
    const add = (a, b, more) => made.bars.push({a, b, top: inset, bottom: inset, ...more});
    for (const [a, b, owner, first, final] of spans) {
      const through = first === final ? `generation ${first}` : `generations ${first} to ${final}`;
      const tip = [`${names[owner]} has ${name}`, stretch(a, b), `${through} of ${group}`];
      add(a, b, {owner, ink: "owner-ink", texts: [names[owner]], tip});
    }
    for (const [a, b] of overlaps) {
      const tip = [`Two members believe that ${name} is theirs`, stretch(a, b),
        "in different generations: what the older one commits is refused"];
      add(a, b, {fill: "gone", hatch: true, top: height * 0.6, tip});
    }
    rows.push(made);
  }
  return rows;
}
