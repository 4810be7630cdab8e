// A chart over the ticks of the step. The charts of the step share its axis, phases, pointer, brush,
// zoom and keys.

const kStepMargin = {
  left: 78,
  right: 132,
  top: 24,
  bottom: 30
};
const kPhaseLinePixels = 24;  // closer phase changes get no line
const kDragPixels = 4;        // a shorter drag is a click
const kLabelPixels = 30;      // height of a label's two lines of text

class StepChart extends Chart {
  constructor(host, options, step, view) {
    super(host, {margin: kStepMargin, ...options});
    Object.assign(this, {step, view});
    view.onRange.push(() => this.paintBase());
    view.onMarks.push(() => this.paintMarks());
    this.listen();
  }
  get from() {
    return this.view.from;
  }
  get to() {
    return this.view.to;
  }

  // Returns the block at a place, if the chart shows blocks.
  blockAt() {
    return null;
  }
  drawPhases(context) {
    let lastLine = -kPhaseLinePixels;
    for (const run of this.step.phases) {
      const from = Math.max(this.left, this.x(run.from));
      const to = Math.min(this.right, this.x(run.to));
      if (to <= from) continue;
      const y = this.top - 8;
      this.rule(context, from + 1, y, to - 1, y, {colour: 'line', width: 2});
      if (run.from > this.from && from - lastLine >= kPhaseLinePixels) {
        lastLine = from;
        this.rule(context, from, y, from, this.bottom, {colour: 'line', dash: [2, 3]});
      }
      if (to - from > context.measureText(run.name).width + 8) {
        this.text(context, run.name, (from + to) / 2, y - 8, {align: 'center'});
      }
    }
  }

  // Draws names at the ends of lines, pushed apart so that they do not overlap. A narrow screen has
  // no room for them; the legend says the same.
  drawLabels(context, labels) {
    if (this.isNarrow) return;
    labels.sort((a, b) => a.y - b.y);
    const places = labels.map((label) => label.y);
    for (let i = 1; i < places.length; ++i)
      places[i] = Math.max(places[i], places[i - 1] + kLabelPixels);
    let floor = this.bottom - kLabelPixels / 4;
    for (let i = places.length - 1; i >= 0; --i, floor -= kLabelPixels)
      places[i] = Math.min(places[i], floor);
    labels.forEach(({y, name, bytes, colour, bold, note}, i) => {
      this.rule(context, this.right, y, this.right + 12, places[i], {colour: 'line'});
      this.text(context, name, this.right + 15, places[i] - 7, {colour, bold});
      this.text(context, note ?? formatBytes(bytes), this.right + 15, places[i] + 7);
    });
  }

  drawMarks(context) {
    const {tick, brush} = this.view;
    if (brush !== null) {
      const [from, to] = [...brush].sort((a, b) => a - b).map((value) => this.x(value));
      context.globalAlpha = 0.16;
      context.fillStyle = styleOf('accent');
      context.fillRect(from, this.top, to - from, this.bottom - this.top);
      context.globalAlpha = 1;
    }
    if (tick === null || tick < this.from || tick > this.to) return;
    const x = Math.round(this.x(tick)) + 0.5;
    this.rule(context, x, this.top, x, this.bottom, {colour: 'soft'});
  }

  listen() {
    const canvas = this.base;
    let start = null;  // where a drag began
    const at = (event) => this.valueAtX(event.offsetX);
    const clamp = (tick) => Math.min(Math.max(tick, this.view.from), this.view.to);
    canvas.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      start = {tick: clamp(at(event)), x: event.offsetX};
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (start !== null && Math.abs(event.offsetX - start.x) >= kDragPixels) {
        hideTooltip();
        this.view.mark({tick: null, block: null, brush: [start.tick, clamp(at(event))]});
      } else {
        this.point(event.offsetX, event.offsetY, event.clientX, event.clientY);
      }
    });
    const finish = (event) => {
      const brush = this.view.brush;
      start = null;
      this.view.mark({brush: null});
      if (event.type !== 'pointerup') return;
      if (brush !== null) return this.view.show(Math.min(...brush), Math.max(...brush));
      const block = this.blockAt(Math.floor(at(event)), event.offsetY);
      if (block !== null) this.view.select(block);
    };
    canvas.addEventListener('pointerup', finish);
    canvas.addEventListener('pointercancel', finish);
    canvas.addEventListener('pointerleave', () => this.unpoint());
    canvas.addEventListener('blur', () => this.unpoint());
    canvas.addEventListener('dblclick', (event) => this.view.zoom(3, at(event)));
    canvas.addEventListener('wheel', (event) => {
      if (!event.ctrlKey && !event.metaKey) return;  // the wheel alone scrolls the page
      event.preventDefault();
      this.view.zoom(2 ** (event.deltaY / 240), at(event));
    }, {passive: false});
    canvas.addEventListener('keydown', (event) => this.key(event));
  }

  // Shows the tooltip for a point of the chart beside the pointer.
  point(x, y, clientX, clientY) {
    const inside = x >= this.left && x <= this.right && y >= this.top && y <= this.bottom;
    if (!inside) return this.unpoint();
    const tick = Math.floor(this.valueAtX(x));
    const block = this.blockAt(tick, y);
    this.view.mark({tick, block});
    showTooltip(this.describe(tick, block), clientX, clientY);
  }
  unpoint() {
    hideTooltip();
    this.view.mark({tick: null, block: null});
  }

  key(event) {
    const way = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (way !== undefined && event.shiftKey)
      this.view.move(0.2 * way);
    else if (way !== undefined)
      this.walk(way);
    else if (event.key === '+' || event.key === '=')
      this.view.zoom(0.5);
    else if (event.key === '-')
      this.view.zoom(2);
    else if (event.key === 'Enter' && this.view.block !== null)
      this.view.select(this.view.block);
    else if (event.key === 'Escape') {
      this.unpoint();
      this.view.whole();
    } else
      return;
    event.preventDefault();
  }
  // Moves the keyboard's cursor to a tick or block: shows its tooltip and announces it.
  visit(tick, block, y) {
    this.view.mark({tick, block});
    const box = this.base.getBoundingClientRect();
    const content = this.describe(tick, block);
    showTooltip(content, box.left + this.x(tick), box.top + y);
    announce(content);
  }
}
