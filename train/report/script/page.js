// Reads the data and fills the page. Parts without data stay hidden.

const data = JSON.parse(byId('data').textContent);

// Returns the peak of each allocator: from the comparison, or over the recorded step if there is
// none. Allocators that were not measured are left out.
function reservedPeaks() {
  const rows = data.comparison.length > 0 ?
      data.comparison.map((row) => ({name: row.allocator, bytes: steadyBytes(row)})) :
      data.curves.map(({name, reserved}) => ({name, bytes: largest(reserved, 0)}));
  return rows.filter(({bytes}) => bytes);
}
function baselineOf(rows, nameOf) {
  const named = (name) => rows.find((row) => nameOf(row) === name);
  return named(data.baseline) ?? named('best-fit-pool') ?? rows[0];
}

function addTile(name, value, className = '') {
  byId('tiles').append(element(
      'div', {className: `tile ${className}`}, element('span', {}, name),
      element('strong', {}, value)));
}

function fillSaving() {
  const peaks = reservedPeaks();
  const planned = peaks.find(({name}) => name === 'planned');
  const baseline = baselineOf(peaks, ({name}) => name);
  if (!planned || planned === baseline) return;
  const share = (baseline.bytes - planned.bytes) / baseline.bytes;
  const where = data.comparison.length > 0 ? '' : ' in the step';
  addTile(
      `${share >= 0 ? 'saved' : 'more'}${where} against ${baseline.name}`,
      formatPercent(Math.abs(share)), share >= 0 ? 'good' : 'bad');
  byId('verdict').textContent = (where === '' ? 'The' : 'For the memory of one step, the') +
      ` plan takes ${formatBytes(planned.bytes)} from the device; ` +
      `${baseline.name} takes ${formatBytes(baseline.bytes)}.`;
}

function fillOverview() {
  if (data.blocks.length > 0) {
    const {peak, lowerBound, gap, provedOptimal} = data.plan;
    addTile('planned peak of the step', formatBytes(peak));
    addTile('lower bound', formatBytes(lowerBound));
    addTile(
        provedOptimal ? 'gap: proved optimal' : 'gap to the lower bound', formatPercent(gap),
        provedOptimal ? 'good' : '');
  }
  fillSaving();
  for (const [name, value] of data.facts) {
    const className = value.length > 30 ? 'long' : '';
    byId('facts').append(
        element('div', {className}, element('dt', {}, name), element('dd', {}, value)));
  }
}

function fillLegends(step, view, curves) {
  const alive = (category) => step.live.parts[step.fullest * step.categories.length + category];
  const categoryEntry = (category) => ({
    swatch: colourSwatch(step.categories[category]),
    name: step.categories[category],
    note: formatPercent(alive(category) / step.live.totals[step.fullest]),
    value: category,
  });
  const curveEntry = ({name, planned, dash, peak}) => ({
    swatch: lineSwatch(planned ? 'accent' : 'ink', planned ? 2.6 : 1.6, dash),
    name,
    note: `peak ${formatBytes(peak)}`,
    value: name,
  });
  byId('legend').append(element('span', {}, 'Share of the fullest tick:'));
  fillLegend(byId('legend'), step.present.map(categoryEntry), view, 'category');
  fillLegend(byId('memory-legend'), curves.map(curveEntry), view, 'allocator');
}

function fillReadings(step) {
  const {plan, blocks, fullestTick} = step;
  if (data.residentBytes > 0) {
    byId('resident-reading').textContent = 'Resident memory ' +
        `(${formatBytes(data.residentBytes)}, such as parameters) lies below; plans do not move it.`;
  }
  byId('block-count').textContent = formatCount(blocks.length);
  const above = `The plan’s peak is ${formatPercent(plan.gap)} above the lower bound`;
  const proof = plan.gap === 0 ?
      'The plan’s peak equals the lower bound, so no better plan exists.' :
      plan.provedOptimal ? `${above}; a search proved that no better plan exists.` :
                           `${above}.`;
  const time = plan.seconds > 0 ? ` in ${formatSeconds(plan.seconds)}` : '';
  const planner = plan.planner === '' ? '' : ` Planned by ${plan.planner}${time}.`;
  byId('plan-proof').textContent = proof + planner;
  byId('fullest-tick').textContent =
      `tick ${formatCount(fullestTick)} (${step.phaseAt(fullestTick)})`;
}

const kFullestRows = 8;

function fillFullest(step) {
  const tick = step.fullestTick;
  const alive = step.blocks.filter((b) => b.lower <= tick && tick < b.upper)
                    .sort((a, b) => b.rounded - a.rounded);
  const total = step.live.totals[step.fullest];
  const rows = alive.slice(0, kFullestRows).map((block) => {
    const category = step.categories[block.category];
    const bar = element('i');
    bar.style.width = `${100 * block.rounded / alive[0].rounded}%`;
    bar.style.background = `var(--${cssName(category)})`;
    const named = element('span', {}, colourSwatch(category), category);
    const share = formatPercent(block.rounded / total);
    return [block.layer || '–', block.op || '–', named, formatBytes(block.rounded), share, bar];
  });
  const shown = alive.slice(0, kFullestRows).reduce((sum, block) => sum + block.rounded, 0);
  if (alive.length > kFullestRows) {
    rows.push([
      `${formatCount(alive.length - kFullestRows)} more blocks`, '', '', formatBytes(total - shown),
      formatPercent((total - shown) / total), ''
    ]);
  }
  byId('fullest').append(makeTable(
      ['Layer', 'Op', 'Category', 'Bytes', 'Share', ''],
      ['name', '', '', 'number', 'number', 'bar'], rows));
}

function fillStep() {
  const step = readStep(data);
  const view = new View(step.first, step.last);
  byId('step').hidden = false;
  const memory = new MemoryChart(byId('memory-chart'), step, data.curves, data.residentBytes, view);
  const plan = new PlanChart(byId('plan-chart'), step, view);
  fillLegends(step, view, memory.curves);
  fillReadings(step);
  fillFullest(step);
  const showRange = () => {
    byId('range').textContent =
        `ticks ${formatCount(Math.floor(view.from))} to ${formatCount(Math.ceil(view.to))} ` +
        `of ${formatCount(step.last)}`;
    byId('zoom-reset').disabled = byId('zoom-out').disabled = view.isWhole;
  };
  view.onRange.push(showRange);
  showRange();
  byId('zoom-in').addEventListener('click', () => view.zoom(0.5));
  byId('zoom-out').addEventListener('click', () => view.zoom(2));
  byId('zoom-reset').addEventListener('click', () => view.whole());
  byId('plan-svg').addEventListener('click', () => plan.openAsSvg());
  return {step, view, memory, plan};
}

if (data.blocks.length > 0) fillStep();
fillOverview();
if (data.order !== undefined) fillOrder(data.order, data.steps !== undefined);
if (data.budget !== undefined) fillBudget(data.budget);
if (data.comparison.length > 0)
  fillComparison(data, baselineOf(data.comparison, (row) => row.allocator));
if (data.steps !== undefined) fillSteps(data);
if (data.process !== undefined) fillProcess(data.process);
if (data.losses.length > 0) fillLosses(data);
