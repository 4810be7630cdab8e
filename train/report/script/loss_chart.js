// Loss over steps. Equal curves cover each other, so the first is drawn widest and all stay visible.

class LossChart extends Chart {
  constructor(host, curves) {
    super(host, {
      height: 260,
      label: 'Loss over steps',
      margin: {left: 78, right: 70, top: 14, bottom: 30}
    });
    this.curves = curves;
    const values = curves.flatMap((curve) => curve.values).filter((value) => value !== null);
    this.from = 1;
    this.to = largest(curves.map((curve) => curve.values.length), 2);
    this.low = -largest(values.map((value) => -value), 0);
    this.high = 1.05 * largest(values, 1e-9);
    this.step = null;
    this.base.addEventListener('pointermove', (event) => {
      this.visit(Math.round(this.valueAtX(event.offsetX)), event.clientX, event.clientY);
    });
    for (const type of ['pointerleave', 'blur'])
      this.base.addEventListener(type, () => this.leave());
    this.base.addEventListener('keydown', (event) => {
      const way = {ArrowLeft: -1, ArrowRight: 1}[event.key];
      if (way === undefined) return;
      event.preventDefault();
      const step = Math.min(Math.max((this.step ?? 0) + way, 1), this.to);
      const box = this.base.getBoundingClientRect();
      announce(this.visit(step, box.left + this.x(step), box.top + 20));
    });
  }

  drawBase(context) {
    const step = niceStep((this.high - this.low) / 5);
    for (let value = Math.ceil(this.low / step) * step; value <= this.high; value += step) {
      const y = Math.round(this.y(value)) + 0.5;
      this.rule(context, this.left, y, this.right, y, {colour: 'grid'});
      this.text(context, String(Number(value.toPrecision(6))), this.left - 8, y, {align: 'right'});
    }
    this.rule(
        context, this.left, this.bottom + 0.5, this.right, this.bottom + 0.5, {colour: 'line'});
    this.countAxis(context, 'steps');
    this.curves.forEach((curve, i) => this.drawCurve(context, curve, i));
  }
  drawCurve(context, curve, index) {
    context.save();
    context.strokeStyle = styleOf(lossColourName(index));
    context.lineWidth = lossWidth(index, this.curves.length);
    context.beginPath();
    let pen = false;
    curve.values.forEach((value, i) => {
      if (value !== null) context[pen ? 'lineTo' : 'moveTo'](this.x(i + 1), this.y(value));
      pen = value !== null;
    });
    context.stroke();
    context.restore();
  }
  drawMarks(context) {
    if (this.step === null) return;
    const x = this.x(this.step);
    this.rule(context, x, this.top, x, this.bottom, {colour: 'soft'});
  }
  visit(step, clientX, clientY) {
    if (step < 1 || step > this.to) return this.leave();
    this.step = step;
    this.paintMarks();
    const content = tooltipContent(
        null, `Step ${formatCount(step)}`,
        this.curves.map(({name, values}) => [name, String(values[step - 1] ?? 'not measured')]));
    showTooltip(content, clientX, clientY);
    return content;
  }
  leave() {
    this.step = null;
    this.paintMarks();
    hideTooltip();
  }
}

const kLossColours =
    ['activation', 'gradient', 'workspace', 'parameter-gradient', 'input', 'parameter'];
const lossColourName = (index) => kLossColours[index % kLossColours.length];
const lossWidth = (index, count) => 1.6 + 2 * (count - 1 - index);
