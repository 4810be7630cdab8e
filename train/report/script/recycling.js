// The MXNet note's recycling box, op by op. The planner `box` gave each block an offset; blocks with one
// offset take turns in one region, which is as large as the largest of them so far.

const kShownBoxes = 16;

class RecyclingBox {
  constructor(step, story) {
    Object.assign(this, {step, story});
    this.acts = story.ops.map(() => ({requests: [], frees: [], reads: []}));
    const regions = new Map();  // bytes by offset
    for (const block of step.blocks) {  // in the order of requests
      const offset = story.box.offsets[block.index];
      const had = regions.get(offset) ?? 0;
      regions.set(offset, Math.max(had, block.rounded));
      const uses = story.usesOf[block.index];
      for (const use of uses) {
        const act = this.acts[use.op];
        if (use.kind === kRequests) act.requests.push({block, had});
        if (use.kind === kReads) act.reads.push({block, left: use.left});
      }
      if (block.upper <= story.ops[uses.at(-1).op].ends) this.acts[uses.at(-1).op].frees.push(block);
    }
    byId('recycling-figure').hidden = false;
    const slider = byId('box-slider');
    slider.max = String(this.acts.length - 1);
    const go = (op) => this.show(Math.min(Math.max(op, 0), this.acts.length - 1));
    slider.addEventListener('input', () => go(Number(slider.value)));
    byId('box-previous').addEventListener('click', () => go(this.op - 1));
    byId('box-next').addEventListener('click', () => go(this.op + 1));
    byId('box-plan').textContent = formatBytes(step.plan.peak);
    byId('box-total').textContent = formatBytes(story.box.peak);
    this.show(0);
  }

  // Returns the regions as an op ends, by offset: {bytes, live}.
  regionsAfter(op) {
    const regions = new Map();
    const {ends} = this.story.ops[op];
    for (const {index, lower, upper, rounded} of this.step.blocks) {
      if (lower >= ends) continue;
      const offset = this.story.box.offsets[index];
      const {bytes, live} = regions.get(offset) ?? {bytes: 0, live: false};
      regions.set(offset, {bytes: Math.max(bytes, rounded), live: live || upper > ends});
    }
    return [...regions.values()];
  }

  show(op) {
    this.op = op;
    const regions = this.regionsAfter(op);
    const free = regions.filter(({live}) => !live).map(({bytes}) => bytes).sort((a, b) => b - a);
    const {requests, frees, reads} = this.acts[op];
    const name = ({op: by, layer}) => (layer ? `${by} of ${layer}` : by);
    const took = ({block: {rounded}, had}) => had === 0 ? 'the box is empty, so its region is new' :
        had < rounded ? `the largest region of the box grows from ${formatBytes(had)}` :
                        `takes a region of ${formatBytes(had)} from the box`;
    const lines = [
      ...requests.map((request) => `Requests ${formatBytes(request.block.rounded)}: ${took(request)}.`),
      ...reads.map(({block, left}) => `Reads what ${name(block)} left in block ` +
                       `${formatCount(block.index)}: ${formatCount(left)} references stay.`),
      ...frees.map((block) => `Puts the region of block ${formatCount(block.index)}, ` +
                       `${formatBytes(block.rounded)}, into the box.`),
    ];
    byId('box-slider').value = String(op);
    byId('box-op').textContent =
        `Op ${formatCount(op)} of ${formatCount(this.acts.length - 1)}: ${this.story.ops[op].name}`;
    byId('box-lines').replaceChildren(...lines.map((line) => element('li', {}, line)));
    const more = free.length > kShownBoxes ? ` and ${formatCount(free.length - kShownBoxes)} more` : '';
    byId('box-content').textContent = free.length === 0 ?
        'The box is empty.' :
        `In the box: ${free.slice(0, kShownBoxes).map(formatBytes).join(', ')}${more}.`;
    byId('box-so-far').textContent =
        `Regions so far: ${formatBytes(regions.reduce((sum, {bytes}) => sum + bytes, 0))}.`;
    byId('box-previous').disabled = op === 0;
    byId('box-next').disabled = op === this.acts.length - 1;
  }
}
