// The skyline over time after a step: placed blocks, the chosen line and the wasted areas.

const kBlockColours = [
  'input', 'activation', 'gradient', 'workspace', 'parameter', 'parameter-gradient', 'optimizer',
  'state'
];

class ExplanationChart extends Chart {
  constructor(host, story, onBlock) {
    super(host, {
      height: 470,
      label: 'Blocks over ticks and addresses, and the skyline above them',
      margin: {left: 78, right: 116, top: 18, bottom: 30}
    });
    this.story = story;
    this.number = 0;  // of the shown step; 0: before the first
    this.hovered = null;
    this.from = story.first;
    this.to = story.last;
    this.low = 0;
    this.high = 1.06 * Math.max(story.peak, 1);
    this.base.addEventListener('pointermove', (event) => this.point(event));
    this.base.addEventListener('pointerleave', () => this.unpoint());
    this.base.addEventListener('click', (event) => {
      const block = this.blockAt(event.offsetX, event.offsetY);
      if (block !== null) onBlock(block);
    });
  }

  show(number) {
    this.number = number;
    this.unpoint();
    this.paint();
  }
  get step() {
    return this.number === 0 ? null : this.story.steps[this.number - 1];
  }
  colourOf(block) {
    return block.category ? cssName(block.category) :
                            kBlockColours[block.index % kBlockColours.length];
  }
  // Returns a box in pixels, with a seam if there is room for one.
  box({lower, upper, offset}, top) {
    const x = this.x(lower);
    const y = this.y(top);
    const width = Math.max(this.x(upper) - x, 0.75);
    const height = Math.max(this.y(offset) - y, 0.75);
    const seam = (side) => (side > 4 ? 1 : 0);
    return {x, y: y + seam(height), width: width - seam(width), height: height - seam(height)};
  }
  boxOf(block) {
    return this.box(block, block.offset + block.rounded);
  }

  drawBase(context) {
    this.bytesAxis(context);
    this.countAxis(context, 'ticks');
    this.inPlot(context, () => {
      this.drawWasted(context);
      for (const block of this.story.blocks) {
        if (block.placed <= this.number) this.drawBlock(context, block);
      }
    });
    this.drawBounds(context);
    this.drawSkyline(context);
    this.drawStep(context);
  }

  drawBlock(context, block) {
    const {x, y, width, height} = this.boxOf(block);
    const colour = styleOf(this.colourOf(block));
    context.fillStyle = colour;
    context.fillRect(x, y, width, height);
    if (width < 12 || height < 13) return;
    const name = [block.layer ? `${block.id} · ${block.layer}` : block.id, block.id].find(
        (words) => context.measureText(words).width <= width - 6);
    if (name === undefined) return;
    this.text(context, name, x + width / 2, y + height / 2 + 0.5,
              {align: 'center', colour: inkOn(colour)});
  }

  drawWasted(context) {
    context.strokeStyle = styleOf('wasted');
    context.lineWidth = 1;
    for (const area of this.story.wasted) {
      if (area.step > this.number) continue;
      const box = this.box(area, area.top);
      this.inBox(context, box, () => this.hatch(context, box));
    }
  }
  // Hatches a box with diagonals that continue those of its neighbours.
  hatch(context, {x, y, width, height}) {
    const spacing = 7;
    const bottom = y + height;
    const first = Math.floor((x - height + bottom) / spacing) * spacing - bottom;
    context.beginPath();
    for (let at = first; at < x + width; at += spacing) {
      context.moveTo(at, bottom);
      context.lineTo(at + height, y);
    }
    context.stroke();
  }

