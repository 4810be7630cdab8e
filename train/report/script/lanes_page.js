// The page of a step on lanes: plans, the lanes over time, and the graph of a small step.

const data = JSON.parse(byId('data').textContent);

const kFills = [
  'activation', 'gradient', 'workspace', 'parameter-gradient', 'input', 'temporary', 'parameter',
  'optimizer', 'state'
];
const kPhaseFills = {forward: 'activation', backward: 'gradient', update: 'optimizer'};
const fillOf = (index) => `var(--${kFills[index % kFills.length]})`;

// Makes an SVG element with a tooltip of the browser's own.
function svg(name, attributes, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
const picture = (width, height, label) =>
    svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label});
const hint = (words) => svg('title', {}, words);

// The pixels that a picture may take, so that its text has its size on narrow screens, too.
const roomOf = (host, most) => Math.min(most, byId(host).clientWidth || most);

// A bar of bytes for each plan, and its seconds on the lanes.
function drawPlans() {
  const width = roomOf('picture', 1200), row = 46, left = 90, room = width - left - 130;
  const most = largest(data.plans.map((plan) => plan.peak), 1);
  const drawn = picture(width, row * data.plans.length + 6, 'Bytes and seconds of each plan');
  data.plans.forEach((plan, i) => {
    const y = row * i + 6, to = (bytes) => left + room * bytes / most;
    drawn.append(
        svg('text', {x: left - 8, y: y + 20, 'text-anchor': 'end'}, plan.plan),
        svg('rect', {x: left, y, width: to(plan.peak) - left, height: 30, fill: 'var(--activation)'},
            hint(`${plan.plan}: ${formatBytes(plan.peak)}`)),
        svg('line', {
          x1: to(plan.proved_bound), x2: to(plan.proved_bound), y1: y - 3, y2: y + 33,
          stroke: 'var(--bad)', 'stroke-width': 2
        }),
        svg('text', {x: to(plan.peak) + 8, y: y + 13}, formatBytes(plan.peak)),
        svg('text', {x: to(plan.peak) + 8, y: y + 28},
            `${formatSeconds(plan.seconds)} on ${data.lanes} lanes`));
  });
  byId('picture').append(drawn);
}

function fillPlans() {
  const number = 'number';
  const rows = data.plans.map((plan) => [
    plan.plan, formatBytes(plan.peak), formatPercent(plan.above_one_lane),
    formatBytes(plan.proved_bound),
    element('span', {className: plan.proved_optimal ? 'good' : 'bad'},
            plan.proved_optimal ? 'yes' : 'no'),
    formatCount(plan.waits), formatSeconds(plan.seconds), formatSeconds(plan.critical_path_seconds),
  ]);
  byId('plans').append(makeTable(
      ['Plan for', 'Bytes', 'Above one lane', 'Bound', 'Proved', 'Waits for bytes',
       `On ${data.lanes} lanes`, 'On any number'],
      ['name', number, number, number, '', number, number, number], rows));
}

function drawLanes() {
  const width = roomOf('lanes', 1200), row = 54, left = 60;
  const scale = (width - left - 10) / Math.max(data.seconds, 1e-12);
  const drawn = picture(width, row * data.lanes + 8, 'Ops on lanes over time');
  for (let lane = 0; lane < data.lanes; ++lane) {
    drawn.append(svg('text', {x: 0, y: row * lane + 30}, `lane ${lane}`));
  }
  const atOnce = new Set(data.at_once);
  data.steps.forEach((step, op) => {
    const x = left + scale * step.begin, y = row * step.lane + 6;
    const wide = Math.max(scale * step.seconds, 0.3);
    const seam = wide > 3 ? 0.8 : 0;
    drawn.append(svg(
        'rect', {
          x, y, width: wide - seam, height: 38,
          fill: `var(--${kPhaseFills[step.phase] ?? 'unknown'})`, 'fill-opacity': 0.7,
          ...(atOnce.has(op) && {stroke: 'var(--ink)', 'stroke-width': 0.8})
        },
        hint(`${step.name}: ${formatSeconds(step.seconds)} from ${formatSeconds(step.begin)}`)));
    if (wide > 40) drawn.append(svg('text', {x: x + 5, y: y + 23}, step.name.slice(0, wide / 8)));
  });
  byId('lanes').append(drawn);
  byId('lanes-reading').textContent =
      `Ops in the program's sequence on each lane; ${formatCount(data.events)} events between ` +
      `lanes keep what data need. Outlined: ${formatCount(data.at_once.length)} ops of which no two ` +
      `wait for each other, the most that may run at once. Seconds ${data.seconds_source}.`;
}

