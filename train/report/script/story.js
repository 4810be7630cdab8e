// Why each block of the step is alive, and what would change if it were not.

const kRequests = 0;  // kinds of uses
const kWritesOver = 1;
const kReads = 2;

// Returns {ops, usesOf, …}: ops as {name, begins, ends, seconds}, and the uses of each block as
// {op, kind, left} in their order. `left` is the reference count after the use.
function readStory({ops, uses, reasons, box, seconds_source}, step) {
  const usesOf = step.blocks.map(() => []);
  for (const [block, op, kind] of uses) usesOf[block].push({op, kind, left: 0});
  for (const of of usesOf) {
    let left = 0;
    for (const use of [...of].reverse()) {
      use.left = left;
      left = use.kind === kReads ? left + 1 : 0;
    }
  }
  return {
    ops: ops.map(([name, begins, seconds], i) => (
                     {name, begins, ends: ops[i + 1]?.[1] ?? step.last, seconds})),
    usesOf,
    reasons,
    box,
    seconds_source,
  };
}

// Who keeps the block alive, in one sentence.
function aliveSentence(story, block) {
  const last = story.usesOf[block.index].at(-1);
  const first = story.ops[story.usesOf[block.index][0].op];
  const op = story.ops[last.op];
  if (last.kind !== kReads && block.upper > op.ends)
    return `${first.name} writes it, and it is kept to the end of the step.`;
  if (last.kind === kRequests) {
    return `${first.name} requests it and frees it when it ends: ` +
        (story.reasons[block.index] === '' ? 'it is workspace.' : 'no later op reads it.');
  }
  const span = block.phase === 'forward' && op.begins > block.lower ? 'kept for' : 'read last by';
  return `${first.name} requests it. It is ${span} ${op.name}, op ${formatCount(last.op)}, ` +
      'the last to use it.';
}

function placeSentence(story, block) {
  const reason = story.reasons[block.index];
  if (reason === '') return 'A workspace takes no value’s place.';
  return reason.startsWith('new: ') ? `It has a place of its own: ${reason.slice(5)}.` :
                                      `It was written ${reason}.`;
}

// The least peak of the step if `bytes` were away while ticks [from, to) last.
function leastPeakWithout(step, bytes, from, to) {
  const {ticks, totals} = step.live;
  let most = 0;
  for (let i = 0; i < ticks.length; ++i) {
    const away = ticks[i] >= from && ticks[i] < to ? bytes : 0;
    if (totals[i] - away > most) most = totals[i] - away;
  }
  return most;
}

// The longest time between two uses of the block, in which it need not be there: [from, to), and
// the ops that would recompute it. Null if it has no such time.
function longestRest(story, block) {
  let best = null;
  const makers = [];
  const uses = story.usesOf[block.index];
  uses.forEach(({op, kind}, i) => {
    if (kind !== kReads) makers.push(story.ops[op]);
    if (i + 1 === uses.length || uses[i + 1].kind === kWritesOver) return;
    const [from, to] = [story.ops[op].ends, story.ops[uses[i + 1].op].begins];
    if (to > from && (best === null || to - from > best.to - best.from))
      best = {from, to, makers: [...makers]};
  });
  return best;
}

// The block that the op could write over if it might: the one that it reads, large enough and gone
// first. Null if it reads none.
function overwritable(step, story, block) {
  const {op} = story.usesOf[block.index][0];
  return step.blocks
             .filter(
                 (other) => other !== block && other.rounded >= block.rounded &&
                     other.lower < block.lower && other.upper > block.lower &&
                     story.usesOf[other.index].some(
                         (use) => use.op === op && use.kind === kReads))
             .sort((a, b) => a.upper - b.upper)[0] ??
      null;
}

// Rows of [what, least peak or null, seconds or null, remark].
function whatIf(step, story, block) {
  const without = (from, to) => leastPeakWithout(step, block.rounded, from, to);
  const rest = longestRest(story, block);
  const over = overwritable(step, story, block);
  return [
    ['it were not needed at all', without(block.lower, block.upper), 0, 'its op still runs'],
    rest === null ?
        ['it were recomputed', null, null, 'there is no time between two uses'] :
        [
          'it were recomputed', without(rest.from, rest.to),
          rest.makers.reduce((sum, {seconds}) => sum + seconds, 0),
          `twice: ${rest.makers.map(({name}) => name).join(', ')}; what they read must be there`
        ],
    over === null ?
        ['it were written in place', null, null, 'its op reads no block that is as large'] :
        [
          'it were written in place', without(block.lower, Math.min(over.upper, block.upper)), 0,
          `over block ${over.index}, which nobody else may read any more`
        ],
  ];
}
