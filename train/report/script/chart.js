// A chart on two layers: `base` is drawn when range or size change, `marks` (pointer, brush) on
// every move. Coordinates are CSS pixels; the plot lies within the margins.

const kNarrowPixels = 560;
const kNarrowLeft = 62;
const kNarrowRight = 16;

class Chart {
  constructor(host, {height, label, margin}) {
    Object.assign(this, {host, height, margin, width: 0});
    host.style.height = `${height}px`;
    this.layers = ['base', 'marks'].map(
        (name) => host.appendChild(
            element('canvas', {className: name, tabIndex: name === 'base' ? 0 : -1})));
    this.base = this.layers[0];
    this.base.setAttribute('role', 'img');
    this.base.setAttribute('aria-label', label);
    this.layers[1].setAttribute('aria-hidden', 'true');
    new ResizeObserver(() => this.resize()).observe(host);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.paint());
  }

  // On a narrow screen the labels beside the plot leave it their room.
  get isNarrow() {
    return this.width < kNarrowPixels;
  }
  get left() {
    return this.isNarrow ? Math.min(this.margin.left, kNarrowLeft) : this.margin.left;
  }
  get right() {
    return this.width - (this.isNarrow ? Math.min(this.margin.right, kNarrowRight) : this.margin.right);
  }
  get top() {
    return this.margin.top;
  }
  get bottom() {
    return this.height - this.margin.bottom;
  }

  resize() {
    this.width = this.host.clientWidth;
    const ratio = window.devicePixelRatio || 1;
    this.contexts = this.layers.map((canvas) => {
      canvas.width = Math.round(this.width * ratio);
      canvas.height = Math.round(this.height * ratio);
      const context = canvas.getContext('2d');
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      return context;
    });
    this.paint();
  }
  paint() {
    this.paintBase();
    this.paintMarks();
  }
  paintBase() {
    this.onLayer(0, (context) => this.drawBase(context));
  }
  paintMarks() {
    this.onLayer(1, (context) => this.drawMarks(context));
  }
  onLayer(layer, draw) {
    if (this.width <= 0) return;  // not laid out yet; resize() will be called again
    const context = this.contexts[layer];
    context.clearRect(0, 0, this.width, this.height);
    this.setUp(context);
    draw(context);
  }
  setUp(context) {
    context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    context.textBaseline = 'middle';
    context.lineJoin = 'round';
  }

  // Opens the base layer as an SVG picture in a new tab, where the browser can save it.
  openAsSvg() {
    const context = new SvgContext(this.contexts[0]);
    this.setUp(context);
    this.drawBase(context);
    const svg = context.picture(this.width, this.height, this.base.getAttribute('aria-label'));
    open(URL.createObjectURL(new Blob([svg], {type: 'image/svg+xml'})));
  }

  // Map values in [from, to] and [low, high] to pixels, and back.
  x(value) {
    return this.left + (value - this.from) / (this.to - this.from) * (this.right - this.left);
  }
  y(value) {
    return this.bottom - (value - this.low) / (this.high - this.low) * (this.bottom - this.top);
  }
  valueAtX(pixel) {
    return this.from + (pixel - this.left) / (this.right - this.left) * (this.to - this.from);
  }
  valueAtY(pixel) {
    return this.low + (this.bottom - pixel) / (this.bottom - this.top) * (this.high - this.low);
  }

  // Draws only within the plot, or within a box.
  inPlot(context, draw) {
    const width = this.right - this.left;
    const height = this.bottom - this.top;
    this.inBox(context, {x: this.left, y: this.top, width, height}, draw);
  }
  inBox(context, {x, y, width, height}, draw) {
    context.save();
    context.beginPath();
    context.rect(x, y, width, height);
    context.clip();
    draw();
    context.restore();
  }
  text(context, words, x, y, {align = 'left', colour = 'soft', bold = false} = {}) {
    context.save();
    context.fillStyle = colour.startsWith('#') ? colour : styleOf(colour);
    context.textAlign = align;
    if (bold) context.font = `600 ${context.font}`;
    context.fillText(words, x, y);
    context.restore();
  }
  // Draws a line through points in pixels; null is a gap.
  line(context, points, {colour, width = 1, dash = []}) {
    context.save();
    context.strokeStyle = styleOf(colour);
    context.lineWidth = width;
    context.setLineDash(dash);
    context.beginPath();
    let pen = false;
    for (const point of points) {
      if (point !== null) context[pen ? 'lineTo' : 'moveTo'](...point);
      pen = point !== null;
    }
    context.stroke();
    context.restore();
  }
  rule(context, x0, y0, x1, y1, style) {
    this.line(context, [[x0, y0], [x1, y1]], style);
  }
  // Fills a triangle whose tip is at a point, `down` pixels above its base.
  triangle(context, x, y, down) {
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x - 5, y + down);
    context.lineTo(x + 5, y + down);
    context.closePath();
    context.fill();
  }
  // Draws a square around each point; `half` is half its side.
  dots(context, points, half, colour) {
    context.save();
    context.fillStyle = styleOf(colour);
    for (const [x, y] of points) context.fillRect(x - half, y - half, 2 * half, 2 * half);
    context.restore();
  }

  // Grid and labels, in steps of 1, 2 or 5 (bytes: powers of two) that leave room for the labels.
  valueAxis(context, format, nice = niceStep, pixels = 32) {
    const step = nice((this.high - this.low) / Math.max(2, (this.bottom - this.top) / pixels));
    for (let value = Math.ceil(this.low / step) * step; value <= this.high; value += step) {
      const y = Math.round(this.y(value)) + 0.5;
      this.rule(context, this.left, y, this.right, y, {colour: value === 0 ? 'line' : 'grid'});
      this.text(context, format(value), this.left - 8, y, {align: 'right'});
    }
  }
  bytesAxis(context) {
    this.valueAxis(context, formatBytes, niceByteStep, 44);
  }
  countAxis(context, name) {
    const step =
        Math.max(1, niceStep((this.to - this.from) / Math.max(2, (this.right - this.left) / 90)));
    for (let value = Math.ceil(this.from / step) * step; value <= this.to; value += step)
      this.markOnAxis(context, value, formatCount(value));
    this.axisName(context, name, 26);
  }
  // Marks a value on the x axis; the label stays within the chart.
  markOnAxis(context, value, label) {
    const x = Math.round(this.x(value)) + 0.5;
    this.rule(context, x, this.bottom, x, this.bottom + 5, {colour: 'line'});
    const rightmost = this.width - context.measureText(label).width / 2;
    this.text(context, label, Math.min(x, rightmost), this.bottom + 15, {align: 'center'});
  }
  // Steps have larger numbers.
  stepsAxis(context) {
    this.countAxis(context, '');
    this.axisName(context, 'steps', 36);
  }
  // The name of the x axis, `away` to the right to be clear of the last number, or, on a narrow
  // screen, below the other axis.
  axisName(context, name, away) {
    const y = this.bottom + 15;
    if (this.isNarrow) return this.text(context, name, this.left - 16, y, {align: 'right'});
    this.text(context, name, this.right + away, y);
  }
  // Names a horizontal line at its end, or, on a narrow screen, above it.
  lineName(context, y, name, bytes, colour, below = false) {
    if (this.isNarrow) {
      const words = `${name} ${formatBytes(bytes)}`;
      return this.text(context, words, this.right - 4, y + (below ? 9 : -8), {align: 'right', colour});
    }
    this.text(context, name, this.right + 10, y + (below ? 9 : -5), {colour});
    this.text(context, formatBytes(bytes), this.right + 10, y + (below ? 23 : 9));
  }
}

function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].find((factor) => factor * power >= least * 0.999) * power;
}

function niceByteStep(least) {
  return 2 ** Math.ceil(Math.log2(Math.max(least, 1)));
}
