// The recorded step, prepared for the charts: blocks, live bytes over time, and phases.

const roundUp = (bytes, alignment) => Math.ceil(Math.max(bytes, 1) / alignment) * alignment;

function readBlocks(data) {
  const text = (index) => data.strings[index];
  return data.blocks.map(
      ([lower, upper, bytes, offset, op, layer, phase, category, id], index) => ({
        index,
        lower,
        upper,
        bytes,
        offset,
        category,
        rounded: roundUp(bytes, data.plan.alignment),
        op: text(op),
        layer: text(layer),
        phase: data.phases[phase],
        id: text(id),
      }));
}

// Returns the index of the last of the ascending `ticks` that is not above `tick`; −1 if none is.
function lastAtOrBefore(ticks, tick) {
  let low = 0;
  let high = ticks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ticks[middle] <= tick)
      low = middle + 1;
    else
      high = middle;
  }
  return low - 1;
}

// Returns the rounded live bytes after each change: `ticks`, `totals`, and the bytes of category c in
// `parts[i * categories + c]`.
function liveProfile(blocks, categories) {
  const changes = new Map();
  const change = (tick, category, bytes) => {
    if (!changes.has(tick)) changes.set(tick, new Map());
    const at = changes.get(tick);
    at.set(category, (at.get(category) ?? 0) + bytes);
  };
  for (const block of blocks) {
    change(block.lower, block.category, block.rounded);
    change(block.upper, block.category, -block.rounded);
  }
  const ticks = [...changes.keys()].sort((a, b) => a - b);
  const parts = new Float64Array(ticks.length * categories);
  const totals = new Float64Array(ticks.length);
  const alive = new Float64Array(categories);
  ticks.forEach((tick, i) => {
    for (const [category, bytes] of changes.get(tick)) alive[category] += bytes;
    parts.set(alive, i * categories);
    totals[i] = alive.reduce((sum, bytes) => sum + bytes, 0);
  });
  return {ticks, parts, totals};
}

// Returns the stretches of each phase as [from, to) in ticks. Blocks are in the order of requests.
function phaseRuns(blocks, last) {
  const runs = [];
  for (const block of blocks) {
    if (runs.at(-1)?.name === block.phase) continue;
    if (runs.length > 0) runs.at(-1).to = block.lower;
    runs.push({name: block.phase, from: block.lower, to: last});
  }
  return runs;
}

function readStep(data) {
  const blocks = readBlocks(data);
  const first = blocks.reduce((least, block) => Math.min(least, block.lower), 0);
  const last = blocks.reduce((most, block) => Math.max(most, block.upper), 1);
  const live = liveProfile(blocks, data.categories.length);
  const fullest = live.totals.reduce((best, total, i) => (total > live.totals[best] ? i : best), 0);
  return {
    blocks,
    first,
    last,
    live,
    fullest,
    fullestTick: live.ticks[fullest],
    plan: data.plan,
    categories: data.categories,
    present: data.categories.map((_, c) => c).filter((c) => blocks.some((b) => b.category === c)),
    phases: phaseRuns(blocks, last),
    phaseAt(tick) {
      return this.phases.findLast((run) => run.from <= tick)?.name ?? '';
    },
    // The rounded live bytes at a tick.
    liveAt(tick) {
      const i = lastAtOrBefore(live.ticks, tick);
      return i < 0 ? 0 : live.totals[i];
    },
  };
}
