// The lane of a run on several ranks: a bar for each sum of a bucket of gradients, over the ticks of
// the step. A bar is as long as the life of the block that holds what the other ranks send.

const kBarPixels = 18;
const kBarRowPixels = 24;

class RankLaneChart extends StepChart {
  constructor(host, step, sums, view) {
    const {top, bottom} = kStepMargin;
    super(
        host, {
          height: top + kBarRowPixels * sums.length + bottom,
          label: 'Sums of gradients over the ranks: a bar for each bucket, over ticks'
        },
        step, view);
    this.sums = sums.map(
        ([block, gradients, bytes]) => ({block: step.blocks[block], gradients, bytes}));
  }

  drawBase(context) {
    this.countAxis(context, 'ticks');
    this.drawPhases(context);
    const colour = styleOf('parameter-gradient');
    this.sums.forEach((sum, i) => {
      const box = this.box(i);
      const middle = box.y + kBarPixels / 2;
      this.text(context, `bucket ${i + 1}`, this.left - 8, middle, {align: 'right'});
      this.inPlot(context, () => {
        context.fillStyle = colour;
        context.fillRect(box.x, box.y, box.width, box.height);
        this.drawName(context, sum, box, colour);
      });
    });
  }
  box(i) {
    const {lower, upper} = this.sums[i].block;
    return {
      x: this.x(lower),
      y: this.top + kBarRowPixels * i + (kBarRowPixels - kBarPixels) / 2,
      width: Math.max(this.x(upper) - this.x(lower), 1.5),
      height: kBarPixels
    };
  }
  // The label lies in the bar, or beside it where there is room.
  drawName(context, sum, {x, y, width}, colour) {
    const from = Math.max(x, this.left);
    const to = Math.min(x + width, this.right);
    if (to <= from) return;
    const words = labelOf(sum);
    const room = context.measureText(words).width + 10;
    const middle = y + kBarPixels / 2 + 0.5;
    if (to - from >= room) return this.text(context, words, from + 5, middle, {colour: inkOn(colour)});
    if (from - this.left >= room)
      return this.text(context, words, from - 5, middle, {align: 'right', colour: 'ink'});
    this.text(context, words, to + 5, middle, {colour: 'ink'});
  }

  drawMarks(context) {
    super.drawMarks(context);
    for (const [block, colour] of [[this.view.selected, 'bad'], [this.view.block, 'ink']]) {
      const i = this.sums.findIndex((sum) => sum.block === block);
      if (i < 0) continue;
      const {x, y, width, height} = this.box(i);
      context.strokeStyle = styleOf(colour);
      context.lineWidth = 2;
      this.inPlot(context, () => context.strokeRect(x - 1, y - 1, width + 2, height + 2));
    }
  }

  blockAt(tick, pixelY) {
    const block = this.sums[Math.floor((pixelY - this.top) / kBarRowPixels)]?.block;
    return block !== undefined && block.lower <= tick && tick < block.upper ? block : null;
  }
  walk(way) {
    const last = this.sums.length - 1;
    const from = this.sums.findIndex((sum) => sum.block === this.view.block);
    const next = from < 0 ? (way > 0 ? 0 : last) : Math.min(Math.max(from + way, 0), last);
    const {block} = this.sums[next];
    this.view.reveal(block.lower);
    this.visit(block.lower, block, this.box(next).y);
  }
  describe(tick, block) {
    const i = this.sums.findIndex((sum) => sum.block === block);
    if (i < 0) {
      const running = this.sums.filter(({block: {lower, upper}}) => lower <= tick && tick < upper);
      return tooltipContent(null, `Tick ${formatCount(tick)}`, [
        ['phase', this.step.phaseAt(tick)],
        ['sums begun', formatCount(running.length)],
      ]);
    }
    const {gradients, bytes} = this.sums[i];
    return tooltipContent('parameter gradient', `Bucket ${i + 1}`, [
      ['gradients', formatCount(gradients)],
      ['bytes', formatBytes(bytes)],
      ['begins', `tick ${formatCount(block.lower)}`],
      ['waited for', `before tick ${formatCount(block.upper)}`],
      ['room for other ranks', formatBytes(block.bytes)],
    ]);
  }
}

const labelOf = ({gradients, bytes}) =>
    `${formatCount(gradients)} gradient${gradients === 1 ? '' : 's'}, ${formatBytes(bytes)}`;

function ranksReading({ranks, sums, sum_seconds: taken, wait_seconds: waited}) {
  const buckets = `A step sums ${formatCount(sums.length)} bucket${sums.length === 1 ? '' : 's'} of ` +
      `gradients over ${formatCount(ranks)} ranks. `;
  if (taken === 0) return buckets;
  const hidden = Math.max(0, 1 - waited / taken);
  return `${buckets}In this run, sums took ${formatSeconds(taken)}, of which steps waited ` +
      `${formatSeconds(waited)}: ops hid ${formatPercent(hidden)}. `;
}

function fillRankLane(lane, step, view) {
  if (lane.sums.length === 0) return;
  byId('ranks-figure').hidden = false;
  byId('ranks-reading').textContent = ranksReading(lane);
  new RankLaneChart(byId('ranks-chart'), step, lane.sums, view);
}
