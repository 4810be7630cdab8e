// Memory over the steps of a run, and below it the lengths of each step's sentences. Where several
// steps share a column of pixels, it shows their minimum and maximum, so that no peak and no dip is
// lost.

const kReplanPixels = 9;  // closer marks are drawn as one
const kStripPixels = 58;
const kStripSpace = 12;

// Expands the values to one per step; NaN means not measured.
function readStepsLine({name, steps, at, reserved, replans}, count, index) {
  const values = new Float64Array(count).fill(NaN);
  at.forEach((step, i) => values.fill(reserved[i], step, at[i + 1] ?? steps));
  const planned = name === 'planned';
  const dash = planned ? [] : kDashes[index % kDashes.length];
  return {name, steps, values, replans, planned, dash, peak: largest(reserved, 0)};
}

function readSteps({first, lines, live, lengths, lengthsName}) {
  const count = largest([...lines.map((line) => line.steps), live.length], 1);
  return {
    first,
    last: first + count,
    count,
    lines: lines.map((line, index) => readStepsLine(line, count, index)),
    live,
    lengths,
    lengthsName,
  };
}

// Summarises the values in each column of pixels from `x` to `end`: count, sum, minimum and maximum.
// `begins` marks the first column after a gap.
function pixelColumns(chart, values) {
  const {first} = chart.steps;
  const begin = Math.max(0, Math.floor(chart.from) - first);
  const end = Math.min(values.length, Math.ceil(chart.to) - first);
  const columns = [];
  let gap = true;
  for (let i = begin; i < end; ++i) {
    const value = values[i];
    if (Number.isNaN(value)) {
      gap = true;
      continue;
    }
    const x = chart.x(first + i);
    const next = chart.x(first + i + 1);
    const column = columns.at(-1);
    if (!gap && Math.floor(column.x) === Math.floor(x)) {
      column.least = Math.min(column.least, value);
      column.most = Math.max(column.most, value);
      column.sum += value;
      column.count += 1;
      column.end = next;
    } else {
      columns.push(
          {x, end: next, least: value, most: value, sum: value, count: 1, begins: gap});
    }
    gap = false;
  }
  return columns;
}

// What both charts have in common.
class StepsBaseChart extends StepChart {
  constructor(host, options, steps, view) {
    super(host, options, {phases: []}, view);
    this.steps = steps;
  }

  // Fills each column from `lower` to `upper`, in pixels.
  fillColumns(context, columns, lower, upper) {
    context.beginPath();
    for (const column of columns) {
      const top = upper(column);
      const width = Math.max(column.end - column.x, 1);
      context.rect(column.x, top, width, lower(column) - top);
    }
    context.fill();
  }

  // Draws a step function of the columns.
  strokeColumns(context, columns, y) {
    context.beginPath();
    for (const column of columns) {
      context[column.begins ? 'moveTo' : 'lineTo'](column.x, y(column));
      context.lineTo(column.end, y(column));
    }
    context.stroke();
  }
  stepsAxis(context) {
    this.countAxis(context, '');
    this.text(context, 'steps', this.right + 36, this.bottom + 15);
  }

  blockAt() {
    return null;
  }
  walk(way) {
    const step = (this.view.tick ?? Math.floor(this.view.from) - Math.min(way, 1)) + way;
    const shown = Math.min(Math.max(step, this.view.first), this.view.last - 1);
    this.view.reveal(shown);
    this.visit(shown, null, this.top + 20);
  }
  describe(tick) {
    const index = Math.min(tick, this.view.last - 1) - this.steps.first;
    const live = this.steps.live[index];
    const replanned = this.steps.lines.filter((line) => line.replans.includes(index));
    return tooltipContent(null, `Step ${formatCount(index + this.steps.first)}`, [
      ...this.steps.lines.map(({name, values}) => {
        const bytes = values[index];
        return [name, Number.isNaN(bytes) ? 'not measured' : `holds ${formatBytes(bytes)}`];
      }),
      ...(live === undefined ? [] : [['alive', formatBytes(live)]]),
      ...this.steps.lengths.map(
          ({name, values}) =>
              [name, values[index] === undefined ? 'not measured' : formatCount(values[index])]),
      ...replanned.map(({name}) => [name, 're-planned before this step']),
    ]);
  }
}

