// Memory over the steps of a run, and below it the lengths of each step's sentences. Where several
// steps share a column of pixels, it shows their minimum and maximum, so that no peak and no dip is
// lost.

const kReplanPixels = 9;  // closer marks are drawn as one
const kStripPixels = 58;
const kStripSpace = 12;

// Expands the bytes to one value a point.
function readStepsLine({name, steps, per, at, least, most, replans}, index) {
  const points = Math.ceil(steps / per);
  const expand = (values) => {
    const all = new Float64Array(points).fill(NaN);
    at.forEach((point, i) => all.fill(values[i] ?? NaN, point, at[i + 1] ?? points));
    return all;
  };
  const planned = name === 'planned';
  const dash = planned ? [] : kDashes[index % kDashes.length];
  const bytes = {steps, per, mean: expand(most), least: expand(least), most: expand(most)};
  return {name, steps, bytes, replans, planned, dash, peak: largest(most, 0)};
}

function readSteps({first, lines, live, lengths, lengths_name}) {
  const all = [...lines, live, ...lengths];
  const count = largest(all.map((series) => series.steps), 1);
  return {
    first,
    last: first + count,
    count,
    per: largest(all.map((series) => series.per), 1),
    lines: lines.map(readStepsLine),
    live: readSeries(live),
    lengths: lengths.map((series) => ({name: series.name, values: readSeries(series)})),
    lengths_name,
  };
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
  walk(way) {
    const step = (this.view.tick ?? Math.floor(this.view.from) - Math.min(way, 1)) + way;
    const shown = Math.min(Math.max(step, this.view.first), this.view.last - 1);
    this.view.reveal(shown);
    this.visit(shown, null, this.top + 20);
  }
  describe(tick) {
    const {first, last, count, per, lines, live, lengths} = this.steps;
    const index = Math.min(tick, last - 1) - first;
    const replanned = lines.filter(
        ({bytes, replans}) => replans.some(([point]) => point === Math.floor(index / bytes.per)));
    const alive = seriesText(live, index, formatBytes);
    return tooltipContent(null, stepsTitle(index, per, first, count), [
      ...lines.map(({name, bytes}) => {
        const text = seriesText(bytes, index, formatBytes);
        return [name, text === 'not measured' ? text : `holds ${text}`];
      }),
      ...(live.steps === 0 ? [] : [['alive', alive]]),
      ...lengths.map(({name, values}) => [name, seriesText(values, index, formatCount)]),
      ...replanned.map(({name}) => [name, `re-planned ${per === 1 ? 'before this step' : 'here'}`]),
    ]);
  }
}

class StepsMemoryChart extends StepsBaseChart {
  constructor(host, steps, view) {
    const label =
        'Memory over steps: reserved bytes of each allocator, and the bytes alive below them';
    super(host, {height: 320, label}, steps, view);
    this.low = 0;
    this.high = 1.06 *
        largest(steps.lines.map((line) => line.peak),
                largest(steps.live.most.filter(isMeasured), 1));
  }

  drawBase(context) {
    this.bytesAxis(context);
    this.stepsAxis(context);
    this.inPlot(context, () => this.drawLive(context));
    const labels = [];
    for (const line of this.steps.lines) {
      const columns = pixelColumns(this, line.bytes);
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
  drawReplans(context, {name, replans, bytes}) {
    const shown = this.view.allocator === null || this.view.allocator === name;
    if (!shown) return;
    context.fillStyle = styleOf('accent');
    context.strokeStyle = styleOf('surface');
    let last = -Infinity;
    for (const [point] of replans) {
      const x = this.x(point * bytes.per + this.steps.first);
      if (x < this.left || x > this.right || x - last < kReplanPixels) continue;
      last = x;
      const y = this.y(Number.isNaN(bytes.most[point]) ? 0 : bytes.most[point]);
      this.triangle(context, x, y - 1, 10);
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
          label: `Over the same steps: ${steps.lengths_name}`
        },
        steps, view);
    this.most = steps.lengths.map(({values}) => largest(values.most.filter(isMeasured), 1));
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
    const [x, middle] = this.isNarrow ? [this.left + 6, bottom - 10] :
                                        [this.right + 15, (top + bottom) / 2];
    this.text(context, name, x, middle, {colour: 'ink'});
  }
}

function stepsReading({lines, count, per}) {
  const points = per === 1 ? [] : [`Each point stands for ${formatCount(per)} steps.`];
  const planned = lines.filter((line) => line.replans.length > 0);
  const sum = (replans) => replans.reduce((total, [, plans]) => total + plans, 0);
  const told = planned.map(({name, replans, bytes}) => {
    const early = replans.filter(([point]) => point * bytes.per < count / 10);
    return `Re-plans of ${name}: ${formatCount(sum(replans))}, of which ` +
        `${formatCount(sum(early))} in the first tenth of the steps; ▲ marks each on its line.`;
  });
  return [...points, ...told].join(' ');
}

function fillStepsLegend(steps, view) {
  fillLegend(byId('steps-legend'), steps.lines.map(allocatorEntry), view, 'allocator');
  if (steps.live.steps > 0)
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
    byId('lengths-name').textContent = steps.lengths_name;
    new StepsLengthsChart(byId('lengths-chart'), steps, view);
  }
  fillZoom(
      view, 'steps-',
      () => `steps ${formatCount(Math.floor(view.from))} to ` +
          `${formatCount(Math.min(Math.ceil(view.to), steps.last) - 1)} of ${formatCount(steps.last - 1)}`);
  return {steps, view, memory};
}
