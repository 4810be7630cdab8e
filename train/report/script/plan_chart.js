// The plan: each block is a rectangle as wide as its lifetime and as high as its bytes.

class PlanChart extends StepChart {
  constructor(host, step, view) {
    super(
        host, {height: 460, label: 'The plan: blocks as rectangles over ticks and addresses'}, step,
        view);
    this.low = 0;
    this.high = 1.05 * Math.max(step.plan.peak, 1);
    this.byCategory =
        step.present.map((category) => step.blocks.filter((b) => b.category === category));
  }

  drawBase(context) {
    this.bytesAxis(context);
    this.countAxis(context, 'ticks');
    this.drawPhases(context);
    this.inPlot(context, () => {
      for (const blocks of this.byCategory) this.drawBlocks(context, blocks);
    });
    this.drawPeaks(context);
  }

  // Returns a box in pixels, never too thin to be seen, with a seam if there is room for one.
  box(block) {
    const x = this.x(block.lower);
    const width = Math.max(this.x(block.upper) - x, 0.75);
    const height =
        Math.max(block.rounded / (this.high - this.low) * (this.bottom - this.top), 0.75);
    const seam = (side) => (side > 4 ? 0.8 : 0);
    return {
      x,
      y: this.y(block.offset) - height + seam(height),
      width: width - seam(width),
      height: height - seam(height)
    };
  }
  isShown(block) {
    return block.upper > this.from && block.lower < this.to;
  }

  drawBlocks(context, blocks) {
    const category = blocks[0].category;
    const colour = styleOf(cssName(this.step.categories[category]));
    const outstanding = this.view.category === null || this.view.category === category;
    const labelled = [];
    context.globalAlpha = outstanding ? 1 : 0.14;
    context.fillStyle = colour;
    for (const block of blocks) {
      if (!this.isShown(block)) continue;
      const box = this.box(block);
      context.fillRect(box.x, box.y, box.width, box.height);
      if (box.width > 34 && box.height > 13) labelled.push([block, box]);
    }
    for (const [block, box] of labelled) this.drawName(context, block, box, inkOn(colour));
    context.globalAlpha = 1;
  }
  drawName(context, block, {x, y, width, height}, colour) {
    const left = Math.max(x, this.left);
    const room = Math.min(x + width, this.right) - left - 8;
    const name = [
      block.layer ? `${block.layer} · ${block.op}` : block.op, block.layer, block.op
    ].find((words) => words && context.measureText(words).width <= room);
    if (name !== undefined) this.text(context, name, left + 4, y + height / 2 + 0.5, {colour});
  }

  drawPeaks(context) {
    const {peak, lower_bound: lowerBound} = this.step.plan;
    const line = (bytes, name, colour, below) => {
      const y = this.y(bytes);
      this.rule(context, this.left, y, this.right, y, {colour, width: 1.5, dash: [5, 3]});
      this.lineName(context, y, name, bytes, colour, below);
    };
    if (peak === lowerBound) return line(peak, 'peak = lower bound', 'accent', false);
    line(peak, 'peak', 'accent', false);
    line(lowerBound, 'lower bound', 'bad', this.y(lowerBound) - this.y(peak) < 34);
  }

  drawMarks(context) {
    super.drawMarks(context);
    this.outline(context, this.view.selected, 'bad');
    this.outline(context, this.view.block, 'ink');
  }
  outline(context, block, colour) {
    if (block === null || !this.isShown(block)) return;
    const {x, y, width, height} = this.box(block);
    this.inPlot(context, () => {
      for (const [name, pixels] of [['surface', 5], [colour, 2]]) {
        context.strokeStyle = styleOf(name);
        context.lineWidth = pixels;
        context.strokeRect(x - 1, y - 1, width + 2, height + 2);
      }
    });
  }

  // Returns the block at a point, or the nearest within a few pixels, because thin ones are hard to
  // hit.
  blockAt(tick, pixelY) {
    const address = this.valueAtY(pixelY);
    const slack = 3 * (this.high - this.low) / (this.bottom - this.top);
    let best = null;
    let least = slack;
    for (const block of this.step.blocks) {
      if (tick < block.lower || tick >= block.upper) continue;
      const away = Math.max(block.offset - address, address - block.offset - block.rounded, 0);
      if (away < least) [best, least] = [block, away];
    }
    return best;
  }
  walk(way) {
    const blocks = this.step.blocks;
    const from = this.view.block?.index ??
        (way > 0 ? blocks.findIndex((b) => b.lower >= this.from) - 1 : blocks.length);
    const block = blocks[Math.min(Math.max(from + way, 0), blocks.length - 1)];
    this.view.reveal(block.lower);
    this.visit(block.lower, block, this.y(block.offset + block.rounded / 2));
  }

  describe(tick, block) {
    if (block === null) {
      return tooltipContent(null, `Tick ${formatCount(tick)}`, [
        ['phase', this.step.phaseAt(tick)],
        ['alive', formatBytes(this.step.liveAt(tick))],
        ['here', 'free at this tick'],
      ]);
    }
    const rounded = block.rounded === block.bytes ? '' : `, rounded ${formatBytes(block.rounded)}`;
    const category = this.step.categories[block.category];
    return tooltipContent(category, block.layer || block.op || `request ${block.index}`, [
      ['category', category],
      ...(block.op ? [['op', block.op]] : []),
      ['phase', block.phase],
      ['size', `${formatBytes(block.bytes)}${rounded}`],
      ['bytes', formatCount(block.bytes)],
      [
        'lifetime',
        `ticks ${formatCount(block.lower)} to ${formatCount(block.upper)} (${
            formatCount(block.upper - block.lower)})`
      ],
      ['offset', `${formatCount(block.offset)} (${formatBytes(block.offset)})`],
      ['request', `${formatCount(block.index)}${block.id ? `, “${block.id}”` : ''}`],
    ]);
  }
}
