// Memory over ticks: resident bytes, live bytes stacked on them by category, and a line for what
// each allocator holds from the device.

const kDashes = [[7, 4], [2, 3], [9, 3, 2, 3], [14, 5], [4, 2]];  // the plan's line is solid

class MemoryChart extends StepChart {
  constructor(host, step, curves, residentBytes, view) {
    super(
        host, {
          height: 330,
          label: 'Memory over ticks: live bytes by category, reserved bytes ' +
              'of each allocator, and the lower bound'
        },
        step, view);
    this.curves =
        curves.map((curve, index) => ({
                     ...curve,
                     peak: largest(curve.reserved, 0),
                     planned: curve.name === 'planned',
                     dash: curve.name === 'planned' ? [] : kDashes[index % kDashes.length],
                   }));
    this.resident = residentBytes;
    this.lowerBound = residentBytes + step.plan.lower_bound;
    this.low = 0;
    this.high = 1.06 * largest(this.curves.map((curve) => curve.peak), this.lowerBound);
  }

  drawBase(context) {
    this.bytesAxis(context);
    this.countAxis(context, 'ticks');
    this.drawPhases(context);
    this.inPlot(context, () => this.drawLive(context));
    this.drawCurves(context);
    this.drawLowerBound(context);  // last, because the plan's line often lies on it
  }

  // Each column of pixels shows its fullest tick, so that no peak is lost among many ticks.
  columns() {
    const {ticks, totals} = this.step.live;
    const first = Math.max(0, lastAtOrBefore(ticks, this.from));
    const last = lastAtOrBefore(ticks, this.to);
    const columns = [];
    for (let i = first; i <= last; ++i) {
      const x = this.x(Math.max(ticks[i], this.from));
      const column = columns.at(-1);
      if (column && Math.floor(2 * column.x) === Math.floor(2 * x)) {
        if (totals[i] > totals[column.most]) column.most = i;
        column.end = i;
      } else {
        columns.push({x, most: i, end: i});
      }
    }
    return columns;
  }

  drawLive(context) {
    const count = this.step.categories.length;
    const columns = this.columns();
    this.drawResident(context);
    const below = new Float64Array(this.step.live.totals.length).fill(this.resident);
    for (const category of this.step.present) {
      const at = (i) => this.step.live.parts[i * count + category];
      context.fillStyle = styleOf(cssName(this.step.categories[category]));
      context.globalAlpha =
          this.view.category === null || this.view.category === category ? 0.72 : 0.14;
      this.stepArea(context, columns, (i) => below[i], (i) => below[i] + at(i));
      for (let i = 0; i < below.length; ++i) below[i] += at(i);
    }
    context.globalAlpha = 1;
  }
  drawResident(context) {
    const top = this.y(this.resident);
    context.fillStyle = styleOf('unknown');
    context.fillRect(this.left, top, this.right - this.left, this.bottom - top);
    if (this.bottom - top > 14)
      this.text(context, 'resident', this.left + 6, (top + this.bottom) / 2, {colour: 'ink'});
  }
  // Fills the area between two step functions of the profile.
  stepArea(context, columns, lower, upper) {
    const edge = (value, way) => {
      for (let k = way > 0 ? 0 : columns.length - 1; k >= 0 && k < columns.length; k += way) {
        const {x, most} = columns[k];
        const next = columns[k + 1]?.x ?? Math.min(this.right, this.x(this.step.last));
        const y = this.y(value(most));
        context.lineTo(way > 0 ? x : next, y);
        context.lineTo(way > 0 ? next : x, y);
      }
    };
    context.beginPath();
    edge(upper, 1);
    edge(lower, -1);
    context.fill();
  }

  drawLowerBound(context) {
    const y = this.y(this.lowerBound);
    this.rule(context, this.left, y, this.right, y, {colour: 'bad', width: 1.5, dash: [5, 3]});
    const x = this.x(this.step.fullestTick + 0.5);
    if (x < this.left || x > this.right) return;
    context.fillStyle = styleOf('bad');
    this.triangle(context, x, y + 1, -9);
  }

  drawCurves(context) {
    const labels =
        [{y: this.y(this.lowerBound), name: 'lower bound', bytes: this.lowerBound, colour: 'bad'}];
    for (const curve of this.curves) {
      this.inPlot(context, () => this.drawCurve(context, curve));
      const bytes = this.reservedAt(curve, this.to);
      if (bytes === null) continue;
      labels.push({
        y: this.y(bytes),
        name: curve.name,
        bytes,
        bold: this.view.allocator === curve.name,
        colour: curve.planned ? 'accent' : 'ink'
      });
    }
    this.drawLabels(context, labels);
  }
  drawCurve(context, curve) {
    const {ticks, reserved} = curve;
    const outstanding = this.view.allocator === null || this.view.allocator === curve.name;
    context.save();
    context.globalAlpha = outstanding ? 1 : 0.25;
    const points = [];
    const first = Math.max(0, lastAtOrBefore(ticks, this.from));
    for (let i = first; i < ticks.length && ticks[i] <= this.to; ++i) {
      if (i > first) points.push([this.x(ticks[i]), this.y(reserved[i - 1])]);
      points.push([this.x(ticks[i]), this.y(reserved[i])]);
    }
    const end = this.reservedAt(curve, this.to);
    if (end !== null) points.push([this.right, this.y(end)]);
    const width = curve.planned || this.view.allocator === curve.name ? 2.6 : 1.6;
    this.line(context, points, {colour: curve.planned ? 'accent' : 'ink', width, dash: curve.dash});
    context.restore();
  }
  reservedAt(curve, tick) {
    const i = lastAtOrBefore(curve.ticks, tick);
    return i < 0 ? null : curve.reserved[i];
  }

  walk(way) {
    const tick = Math.min(
        Math.max((this.view.tick ?? this.step.fullestTick - way) + way, this.view.first),
        this.view.last);
    this.view.reveal(tick);
    this.visit(tick, null, this.top + 20);
  }
  describe(tick) {
    const alive =
        this.step.blocks.reduce((count, b) => count + (b.lower <= tick && tick < b.upper), 0);
    return tooltipContent(null, `Tick ${formatCount(tick)}`, [
      ['phase', this.step.phaseAt(tick)],
      ['alive', `${formatBytes(this.step.liveAt(tick))} in ${formatCount(alive)} blocks`],
      ...(this.resident > 0 ? [['resident', formatBytes(this.resident)]] : []),
      ...this.curves.map((curve) => {
        const bytes = this.reservedAt(curve, tick);
        return [curve.name, bytes === null ? 'not measured' : `holds ${formatBytes(bytes)}`];
      }),
      ['lower bound', formatBytes(this.lowerBound)],
    ]);
  }
}
