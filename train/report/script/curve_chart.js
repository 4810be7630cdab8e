// Curves over the steps of a run: losses, and the figures of evaluations. Equal curves cover each
// other, so the first is drawn widest and all stay visible.

const kDotPixels = 2.6;  // radius of the dot of an evaluation
const kMostDots = 200;   // more would be a second, thicker line

// A curve is {name, xs, ys, width, colour, dots, valueAt}: ascending steps and their values, null
// for a gap, and valueAt(step) for the tooltip as {value, note}.
class CurveChart extends CursorChart {
  constructor(host, {label, height, curves, last, format}) {
    super(host, {height, label, margin: {left: 78, right: 70, top: 14, bottom: 30}});
    this.curves = curves;
    this.format = format;
    const values = curves.flatMap((curve) => curve.ys).filter((value) => value !== null);
    this.from = 1;
    this.to = Math.max(last, 2);
    this.low = -largest(values.map((value) => -value), 0);
    this.high = 1.05 * largest(values, 0) || 1;  // a curve of zeros
  }
  // The keyboard's cursor moves by a pixel or a step.
  get stride() {
    return Math.max(1, Math.round((this.to - this.from) / (this.right - this.left)));
  }

  drawBase(context) {
    this.valueAxis(context, (value) => this.format(Number(value.toPrecision(6))));
    this.rule(
        context, this.left, this.bottom + 0.5, this.right, this.bottom + 0.5, {colour: 'line'});
    this.stepsAxis(context);
    this.curves.forEach((curve) => this.drawCurve(context, curve));
  }
  drawCurve(context, {xs, ys, colour, width, dots}) {
    const points = ys.map((value, i) => (value === null ? null : [this.x(xs[i]), this.y(value)]));
    this.line(context, points, {colour, width});
    if (!dots || xs.length > kMostDots) return;
    this.dots(context, points.filter((point) => point !== null), kDotPixels, colour);
  }
  cursorAt(pixel) {
    return Math.round(this.valueAtX(pixel));
  }
  movedCursor(way) {
    return Math.min(Math.max((this.cursor ?? 0) + way * this.stride, 1), this.to);
  }
  isCursor(step) {
    return step >= 1 && step <= this.to;
  }
  valueOf(step) {
    return step;
  }
  tooltipAt(step) {
    const rows = this.curves.map(({name, valueAt}) => {
      const {value, note} = valueAt(step);
      return [name + note, value === null ? 'not measured' : this.format(value)];
    });
    return tooltipContent(null, `Step ${formatCount(step)}`, rows);
  }
}

const kCurveColours =
    ['activation', 'gradient', 'workspace', 'parameter-gradient', 'input', 'parameter'];
const curveColour = (index) => kCurveColours[index % kCurveColours.length];
const curveWidth = (index, count) => 1.6 + 2 * (count - 1 - index);
