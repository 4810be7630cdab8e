// Pictures of steps on lanes: a table of plans, and small graphs whose boxes are ops. Boxes of one
// colour have the same bytes.

const kFills = [
  'activation', 'gradient', 'workspace', 'parameter-gradient', 'input', 'temporary', 'parameter',
  'optimizer', 'state'
];
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

// Columns by the longest path from the first op, rows by colour.
function places({edges, colours}) {
  const column = [];
  edges.forEach((befores, op) => {
    column[op] = largest(befores.map((before) => column[before] + 1), 0);
  });
  return column.map((x, op) => ({x: 20 + 92 * x, y: 24 + 92 * colours[op]}));
}

function arrow(from, to, attributes) {
  const down = to.y - from.y, along = to.x > from.x;
  const start = {x: from.x + (along ? 64 : 32), y: from.y + (along ? 20 : down > 0 ? 40 : 0)};
  const end = {x: to.x + (along ? 0 : 32), y: to.y + (along ? 20 : down > 0 ? 0 : 40)};
  return svg('line', {
    x1: start.x, y1: start.y, x2: end.x, y2: end.y, 'marker-end': 'url(#head)', ...attributes
  });
}

function graphPicture(drawing, plan) {
  const at = places(drawing);
  const width = largest(at.map((place) => place.x), 0) + 90;
  const height = largest(at.map((place) => place.y), 0) + 60;
  const drawn = picture(width, height, `The graph: ${plan.plan}`);
  const head = {id: 'head', viewBox: '0 0 8 8', refX: 8, refY: 4, markerWidth: 7, markerHeight: 7,
                orient: 'auto'};
  drawn.append(
      svg('defs', {},
          svg('marker', head, svg('path', {d: 'M0 0L8 4L0 8z', fill: 'var(--soft)'}))));
  drawing.edges.forEach((befores, op) => befores.forEach(
      (before) => drawn.append(arrow(at[before], at[op], {stroke: 'var(--soft)'}))));
  plan.waits.forEach(
      ([before, after]) => drawn.append(arrow(
          at[before], at[after],
          {stroke: 'var(--bad)', 'stroke-width': 2, 'stroke-dasharray': '6 4'})));
  const offsets = [...new Set(plan.offsets)].filter((offset) => offset !== null)
                      .sort((a, b) => a - b);
  drawing.names.forEach((name, op) => {
    const offset = plan.offsets[op];
    drawn.append(
        svg('rect', {...at[op], width: 64, height: 40, rx: 6, fill: 'var(--surface)'}),
        svg('rect', {
          ...at[op], width: 64, height: 40, rx: 6, stroke: 'var(--ink)', 'fill-opacity': 0.55,
          fill: offset === null ? 'none' : fillOf(offsets.indexOf(offset))
        }, hint(offset === null ? `${name}: resident` : `${name}: bytes from ${formatBytes(offset)}`)),
        svg('text', {x: at[op].x + 32, y: at[op].y + 25, 'text-anchor': 'middle'}, name));
  });
  return drawn;
}

// A figure of the graph for each plan.
function graphFigures(drawing) {
  return drawing.plans.map((plan) => {
    const waits = plan.waits.map(
        ([before, after]) => `${drawing.names[after]} waits for ${drawing.names[before]}`);
    const words = `${formatBytes(plan.peak)}. ` +
        (waits.length === 0 ? 'No op waits for bytes.' : `${waits.join('; ')}.`);
    return element(
        'figure', {},
        element('figcaption', {}, element('h3', {}, plan.plan), element('p', {}, words)),
        graphPicture(drawing, plan));
  });
}

function plansTable({plans, lanes}) {
  const number = 'number';
  return makeTable(
      ['Plan for', 'Bytes', 'Above one lane', 'Bound', 'Proved', 'Waits for bytes',
       `On ${lanes} lanes`, 'On any number', 'Shared on one path'],
      ['name', number, number, number, '', number, number, number, number],
      plans.map((plan) => [
        plan.plan, formatBytes(plan.peak), formatPercent(plan.above_one_lane),
        formatBytes(plan.proved_bound),
        element('span', {className: plan.proved_optimal ? 'good' : 'bad'},
                plan.proved_optimal ? 'yes' : 'no'),
        formatCount(plan.waits), formatSeconds(plan.seconds),
        formatSeconds(plan.critical_path_seconds),
        plan.within_colours === null ? '–' : formatPercent(plan.within_colours)
      ]));
}
