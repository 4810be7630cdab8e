// The panel that explains the selected block of the plan.

const kUseNames = ['requests it', 'writes over it in place', 'reads it'];
const kUseRows = 12;

class BlockPanel {
  constructor(step, story, resident, view) {
    Object.assign(this, {step, story, resident, view});
    view.onSelect.push(() => this.show(view.selected));
    this.show(step.blocks.filter((b) => b.lower <= step.fullestTick && step.fullestTick < b.upper)
                  .reduce((most, b) => (b.rounded > most.rounded ? b : most)));
  }

  show(block) {
    if (block === null) return;
    const {step, story} = this;
    const atPeak = block.lower <= step.fullestTick && step.fullestTick < block.upper;
    byId('block-name').textContent = `Block ${formatCount(block.index)}: ${nameOf(block)}`;
    byId('block-size').textContent = `${formatBytes(block.rounded)}, ticks ` +
        `${formatCount(block.lower)} to ${formatCount(block.upper)}; ` +
        (atPeak ? 'it is there at the fullest tick.' : 'it is not there at the fullest tick.');
    byId('block-alive').textContent = aliveSentence(story, block);
    byId('block-place').textContent = placeSentence(story, block);
    this.fillWhatIf(block);
    this.fillUses(block);
  }
  fillWhatIf(block) {
    const now = this.step.live.totals[this.step.fullest];
    const {gap} = this.step.plan;
    const rows = whatIf(this.step, this.story, block).map(([what, least, seconds, remark]) => [
      `If ${what}`, least === null ? '–' : formatBytes(least + this.resident),
      least === null   ? '–' :
          least === now ? 'no less' :
                          `−${formatBytes(now - least)}`,
      seconds === null ? '–' : seconds === 0 ? '0 s' : `+${formatSeconds(seconds)}`, remark,
    ]);
    byId('what-if').replaceChildren(makeTable(
        ['', 'Least peak', 'Change', 'Time', ''],
        ['', 'number', 'number', 'number', ''], rows));
    byId('what-if-reading').textContent =
        'The least peak is the most bytes alive at once, which no plan can go below. Now it is ' +
        `${formatBytes(now + this.resident)}, and the plan takes ` +
        `${gap === 0 ? 'just that' : `${formatPercent(gap)} of the step’s bytes more`}. ` +
        `Seconds of an op ${this.story.seconds_source}.`;
  }
  fillUses(block) {
    const uses = this.story.usesOf[block.index];
    const row = ({op, kind, left}) => [
      formatCount(op), this.story.ops[op].name, formatCount(this.story.ops[op].begins),
      kUseNames[kind], formatCount(left),
    ];
    fillFolded(byId('block-uses'), {
      heads: ['Op', 'Name', 'Tick', 'What it does', 'References left'],
      classes: ['number', '', 'number', '', 'number'],
      count: uses.length,
      shown: kUseRows,
      rowOf: (i) => row(uses[i]),
      restOf: (from) => ['', `${formatCount(uses.length - from)} more uses`, '', '', ''],
    });
  }
}

function fillStory(data, step, view) {
  byId('block-figure').hidden = false;
  const story = readStory(data.story, step);
  new BlockPanel(step, story, data.resident_bytes, view);
  fillStrategies(data.story, data.resident_bytes);
  new RecyclingBox(step, story);
}
