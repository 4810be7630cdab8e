// Reads the data and fills the page. A part without data stays hidden.

const data = JSON.parse(byId("data").textContent);
const savedShare = (bytes, baseline) => (baseline - bytes) / baseline;

function baselineRow() {
  return data.comparison.find((row) => row.allocator === data.baseline) ?? data.comparison[0];
}
function plannedRow() { return data.comparison.find((row) => row.allocator === "planned"); }

function fillOverview() {
  const tile = (name, value, className = "") => byId("tiles").append(
      element("div", {className: `tile ${className}`}, element("span", {}, name), element("strong", {}, value)));
  if (data.blocks.length > 0) {
    const {peak, lowerBound, gap, provedOptimal} = data.plan;
    tile("planned peak of the step", formatBytes(peak));
    tile("lower bound", formatBytes(lowerBound));
    tile(provedOptimal ? "gap: proved optimal" : "gap to the lower bound", formatPercent(gap), provedOptimal ? "good" : "");
  }
  const [baseline, planned] = [baselineRow(), plannedRow()];
  if (planned?.peakReservedBytes && baseline?.peakReservedBytes && planned !== baseline) {
    const share = savedShare(planned.peakReservedBytes, baseline.peakReservedBytes);
    tile(`${share >= 0 ? "saved" : "more"} against ${baseline.allocator}`, formatPercent(Math.abs(share)),
         share >= 0 ? "good" : "bad");
    byId("verdict").textContent =
        `The plan takes ${formatBytes(planned.peakReservedBytes)} from the device where ` +
        `${baseline.allocator} takes ${formatBytes(baseline.peakReservedBytes)}.`;
  }
  for (const [name, value] of data.facts) {
    const className = value.length > 30 ? "long" : "";
    byId("facts").append(element("div", {className}, element("dt", {}, name), element("dd", {}, value)));
  }
}

// A button of a legend; pointing at it or pressing it lets its subject stand out.
function legendButton(swatch, name, note, view, key, value) {
  const button = element("button", {type: "button"}, swatch, name, element("small", {}, note));
  const isPressed = () => button.getAttribute("aria-pressed") === "true";
  const pressedValue = () => {
    const pressed = button.parentElement.querySelector('[aria-pressed="true"]');
    return pressed ? pressed.value_ : null;
  };
  button.value_ = value;
  button.setAttribute("aria-pressed", "false");
  button.addEventListener("pointerenter", () => view.emphasise({[key]: value}));
  button.addEventListener("pointerleave", () => view.emphasise({[key]: pressedValue()}));
  button.addEventListener("click", () => {
    const press = !isPressed();
    for (const other of button.parentElement.querySelectorAll("button")) other.setAttribute("aria-pressed", "false");
    button.setAttribute("aria-pressed", String(press));
    view.emphasise({[key]: press ? value : null});
  });
  return button;
}

function lineSwatch(colour, dash, width) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("width", "26");
  svg.setAttribute("height", "8");
  svg.innerHTML = '<line x1="0" y1="4" x2="26" y2="4"/>';
  Object.assign(svg.firstChild.style, {stroke: colour, strokeDasharray: dash.join(" "), strokeWidth: width});
  return svg;
}

function colourSwatch(category) {
  const swatch = element("i", {className: "swatch"});
  swatch.style.background = `var(--${cssName(category)})`;
  return swatch;
}

function fillLegends(step, view, curves) {
  const count = step.categories.length;
  byId("legend").append(element("span", {}, "Share of the fullest tick:"));
  for (const category of step.present) {
    const bytes = step.live.parts[step.fullest * count + category];
    const name = step.categories[category];
    byId("legend").append(legendButton(colourSwatch(name), name,
        formatPercent(bytes / step.live.totals[step.fullest]), view, "category", category));
  }
  for (const curve of curves) {
    const swatch = lineSwatch(`var(--${curve.planned ? "accent" : "ink"})`, curve.dash, curve.planned ? 2.6 : 1.6);
    byId("memory-legend").append(legendButton(swatch, curve.name, `peak ${formatBytes(curve.peak)}`, view, "allocator", curve.name));
  }
}

