// Reads the data and fills the page. Parts without data stay hidden.

const data = JSON.parse(byId('data').textContent);

// Peaks of the allocators that were measured, resident memory included.
const reservedPeaks = () =>
    data.comparison.map((row) => ({name: row.allocator, bytes: steadyBytes(row)}))
        .filter(({bytes}) => bytes);
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
  addTile(
      `${share >= 0 ? 'saved' : 'more'} against ${baseline.name}`, formatSaving(Math.abs(share)),
      share >= 0 ? 'good' : 'bad');
  byId('verdict').textContent = `The plan takes ${formatBytes(planned.bytes)} from the device; ` +
      `${baseline.name} takes ${formatBytes(baseline.bytes)}.`;
}

function fillOverview() {
  const {resident_bytes: resident, plan: {peak, lower_bound, gap, proved_optimal}} = data;
  if (data.blocks.length > 0) {
    const planned = reservedPeaks().find(({name}) => name === 'planned');
    addTile('the plan takes', formatBytes(planned?.bytes ?? resident + peak));
    addTile('lower bound', formatBytes(resident + lower_bound));
    addTile(
        proved_optimal ? 'gap of the step: proved optimal' : 'gap of the step', formatPercent(gap),
        proved_optimal ? 'good' : '');
  }
  fillSaving();
  if (resident > 0) {
    byId('basis').textContent = `Sizes include resident memory (${formatBytes(resident)}, such as ` +
        'parameters), which no plan moves. Blocks, addresses and gaps are those of a step, without it.';
  }
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
  byId('legend').append(element('span', {}, 'Share of the fullest tick:'));
  fillLegend(byId('legend'), step.present.map(categoryEntry), view, 'category');
  fillLegend(byId('memory-legend'), curves.map(allocatorEntry), view, 'allocator');
}

function fillReadings(step) {
  const {plan, blocks, fullestTick} = step;
  byId('block-count').textContent = formatCount(blocks.length);
  const above = `The plan’s peak is ${formatPercent(plan.gap)} above the lower bound`;
  const proof = plan.gap === 0 ?
      'The plan’s peak equals the lower bound, so no better plan exists.' :
      plan.proved_optimal ? `${above}; a search proved that no better plan exists.` :
                           `${above}.`;
  const time = plan.seconds > 0 ? ` in ${formatSeconds(plan.seconds)}` : '';
  const planner = plan.planner === '' ? '' : ` Planned by ${plan.planner}${time}.`;
  byId('plan-proof').textContent = proof + planner;
  byId('fullest-tick').textContent =
      `tick ${formatCount(fullestTick)} (${step.phaseAt(fullestTick)})`;
}

// Blocks that steps request while they are interrupted; no plan has them.
function fillInterrupted(part) {
  const step = readStep(part);
  byId('interrupted-figure').hidden = false;
  byId('interrupted-reading').textContent =
      `At tick ${formatCount(part.at)} the step is interrupted for work that not every step does: ` +
      `${formatCount(step.blocks.length)} requests, at most ` +
      `${formatBytes(step.live.totals[step.fullest])} at once. The pool serves them. They have ticks ` +
      'of their own and no place in the plan, so the step stays as planned.';
  new MemoryChart(byId('interrupted-chart'), step, [], 0, new View(step.first, step.last));
}

function fillStep() {
  const step = readStep(data);
  const view = new View(step.first, step.last);
  byId('step').hidden = false;
  if (data.steps !== undefined) byId('step-title').textContent = 'One step: the longest';
  const memory = new MemoryChart(byId('memory-chart'), step, data.curves, data.resident_bytes, view);
  if (data.ranks !== undefined) fillRankLane(data.ranks, step, view);
  const plan = new PlanChart(byId('plan-chart'), step, view);
  fillLegends(step, view, memory.curves);
  fillReadings(step);
  fillFullest(step, view);
  if (data.interrupted !== undefined) fillInterrupted(data.interrupted);
  fillZoom(
      view, '',
      () => `ticks ${formatCount(Math.floor(view.from))} to ${formatCount(Math.ceil(view.to))} ` +
          `of ${formatCount(step.last)}`);
  byId('plan-svg').addEventListener('click', () => plan.openAsSvg());
  if (data.story !== undefined) fillStory(data, step, view);
  return {step, view, memory, plan};
}

// "#learning" moves the losses up to the overview; otherwise they are the last section.
function orderSections() {
  const learning = location.hash === '#learning';
  const losses = byId('loss-section');
  if (learning) byId('overview').after(losses);
  else losses.parentElement.append(losses);
  for (const button of byId('first').children)
    button.setAttribute('aria-pressed', learning === (button.value === '#learning'));
}

if (data.blocks.length > 0) fillStep();
fillOverview();
if (data.order !== undefined) fillOrder(data.order, data.steps !== undefined);
if (data.budget !== undefined) fillBudget(data.budget);
if (data.comparison.length > 0)
  fillComparison(data, baselineOf(data.comparison, (row) => row.allocator));
if (data.steps !== undefined) fillSteps(data);
if (data.process !== undefined) fillProcess(data.process);
if (data.losses.length > 0) {
  byId('first').hidden = false;
  byId('first').addEventListener('click', ({target}) => {
    if (target.value) location.hash = target.value;
  });
  addEventListener('hashchange', orderSections);
  orderSections();
  fillLosses(data);
}
