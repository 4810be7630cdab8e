// The plan of one of two runs. A block has `partner`, the same block of the other run or null, and
// `changed`.

class RunChart extends PlanChart {
  constructor(host, name, step, view, high) {
    super(host, step, view);
    this.high = high;
    this.base.setAttribute('aria-label', `The plan of ${name}: blocks over ticks and addresses`);
  }
  drawBlocks(context, blocks) {
    const shown = this.view.onlyChanged ? blocks.filter((block) => block.changed) : blocks;
    if (shown.length > 0) super.drawBlocks(context, shown);
  }
  // The view's block may be one of the other run.
  outline(context, block, colour) {
    const own = block === null || this.step.blocks[block.index] === block ? block : block.partner;
    super.outline(context, own, colour);
  }
}