// Columns by the longest path from the first op, rows by colour.
function places() {
  const column = [];
  data.edges.forEach((befores, op) => {
    column[op] = largest(befores.map((before) => column[before] + 1), 0);
  });
  return column.map((x, op) => ({x: 20 + 92 * x, y: 24 + 92 * data.colours[op]}));
}

function arrow(from, to, attributes) {
  const down = to.y - from.y, along = to.x > from.x;
  const start = {x: from.x + (along ? 64 : 32), y: from.y + (along ? 20 : down > 0 ? 40 : 0)};
  const end = {x: to.x + (along ? 0 : 32), y: to.y + (along ? 20 : down > 0 ? 0 : 40)};
  return svg('line', {
    x1: start.x, y1: start.y, x2: end.x, y2: end.y, 'marker-end': 'url(#head)', ...attributes
  });
}

function drawGraph(plan) {
  const at = places();
  const width = largest(at.map((place) => place.x), 0) + 90;
  const height = largest(at.map((place) => place.y), 0) + 60;
  const drawn = picture(width, height, `The graph with the plan for ${plan.plan}`);
  const head = {id: 'head', viewBox: '0 0 8 8', refX: 8, refY: 4, markerWidth: 7, markerHeight: 7,
                orient: 'auto'};
  drawn.append(
      svg('defs', {},
          svg('marker', head, svg('path', {d: 'M0 0L8 4L0 8z', fill: 'var(--soft)'}))));
  data.edges.forEach((befores, op) => befores.forEach(
      (before) => drawn.append(arrow(at[before], at[op], {stroke: 'var(--soft)'}))));
  plan.edges.forEach(
      ([before, after]) => drawn.append(arrow(
          at[before], at[after],
          {stroke: 'var(--bad)', 'stroke-width': 2, 'stroke-dasharray': '6 4'})));
  const offsets = [...new Set(plan.offsets)].sort((a, b) => a - b);
  data.steps.forEach((step, op) => {
    const offset = plan.offsets[op];
    drawn.append(
        svg('rect', {
          ...at[op], width: 64, height: 40, rx: 6, fill: fillOf(offsets.indexOf(offset)),
          'fill-opacity': 0.55, stroke: 'var(--ink)'
        }, hint(`${step.name}: bytes from ${formatBytes(offset ?? 0)}`)),
        svg('text', {x: at[op].x + 32, y: at[op].y + 25, 'text-anchor': 'middle'}, step.name));
  });
  const names = plan.edges.map(
      ([before, after]) => `${data.steps[after].name} waits for ${data.steps[before].name}`);
  const words = `${formatBytes(plan.peak)}. ` +
      (names.length === 0 ? 'No op waits for bytes.' : `${names.join('; ')}.`);
  byId('graphs').append(element(
      'figure', {}, element('figcaption', {}, element('h3', {}, plan.plan), element('p', {}, words)),
      drawn));
}

const fastest = data.plans.find((plan) => plan.plan === `${data.lanes} lanes`) ?? data.plans[0];
byId('verdict').textContent =
    `On ${data.lanes} lanes the step takes ${formatSeconds(data.seconds)} instead of ` +
    `${formatSeconds(data.sum_seconds)}; no number of lanes takes less than ` +
    `${formatSeconds(data.critical_path_seconds)}. A plan for them needs ` +
    `${formatPercent(fastest.above_one_lane)} more bytes than one for one lane.`;
drawPlans();
fillPlans();
drawLanes();
byId('graphs-section').hidden = !data.drawn;
if (data.drawn) data.plans.forEach(drawGraph);
