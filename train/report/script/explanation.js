// The explanation's data, prepared for showing the state after each step.

// Returns the blocks with the step that placed them (from 1), the skyline's lines with the steps
// between which they exist, and the wasted areas with the step that made them.
function readExplanation(data) {
  const first = data.blocks.reduce((least, block) => Math.min(least, block.lower), Infinity);
  const last = data.blocks.reduce((most, block) => Math.max(most, block.upper), -Infinity);
  const blocks = data.blocks.map((block, index) => ({...block, index, placed: Infinity}));
  const lines = [];
  const standing = new Map();  // first tick → line
  const raise = (lower, upper, offset, from) => {
    const line = {lower, upper, offset, from, to: Infinity};
    standing.set(lower, line);
    lines.push(line);
  };
  const end = (lower, step) => {
    standing.get(lower).to = step;
    standing.delete(lower);
  };
  const wasted = [];
  raise(first, last, 0, 0);
  data.steps.forEach((step, i) => {
    const number = i + 1;
    const {line} = step;
    end(line.lower, number);
    if (step.act === 'place') {
      const block = blocks[step.block];
      block.placed = number;
      if (line.lower < block.lower) raise(line.lower, block.lower, line.offset, number);
      raise(block.lower, block.upper, step.top, number);
      if (block.upper < line.upper) raise(block.upper, line.upper, line.offset, number);
      return;
    }
    const {merged} = step;
    if (step.joins !== 'right') end(merged.lower, number);
    if (step.joins !== 'left') end(line.upper, number);
    raise(merged.lower, merged.upper, merged.offset, number);
    wasted.push({...line, top: merged.offset, step: number});
  });
  return {...data, first, last, blocks, lines, wasted};
}

// The largest key first; of ties the larger, then the longer-lived, then the earlier block.
const kKeys = {
  lifetime: (block) => block.upper - block.lower,
  size: (block) => block.rounded,
  area: (block) => block.rounded * (block.upper - block.lower),
};
function compareByKey(key) {
  const figure = kKeys[key];
  return (a, b) => figure(b) - figure(a) || b.rounded - a.rounded ||
      (b.upper - b.lower) - (a.upper - a.lower) || a.index - b.index;
}

// Returns the blocks that could be placed on the line of a step, best first.
function candidatesOf(story, number) {
  const {line} = story.steps[number - 1];
  return story.blocks
      .filter((b) => b.placed >= number && b.lower >= line.lower && b.upper <= line.upper)
      .sort(compareByKey(story.key));
}
