// A chart with a cursor: a vertical line at one value of the x axis, which follows the pointer and
// the arrow keys, and a tooltip that tells the values there. The cursor is an index of `places`,
// ascending values of the axis, unless a subclass gives other
//
//   cursorAt(pixel)     the cursor nearest to a place
//   movedCursor(way)    the next one to the left (−1) or right (1)
//   isCursor(cursor)    false beside the data
//   valueOf(cursor)     its place on the x axis
//
// A subclass gives tooltipAt(cursor), the content.

class CursorChart extends Chart {
  constructor(host, options) {
    super(host, options);
    Object.assign(this, {cursor: null, cursorColour: 'soft'});
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
  get count() {
    return this.places.length;
  }
  cursorAt(pixel) {
    const away = this.places.map((value) => Math.abs(this.x(value) - pixel));
    return away.indexOf(Math.min(...away));
  }
  movedCursor(way) {
    return Math.min(Math.max((this.cursor ?? -1) + way, 0), this.count - 1);
  }
  isCursor() {
    return true;
  }
  valueOf(cursor) {
    return this.places[cursor];
  }
  drawMarks(context) {
    if (this.cursor === null) return;
    const x = this.x(this.valueOf(this.cursor));
    this.rule(context, x, this.top, x, this.bottom, {colour: this.cursorColour});
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

// The x axis has equal parts, numbered from 0 to below `to`; the cursor is one of them.
class PartsChart extends CursorChart {
  get count() {
    return this.to;
  }
  cursorAt(pixel) {
    return Math.floor(this.valueAtX(pixel));
  }
  isCursor(part) {
    return part >= 0 && part < this.to;
  }
  valueOf(part) {
    return part + 0.5;
  }
}