  drawBounds(context) {
    const {peak, lower_bound: bound} = this.story;
    const y = this.y(bound);
    this.rule(context, this.left, y, this.right, y, {colour: 'bad', width: 1.5, dash: [5, 3]});
    const highest = this.story.blocks.reduce(
        (most, b) => (b.placed <= this.number ? Math.max(most, b.offset + b.rounded) : most), 0);
    const labels = [{y, name: 'lower bound', bytes: bound, colour: 'bad'}];
    if (highest > 0) {
      const name = highest === peak ? 'peak' : 'so far';
      labels.push({y: this.y(highest), name, bytes: highest, colour: 'accent'});
    }
    labels.sort((a, b) => a.y - b.y);
    labels.forEach((label, i) => {
      const above = i === 0 ? -Infinity : labels[i - 1].y + 32;
      label.y = Math.max(label.y, above);
      this.lineName(context, label.y, label.name, label.bytes, label.colour);
    });
  }

  drawSkyline(context) {
    const lines = this.story.lines.filter(({from, to}) => from <= this.number && this.number < to)
                      .sort((a, b) => a.lower - b.lower);
    context.save();
    context.strokeStyle = styleOf('skyline');
    context.lineWidth = 2.5;
    context.beginPath();
    lines.forEach((line, i) => {
      context[i === 0 ? 'moveTo' : 'lineTo'](this.x(line.lower), this.y(line.offset));
      context.lineTo(this.x(line.upper), this.y(line.offset));
    });
    context.stroke();
    context.restore();
  }

  // Draws the line that the step chose and what the step did there.
  drawStep(context) {
    if (this.step === null) return;
    const {line, act} = this.step;
    const y = this.y(line.offset);
    this.rule(context, this.x(line.lower), y, this.x(line.upper), y, {colour: 'chosen', width: 5});
    if (act === 'place') return this.outline(context, this.story.blocks[this.step.block], 'chosen');
    const {merged} = this.step;
    const top = this.y(merged.offset);
    this.rule(
        context, this.x(merged.lower), top, this.x(merged.upper), top,
        {colour: 'chosen', width: 3, dash: [6, 4]});
    const middle = (this.x(line.lower) + this.x(line.upper)) / 2;
    this.rule(context, middle, y, middle, top, {colour: 'chosen', width: 2});
    context.save();
    context.fillStyle = styleOf('chosen');
    this.triangle(context, middle, top + 1, 8);
    context.restore();
  }
  outline(context, block, colour) {
    const {x, y, width, height} = this.boxOf(block);
    context.save();
    context.strokeStyle = styleOf(colour);
    context.lineWidth = 3;
    context.strokeRect(x - 0.5, y - 0.5, width + 1, height + 1);
    context.restore();
  }

  drawMarks(context) {
    if (this.hovered !== null) this.outline(context, this.hovered, 'ink');
  }

  blockAt(x, y) {
    const tick = this.valueAtX(x);
    const address = this.valueAtY(y);
    return this.story.blocks.find(
               (b) => b.placed <= this.number && b.lower <= tick && tick < b.upper &&
                   b.offset <= address && address < b.offset + b.rounded) ??
        null;
  }
  point({offsetX, offsetY, clientX, clientY}) {
    const block = this.blockAt(offsetX, offsetY);
    if (block !== this.hovered) {
      this.hovered = block;
      this.paintMarks();
    }
    if (block === null) return hideTooltip();
    showTooltip(tooltipContent(this.colourOf(block), block.id, describeBlock(block)), clientX,
                clientY);
  }
  unpoint() {
    hideTooltip();
    if (this.hovered === null) return;
    this.hovered = null;
    this.paintMarks();
  }
}

function describeBlock(block) {
  const rounded = block.rounded === block.bytes ? '' : `, rounded ${formatBytes(block.rounded)}`;
  return [
    ['layer', block.layer ?? ''],
    ['op', block.op ?? ''],
    ['category', block.category ?? ''],
    ['size', `${formatBytes(block.bytes)}${rounded}`],
    ['lifetime', `[${formatCount(block.lower)}, ${formatCount(block.upper)})`],
    ['offset', `${formatCount(block.offset)} (${formatBytes(block.offset)})`],
    ['placed', `step ${formatCount(block.placed)}`],
  ];
}
