// The blocks at the fullest tick. Each row selects its block in the plan.

const kFullestRows = 8;

const nameOf = ({op, layer, index}) => (op ? layer ? `${op} of ${layer}` : op : layer) ||
    `request ${formatCount(index)}`;

function fullestRow(block, step, widest, select) {
  const category = step.categories[block.category];
  const width = 100 * block.rounded / widest;
  const bar = element(
      'i', {style: `width: ${width}%; background: var(--${cssName(category)})`});
  const button = element('button', {type: 'button', className: 'link'}, nameOf(block));
  button.addEventListener('click', () => select(block));
  return [
    button, element('span', {}, colourSwatch(category), category), formatBytes(block.rounded),
    formatPercent(block.rounded / step.live.totals[step.fullest]), bar
  ];
}

function restRow(rest, total) {
  const bytes = rest.reduce((sum, block) => sum + block.rounded, 0);
  return [
    `${formatCount(rest.length)} more blocks`, '', formatBytes(bytes), formatPercent(bytes / total),
    ''
  ];
}

function fillFullest(step, view) {
  const tick = step.fullestTick;
  const alive = step.blocks.filter((b) => b.lower <= tick && tick < b.upper)
                    .sort((a, b) => b.rounded - a.rounded);
  const select = (block) => {
    view.select(block);
    byId(byId('block-figure').hidden ? 'plan-figure' : 'block-figure').scrollIntoView();
  };
  const total = step.live.totals[step.fullest];
  fillFolded(byId('fullest'), {
    heads: ['Op and layer', 'Category', 'Bytes', 'Share', ''],
    classes: ['name', 'category', 'number', 'number', 'bar'],
    count: alive.length,
    shown: kFullestRows,
    rowOf: (i) => fullestRow(alive[i], step, alive[0].rounded, select),
    restOf: (from) => restRow(alive.slice(from), total),
  });
}