class StepsMemoryChart extends StepsBaseChart {
  constructor(host, steps, view) {
    const label =
        'Memory over steps: reserved bytes of each allocator, and the bytes alive below them';
    super(host, {height: 320, label}, steps, view);
    this.low = 0;
    this.high = 1.06 * largest(steps.lines.map((line) => line.peak), largest(steps.live, 1));
  }

  drawBase(context) {
    this.bytesAxis(context);
    this.stepsAxis(context);
    this.inPlot(context, () => this.drawLive(context));
    const labels = [];
    for (const line of this.steps.lines) {
      const columns = pixelColumns(this, line.values);
      this.inPlot(context, () => this.drawLine(context, line, columns));
      if (columns.length === 0) continue;
      labels.push(this.labelOf(line, columns.at(-1).most));
    }
    this.drawLabels(context, labels);
    for (const line of this.steps.lines)
      this.inPlot(context, () => this.drawReplans(context, line));
  }

  // Solid up to a column's minimum, lighter from there to its maximum.
  drawLive(context) {
    const columns = pixelColumns(this, this.steps.live);
    const floor = this.y(0);
    context.fillStyle = styleOf('activation');
    context.globalAlpha = 0.45;
    this.fillColumns(context, columns, () => floor, ({least}) => this.y(least));
    context.globalAlpha = 0.22;
    this.fillColumns(context, columns, ({least}) => this.y(least), ({most}) => this.y(most));
    context.globalAlpha = 1;
  }

  labelOf({name, planned, steps}, bytes) {
    const label = {y: this.y(bytes), name, bytes, colour: planned ? 'accent' : 'ink'};
    label.bold = this.view.allocator === name;
    if (steps < this.steps.count)
      label.note = `to step ${formatCount(steps + this.steps.first - 1)}`;
    return label;
  }
  // The line follows each column's maximum; the band below it reaches down to the minimum.
  drawLine(context, {name, planned, dash}, columns) {
    const outstanding = this.view.allocator === null || this.view.allocator === name;
    context.save();
    context.strokeStyle = context.fillStyle = styleOf(planned ? 'accent' : 'ink');
    context.globalAlpha = outstanding ? 0.16 : 0.05;
    this.fillColumns(context, columns, ({least}) => this.y(least), ({most}) => this.y(most));
    context.globalAlpha = outstanding ? 1 : 0.25;
    context.lineWidth = planned || this.view.allocator === name ? 2.6 : 1.6;
    context.setLineDash(dash);
    this.strokeColumns(context, columns, ({most}) => this.y(most));
    context.restore();
  }

  // Draws a triangle on the line at each step that is the first with a new plan.
  drawReplans(context, {name, replans, values}) {
    const shown = this.view.allocator === null || this.view.allocator === name;
    if (!shown) return;
    context.fillStyle = styleOf('accent');
    context.strokeStyle = styleOf('surface');
    let last = -Infinity;
    for (const replan of replans) {
      const x = this.x(replan + this.steps.first);
      if (x < this.left || x > this.right || x - last < kReplanPixels) continue;
      last = x;
      const y = this.y(Number.isNaN(values[replan]) ? 0 : values[replan]);
      context.beginPath();
      context.moveTo(x, y - 1);
      context.lineTo(x - 5, y + 9);
      context.lineTo(x + 5, y + 9);
      context.closePath();
      context.fill();
      context.stroke();
    }
  }
}

