// A chart with a cursor: a vertical line at one value of the x axis, which follows the pointer and
// the arrow keys, and a tooltip that tells the values there. A subclass gives
//
//   cursorAt(pixel)     the cursor nearest to a place
//   movedCursor(way)    the next one to the left (−1) or right (1)
//   isCursor(cursor)    false beside the data
//   valueOf(cursor)     its place on the x axis, the cursor itself by default
//   tooltipAt(cursor)   content

class CursorChart extends Chart {
  constructor(host, options) {
    super(host, options);
    this.cursor = null;
    this.base.addEventListener('pointermove', (event) => {
      this.visit(this.cursorAt(event.offsetX), event.clientX, event.clientY);
    });
    for (const type of ['pointerleave', 'blur'])
      this.base.addEventListener(type, () => this.leave());
    this.base.addEventListener('keydown', (event) => {
      const way = {ArrowLeft: -1, ArrowRight: 1}[event.key];
      if (way === undefined) return;
      event.preventDefault();
      const cursor = this.movedCursor(way);
      const box = this.base.getBoundingClientRect();
      announce(this.visit(cursor, box.left + this.x(this.valueOf(cursor)), box.top + 20));
    });
  }
  // The place in a list of the value whose x is the nearest.
  nearest(values, pixel) {
    const away = values.map((value) => Math.abs(this.x(value) - pixel));
    return away.indexOf(Math.min(...away));
  }
  isCursor() {
    return true;
  }
  valueOf(cursor) {
    return cursor;
  }
  drawMarks(context) {
    if (this.cursor === null) return;
    const x = this.x(this.valueOf(this.cursor));
    this.rule(context, x, this.top, x, this.bottom, {colour: 'soft'});
  }
  visit(cursor, clientX, clientY) {
    if (!this.isCursor(cursor)) return this.leave();
    this.cursor = cursor;
    this.paintMarks();
    const content = this.tooltipAt(cursor);
    showTooltip(content, clientX, clientY);
    return content;
  }
  leave() {
    this.cursor = null;
    this.paintMarks();
    hideTooltip();
  }
}
