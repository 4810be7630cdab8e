// The MXNet note's recycling box, op by op: a freed block goes into the box, and a request takes the
// smallest block of the box that is large enough, or else a new one.

const kShownBoxes = 16;

class RecyclingBox {
  constructor(step, story) {
    Object.assign(this, {step, story});
    this.acts = story.ops.map(() => ({requests: [], frees: [], reads: []}));
    for (const block of step.blocks) {
      const uses = story.usesOf[block.index];
      for (const use of uses) {
        const act = this.acts[use.op];
        if (use.kind === kRequests) act.requests.push(block);
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
    byId('box-total').textContent = formatBytes(this.stateAfter(this.acts.length - 1).total);
    this.show(0);
  }

  // Runs the step to the end of an op: {free, total, taken}, `taken` by the requests of that op.
  stateAfter(last) {
    const state = {free: [], total: 0, taken: []};
    const held = new Map();  // bytes of the box's block behind each live one
    for (let op = 0; op <= last; ++op) {
      state.taken = this.acts[op].requests.map((block) => {
        const place = state.free.findIndex((bytes) => bytes >= block.rounded);  // it ascends
        const bytes = place < 0 ? block.rounded : state.free.splice(place, 1)[0];
        if (place < 0) state.total += bytes;
        held.set(block.index, bytes);
        return {block, bytes, isNew: place < 0};
      });
      for (const block of this.acts[op].frees) {
        const bytes = held.get(block.index);
        const place = state.free.findIndex((other) => other > bytes);
        state.free.splice(place < 0 ? state.free.length : place, 0, bytes);
      }
    }
    return state;
  }

  show(op) {
    this.op = op;
    const {free, total, taken} = this.stateAfter(op);
    const {frees, reads} = this.acts[op];
    const name = ({op: by, layer}) => (layer ? `${by} of ${layer}` : by);
    const lines = [
      ...taken.map(({block, bytes, isNew}) => isNew ?
              `Requests ${formatBytes(block.rounded)}: the box has none so large, so it is new.` :
              `Requests ${formatBytes(block.rounded)}: takes ${formatBytes(bytes)} from the box.`),
      ...reads.map(({block, left}) => `Reads what ${name(block)} left in block ` +
                       `${formatCount(block.index)}: ${formatCount(left)} references stay.`),
      ...frees.map((block) => `Puts block ${formatCount(block.index)}, ` +
                       `${formatBytes(block.rounded)}, into the box.`),
    ];
    byId('box-slider').value = String(op);
    byId('box-op').textContent =
        `Op ${formatCount(op)} of ${formatCount(this.acts.length - 1)}: ${this.story.ops[op].name}`;
    byId('box-lines').replaceChildren(...lines.map((line) => element('li', {}, line)));
    const more = free.length > kShownBoxes ? ` and ${formatCount(free.length - kShownBoxes)} more` : '';
    byId('box-content').textContent = free.length === 0 ?
        'The box is empty.' :
        `In the box: ${free.slice(-kShownBoxes).reverse().map(formatBytes).join(', ')}${more}.`;
    byId('box-so-far').textContent = `Taken so far: ${formatBytes(total)}.`;
    byId('box-previous').disabled = op === 0;
    byId('box-next').disabled = op === this.acts.length - 1;
  }
}
