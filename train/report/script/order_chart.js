// Bytes alive while each op runs, in one order of a step. Two such charts share a scale and the op
// under the pointer.

class OrderChart extends PartsChart {
  // `onOp` is told the op under the pointer, or null.
  constructor(host, label, onOp) {
    super(host, {height: 330, label, margin: {left: 78, right: 46, top: 22, bottom: 30}});
    Object.assign(this, {low: 0, high: 1, from: 0, to: 0, step: null, onOp, cursorColour: 'ink'});
  }

  // `curve` is {bytes, order}; `high` the top of the scale.
  show(step, curve, high) {
    Object.assign(this, {step, curve, high, to: curve.bytes.length, cursor: null});
    this.placeOf = new Map(curve.order.map((op, place) => [op, place]));
    this.peak = largest(curve.bytes, 0);
    this.paint();
  }
  mark(op) {
    this.cursor = op === null ? null : this.placeOf.get(op);
    this.paintMarks();
  }
  nameOf(op) {
    return `op ${op} (${this.step.names[op]})`;
  }

  drawBase(context) {
    if (this.step === null) return;
    this.bytesAxis(context);
    this.inPlot(context, () => this.drawCurve(context));
    this.countAxis(context, 'ops');
    this.drawBound(context);
    this.drawPeak(context);
  }
  drawCurve(context) {
    const {bytes} = this.curve;
    const resident = this.y(this.step.resident_bytes);
    context.fillStyle = styleOf('state');
    context.globalAlpha = 0.5;
    context.fillRect(this.left, resident, this.right - this.left, this.bottom - resident);
    context.fillStyle = styleOf('activation');
    context.globalAlpha = 0.72;
    context.beginPath();
    context.moveTo(this.left, resident);
    bytes.forEach((value, place) => {
      context.lineTo(this.x(place), this.y(value));
      context.lineTo(this.x(place + 1), this.y(value));
    });
    context.lineTo(this.right, resident);
    context.closePath();
    context.fill();
    context.globalAlpha = 1;
  }
  drawBound(context) {
    const y = Math.round(this.y(this.step.lower_bound)) + 0.5;
    this.rule(context, this.left, y, this.right, y, {colour: 'good', width: 1.5, dash: [6, 4]});
  }
  drawPeak(context) {
    const place = this.curve.bytes.indexOf(this.peak);
    const bytes = formatBytes(this.peak);
    const whole = `${bytes} at ${this.step.names[this.curve.order[place]]}`;
    const fits = context.measureText(whole).width <= this.width - this.left;
    const words = fits ? whole : bytes;
    const half = context.measureText(words).width / 2;
    const x = Math.min(Math.max(this.x(place + 0.5), this.left + half), this.width - half);
    this.text(context, words, x, this.y(this.peak) - 12, {align: 'center', colour: 'ink'});
  }

  tooltipAt(place) {
    return tooltipContent(null, this.nameOf(this.curve.order[place]), [
      ['Runs as', `${formatCount(place + 1)} of ${formatCount(this.to)}`],
      ['Alive', formatBytes(this.curve.bytes[place])],
    ]);
  }
  visit(place, clientX, clientY) {
    if (this.isCursor(place)) this.onOp(this.curve.order[place]);
    return super.visit(place, clientX, clientY);
  }
  leave() {
    this.onOp(null);
    hideTooltip();
  }
}
