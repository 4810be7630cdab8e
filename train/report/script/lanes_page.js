// The page of a step on lanes: plans, the lanes over time, and the graph of a small step.

const data = JSON.parse(byId('data').textContent);

const kPhaseFills = {forward: 'activation', backward: 'gradient', update: 'optimizer'};

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

const fastest = data.plans.find((plan) => plan.plan === `${data.lanes} lanes`) ?? data.plans[0];
byId('verdict').textContent =
    `On ${data.lanes} lanes the step takes ${formatSeconds(data.seconds)} instead of ` +
    `${formatSeconds(data.sum_seconds)}; no number of lanes takes less than ` +
    `${formatSeconds(data.critical_path_seconds)}. A plan for them needs ` +
    `${formatPercent(fastest.above_one_lane)} more bytes than one for one lane.`;
drawPlans();
byId('plans').append(plansTable(data));
drawLanes();
byId('graphs-section').hidden = !data.drawing;
if (data.drawing) byId('graphs').append(...graphFigures(data.drawing));
