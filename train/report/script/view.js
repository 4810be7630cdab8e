// The state that the charts of the step share: the range of ticks, the tick and block under the
// pointer, and the highlighted category. Listeners redraw the charts when it changes.

class View {
  constructor(first, last) {
    Object.assign(this, {first, last, from: first, to: last});
    this.tick = null;       // under the pointer or the keyboard's cursor
    this.block = null;      // likewise, in the plan
    this.selected = null;   // the block that the panel explains
    this.category = null;   // highlighted; null: none
    this.allocator = null;  // highlighted; null: none
    this.brush = null;      // [from, to] during a drag
    this.onRange = [];
    this.onMarks = [];
    this.onSelect = [];
    this.pending = new Set();
  }

  // Runs each listener once in the next frame, whatever the number of changes.
  tell(listeners) {
    if (this.pending.size === 0) {
      requestAnimationFrame(() => {
        const due = [...this.pending];
        this.pending.clear();
        due.forEach((listener) => listener());
      });
    }
    listeners.forEach((listener) => this.pending.add(listener));
  }
  redraw() {
    this.tell(this.onRange);
    this.tell(this.onMarks);
  }

  show(from, to) {
    const span =
        Math.min(Math.max(to - from, Math.min(4, this.last - this.first)), this.last - this.first);
    const start = Math.min(Math.max(from, this.first), this.last - span);
    Object.assign(this, {from: start, to: start + span});
    this.redraw();
  }
  whole() {
    this.show(this.first, this.last);
  }
  get isWhole() {
    return this.from <= this.first && this.to >= this.last;
  }
  // A factor below 1 zooms in. `centre` keeps its place.
  zoom(factor, centre = this.tick ?? (this.from + this.to) / 2) {
    this.show(centre - (centre - this.from) * factor, centre + (this.to - centre) * factor);
  }
  move(share) {
    const way = share * (this.to - this.from);
    this.show(this.from + way, this.to + way);
  }
  // Moves the range, if necessary, to show a tick.
  reveal(tick) {
    if (tick < this.from || tick >= this.to)
      this.move((tick - this.from) / (this.to - this.from) - 0.5);
  }
  mark(marks) {
    Object.assign(this, marks);
    this.tell(this.onMarks);
  }
  // Selects a block, and moves the range, if necessary, to show it.
  select(block) {
    this.selected = block;
    if (block.upper <= this.from || block.lower >= this.to) this.reveal(block.lower);
    this.tell(this.onMarks);
    this.onSelect.forEach((listener) => listener());
  }
  // Highlights a category or an allocator, or nothing.
  emphasise(what) {
    Object.assign(this, what);
    this.redraw();
  }
}

// Fills the buttons that zoom a view, and tells its range by `words`.
function fillZoom(view, prefix, words) {
  const button = (name) => byId(`${prefix}zoom-${name}`);
  const showRange = () => {
    byId(`${prefix}range`).textContent = words();
    button('reset').disabled = button('out').disabled = view.isWhole;
  };
  view.onRange.push(showRange);
  showRange();
  button('in').addEventListener('click', () => view.zoom(0.5));
  button('out').addEventListener('click', () => view.zoom(2));
  button('reset').addEventListener('click', () => view.whole());
}