function fillReadings(step) {
  const {plan, blocks} = step;
  byId("memory-reading").textContent =
      "The coloured skyline is what is alive: it grows while forward keeps activations for backward, " +
      "and shrinks as backward uses them up. Its highest point, marked ▼, is the lower bound: no allocator can run " +
      "this step in less. Each line is what one allocator holds from the device at that tick; the space between a line and the " +
      "skyline is memory held and not used." + (data.residentBytes > 0
          ? ` Beneath lies resident memory (${formatBytes(data.residentBytes)}, such as parameters), which no plan moves.` : "");
  const proof = plan.provedOptimal
      ? "The plan's peak equals the lower bound, so no better plan exists."
      : `The plan's peak lies ${formatPercent(plan.gap)} above the lower bound.`;
  byId("plan-reading").textContent =
      `Each of the ${formatCount(blocks.length)} rectangles is a block: from left to right the ticks that it is alive, ` +
      `from bottom to top the addresses that it occupies. No two overlap, and what is blank is free. ${proof} ` +
      `Planned by ${plan.planner || "an unnamed planner"} in ${formatSeconds(plan.seconds)}.`;
  byId("fullest-reading").textContent =
      `At tick ${formatCount(step.fullestTick)} (${step.phaseAt(step.fullestTick)}) the most bytes are alive. To need ` +
      "less memory, a step must do without one of these blocks at that moment; the largest come first.";
}

const kFullestRows = 8;

function fillFullest(step) {
  const tick = step.fullestTick;
  const alive = step.blocks.filter((b) => b.lower <= tick && tick < b.upper).sort((a, b) => b.rounded - a.rounded);
  const total = step.live.totals[step.fullest];
  const rows = alive.slice(0, kFullestRows).map((block) => {
    const bar = element("i");
    bar.style.width = `${100 * block.rounded / alive[0].rounded}%`;
    bar.style.background = `var(--${cssName(step.categories[block.category])})`;
    return [block.layer || "–", block.op || "–", element("span", {}, colourSwatch(step.categories[block.category]),
        step.categories[block.category]), formatBytes(block.rounded), formatPercent(block.rounded / total), bar];
  });
  const shown = alive.slice(0, kFullestRows).reduce((sum, block) => sum + block.rounded, 0);
  if (alive.length > kFullestRows) {
    rows.push([`${formatCount(alive.length - kFullestRows)} more blocks`, "", "", formatBytes(total - shown),
               formatPercent((total - shown) / total), ""]);
  }
  byId("fullest").append(makeTable(["Layer", "Op", "Category", "Bytes", "Share", ""],
                                   ["name", "", "", "number", "number", "bar"], rows));
}

function fillStep() {
  const step = readStep(data);
  const view = new View(step.first, step.last);
  byId("step").hidden = false;
  const memory = new MemoryChart(byId("memory-chart"), step, data.curves, data.residentBytes, view);
  const plan = new PlanChart(byId("plan-chart"), step, view);
  fillLegends(step, view, memory.curves);
  fillReadings(step);
  fillFullest(step);
  const showRange = () => {
    byId("range").textContent = `ticks ${formatCount(Math.floor(view.from))} to ${formatCount(Math.ceil(view.to))} ` +
                                `of ${formatCount(step.last)}`;
    byId("zoom-reset").disabled = byId("zoom-out").disabled = view.isWhole;
  };
  view.onRange.push(showRange);
  showRange();
  byId("zoom-in").addEventListener("click", () => view.zoom(0.5));
  byId("zoom-out").addEventListener("click", () => view.zoom(2));
  byId("zoom-reset").addEventListener("click", () => view.whole());
  return {step, view, memory, plan};
}

if (data.blocks.length > 0) fillStep();
fillOverview();
if (data.comparison.length > 0) fillComparison(data, baselineRow());
if (data.losses.length > 0) fillLosses(data);
