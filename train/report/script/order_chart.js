// Bytes alive while each op runs, in one order of a step. Two such charts share a scale and the op
// under the pointer.

class OrderChart extends Chart {
  // `onOp` is told the op under the pointer, or null.
  constructor(host, label, onOp) {
    super(host, {height: 330, label, margin: {left: 78, right: 46, top: 22, bottom: 30}});
    this.low = 0;
    this.high = 1;
    this.from = 0;
    this.to = 1;
    this.step = null;
    this.op = null;
    this.onOp = onOp;
    this.base.addEventListener('pointermove', (event) => {
      this.visit(Math.floor(this.valueAtX(event.offsetX)), event.clientX, event.clientY);
    });
    for (const type of ['pointerleave', 'blur'])
      this.base.addEventListener(type, () => this.leave());
    this.base.addEventListener('keydown', (event) => {
      const way = {ArrowLeft: -1, ArrowRight: 1}[event.key];
      if (way === undefined || this.step === null) return;
      event.preventDefault();
      const at = this.op === null ? -1 : this.placeOf.get(this.op);
      const place = Math.min(Math.max(at + way, 0), this.to - 1);
      const box = this.base.getBoundingClientRect();
      announce(this.visit(place, box.left + this.x(place), box.top + 30));
    });
  }

  // `curve` is {bytes, order}; `high` the top of the scale.
  show(step, curve, high) {
    Object.assign(this, {step, curve, high, to: curve.bytes.length, op: null});
    this.placeOf = new Map(curve.order.map((op, place) => [op, place]));
    this.peak = largest(curve.bytes, 0);
    this.paint();
  }
  mark(op) {
    this.op = op;
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
  drawMarks(context) {
    if (this.op === null) return;
    const x = this.x(this.placeOf.get(this.op) + 0.5);
    this.rule(context, x, this.top, x, this.bottom, {colour: 'ink'});
  }

  visit(place, clientX, clientY) {
    if (this.step === null || place < 0 || place >= this.to) return this.leave();
    const op = this.curve.order[place];
    this.onOp(op);
    const content = tooltipContent(null, this.nameOf(op), [
      ['Runs as', `${formatCount(place + 1)} of ${formatCount(this.to)}`],
      ['Alive', formatBytes(this.curve.bytes[place])],
    ]);
    showTooltip(content, clientX, clientY);
    return content;
  }
  leave() {
    this.onOp(null);
    hideTooltip();
  }
}