// One strip for each series, so that none covers another.
class StepsLengthsChart extends StepsBaseChart {
  constructor(host, steps, view) {
    const strips = steps.lengths.length;
    super(
        host, {
          height: kStepMargin.top + kStepMargin.bottom + strips * kStripPixels +
              (strips - 1) * kStripSpace,
          label: `Over the same steps: ${steps.lengthsName}`
        },
        steps, view);
    this.most = steps.lengths.map((series) => largest(series.values, 1));
  }

  drawBase(context) {
    this.stepsAxis(context);
    this.steps.lengths.forEach((series, i) => this.drawStrip(context, series, i));
  }
  drawStrip(context, {name, values}, index) {
    const top = this.top + index * (kStripPixels + kStripSpace);
    const bottom = top + kStripPixels;
    const y = (value) => bottom - value / this.most[index] * kStripPixels;
    for (const value of [0, this.most[index]]) {
      const line = Math.round(y(value)) + 0.5;
      this.rule(
          context, this.left, line, this.right, line, {colour: value === 0 ? 'line' : 'grid'});
      this.text(context, formatCount(value), this.left - 8, line, {align: 'right'});
    }
    this.text(context, name, this.right + 15, (top + bottom) / 2, {colour: 'ink'});
    const columns = pixelColumns(this, values);
    this.inPlot(context, () => {
      context.fillStyle = styleOf('workspace');
      context.globalAlpha = 0.7;
      this.fillColumns(context, columns, () => bottom, ({least}) => y(least));
      context.globalAlpha = 0.35;
      this.fillColumns(context, columns, ({least}) => y(least), ({most}) => y(most));
      context.globalAlpha = 1;
      context.strokeStyle = styleOf('ink');
      this.strokeColumns(context, columns, ({sum, count}) => y(sum / count));
    });
  }
}

function stepsReading({lines, count}) {
  const planned = lines.filter((line) => line.replans.length > 0);
  return planned
      .map(({name, replans}) => {
        const early = replans.filter((step) => step < count / 10).length;
        return `Re-plans of ${name}: ${formatCount(replans.length)}, of which ` +
            `${formatCount(early)} in the first tenth of the steps; ▲ marks each on its line.`;
      })
      .join(' ');
}

function fillStepsLegend(steps, view) {
  const entries = steps.lines.map(({name, planned, dash, peak}) => ({
    swatch: lineSwatch(planned ? 'accent' : 'ink', planned ? 2.6 : 1.6, dash),
    name,
    note: `peak ${formatBytes(peak)}`,
    value: name,
  }));
  fillLegend(byId('steps-legend'), entries, view, 'allocator');
  if (steps.live.length > 0)
    byId('steps-legend').append(element('span', {}, colourSwatch('activation'), 'alive'));
}

function fillSteps(data) {
  const steps = readSteps(data.steps);
  const view = new View(steps.first, steps.last);
  byId('steps-section').hidden = false;
  byId('steps-reading').textContent = stepsReading(steps);
  fillStepsLegend(steps, view);
  const memory = new StepsMemoryChart(byId('steps-chart'), steps, view);
  if (steps.lengths.length > 0) {
    byId('lengths-figure').hidden = false;
    byId('lengths-name').textContent = steps.lengthsName;
    new StepsLengthsChart(byId('lengths-chart'), steps, view);
  }
  const showRange = () => {
    const last = Math.min(Math.ceil(view.to), steps.last) - 1;
    byId('steps-range').textContent = `steps ${formatCount(Math.floor(view.from))} to ` +
        `${formatCount(last)} of ${formatCount(steps.last - 1)}`;
    byId('steps-zoom-reset').disabled = byId('steps-zoom-out').disabled = view.isWhole;
  };
  view.onRange.push(showRange);
  showRange();
  byId('steps-zoom-in').addEventListener('click', () => view.zoom(0.5));
  byId('steps-zoom-out').addEventListener('click', () => view.zoom(2));
  byId('steps-zoom-reset').addEventListener('click', () => view.whole());
  return {steps, view, memory};
}
