// Steps through the explanation by buttons, slider, keys and the #step of the address.

const data = JSON.parse(byId('data').textContent);

const kCandidateRows = 12;
const kStepRows = 101;  // more would be slow to lay out
const kWinners = {
  lifetime: 'the one that lives longest (of ties the largest, then the earliest)',
  size: 'the largest (of ties the longest-lived, then the earliest)',
  area: 'the one with the most bytes × ticks (of ties the largest, then the earliest)',
};
const kKeyNames = {lifetime: 'Ticks', size: 'Bytes', area: 'Bytes × ticks'};

function fillVerdict(
    {blocks, steps, planner, peak, lower_bound: bound, gap, proved_optimal, unused_gaps: gaps}) {
  const proof = proved_optimal ?
      'which is the lower bound: no better plan exists' :
      `${formatPercent(gap)} above the lower bound of ${formatBytes(bound)}`;
  byId('verdict').textContent = blocks.length === 0 ?
      'The trace has no blocks, so there is nothing to place.' :
      `${planner} placed ${formatCount(blocks.length)} blocks in ${formatCount(steps.length)} ` +
          `steps. The peak is ${formatBytes(peak)}, ${proof}.` +
          (gaps > 0 ? ` It does not use the gaps in lifetimes (${formatCount(gaps)}).` : '');
}

function keyFigure(key, block) {
  const figure = kKeys[key](block);
  return key === 'size' ? formatBytes(figure) : formatCount(figure);
}

class Player {
  constructor(story) {
    this.story = story;
    this.count = story.steps.length;
    this.number = 0;
    this.timer = null;
    this.chart = new ExplanationChart(byId('chart'), story, (block) => this.go(block.placed));
    byId('slider').max = String(this.count);
    this.listen();
  }

  go(number) {
    this.number = Math.min(Math.max(number, 0), this.count);
    if (this.number === this.count) this.pause();
    this.chart.show(this.number);
    this.tell();
    this.fillCandidates();
    this.fillSteps();
  }
  play() {
    if (this.number === this.count) this.number = 0;
    byId('run').textContent = 'Pause';
    const advance = () => {
      this.timer = setTimeout(advance, Number(byId('speed').value));
      this.go(this.number + 1);
    };
    advance();
  }
  pause() {
    clearTimeout(this.timer);
    this.timer = null;
    byId('run').textContent = 'Play';
  }
  toggle() {
    if (this.timer === null)
      this.play();
    else
      this.pause();
  }

  tell() {
    const {number, count} = this;
    byId('slider').value = String(number);
    byId('position').textContent = number === 0 ?
        `before step 1 of ${formatCount(count)}` :
        `step ${formatCount(number)} of ${formatCount(count)}`;
    byId('sentence').textContent = number === 0 ?
        'At first, the skyline is one line at 0 over all ticks, and no block is placed.' :
        this.story.steps[number - 1].sentence;
    byId('first').disabled = byId('previous').disabled = number === 0;
    byId('last').disabled = byId('next').disabled = number === count;
    history.replaceState(null, '', `#${number}`);
  }

  fillCandidates() {
    const step = this.number === 0 ? null : this.story.steps[this.number - 1];
    byId('candidates').replaceChildren();
    if (step === null || step.candidates === 0) {
      byId('candidates-text').textContent = step === null ?
          'All blocks: every lifetime lies within the first line.' :
          'No unplaced block lives within the line.';
      return;
    }
    const all = candidatesOf(this.story, this.number);
    const more = all.length - kCandidateRows;
    byId('candidates-text').textContent = all.length === 1 ?
        'One unplaced block lives within the line.' :
        `${formatCount(all.length)} unplaced blocks live within the line, best first` +
            (more > 0 ? `; ${formatCount(more)} more are not listed.` : '.');
    const {key} = this.story;
    const rows = all.slice(0, kCandidateRows).map((block) => [
      block.id, `[${formatCount(block.lower)}, ${formatCount(block.upper)})`,
      formatBytes(block.rounded), ...(key === 'size' ? [] : [keyFigure(key, block)])
    ]);
    const table = makeTable(
        ['Block', 'Lifetime', 'Bytes', ...(key === 'size' ? [] : [kKeyNames[key]])],
        ['name', 'number', 'number', 'number'], rows);
    table.tBodies[0].rows[0].className = 'winner';
    byId('candidates').append(table);
  }

  // Lists the steps around the one shown, or all steps if they are few.
  fillSteps() {
    const from = Math.max(0, Math.min(this.number - 1 - (kStepRows >> 1), this.count - kStepRows));
    const to = Math.min(this.count, from + kStepRows);
    byId('steps').start = from + 1;
    byId('steps').replaceChildren(...this.story.steps.slice(from, to).map((step, i) => {
      const item = element('li', {}, step.sentence);
      if (from + i + 1 === this.number) item.setAttribute('aria-current', 'step');
      item.addEventListener('click', () => this.go(from + i + 1));
      return item;
    }));
    byId('story-range').textContent = to - from === this.count ?
        'Click a step to see it.' :
        `Steps ${formatCount(from + 1)} to ${formatCount(to)} of ${formatCount(this.count)}. ` +
            'Click one to see it.';
  }

  listen() {
    const jump = (id, target) => byId(id).addEventListener('click', () => {
      this.pause();
      this.go(target());
    });
    jump('first', () => 0);
    jump('previous', () => this.number - 1);
    jump('next', () => this.number + 1);
    jump('last', () => this.count);
    byId('run').addEventListener('click', () => this.toggle());
    byId('chart-svg').addEventListener('click', () => this.chart.openAsSvg());
    byId('slider').addEventListener('input', () => {
      this.pause();
      this.go(Number(byId('slider').value));
    });
    addEventListener('hashchange', () => this.go(numberInAddress()));
    addEventListener('keydown', (event) => this.key(event));
  }
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof HTMLSelectElement) return;
    if (event.target.matches?.('.table-scroll')) return;  // they scroll it
    const onButton = event.target instanceof HTMLButtonElement;
    const targets = {
      ArrowLeft: this.number - 1,
      ArrowRight: this.number + 1,
      PageUp: this.number - 10,
      PageDown: this.number + 10,
      Home: 0,
      End: this.count,
    };
    if (event.key === ' ' && !onButton) {
      this.toggle();
    } else if (event.key in targets) {
      this.pause();
      this.go(targets[event.key]);
    } else {
      return;
    }
    event.preventDefault();
  }
}

const numberInAddress = () => Number.parseInt(location.hash.slice(1), 10) || 0;

fillVerdict(data);
byId('rule').textContent = kWinners[data.key];
if (data.blocks.length > 0) {
  byId('play').hidden = byId('story').hidden = false;
  new Player(readExplanation(data)).go(numberInAddress());
}
