// Formats numbers and makes elements. Bytes have binary units.

const kUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

// As the terminal writes sizes: "730.5 KiB", "2.14 MiB", "2 MiB".
function formatBytes(bytes) {
  let unit = 0;
  let value = bytes;
  while (Math.abs(value) >= 1023.95 && unit < kUnits.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = Math.abs(value) >= 999.95 ? 0 : Math.abs(value) >= 99.995 ? 1 : 2;
  return `${Number(value.toFixed(digits))} ${kUnits[unit]}`;
}

const formatCount = (count) => count.toLocaleString('en');

function formatPercent(share) {
  if (share === 0) return '0 %';
  const percent = 100 * share;
  return `${percent.toFixed(Math.abs(percent) < 10 ? 2 : 1)} %`;
}

// A saving, as the terminal writes it.
const formatSaving = (share) => `${(100 * share).toFixed(1)} %`;

function formatSeconds(seconds) {
  if (seconds < 1e-3) return `${(seconds * 1e6).toPrecision(3)} µs`;
  if (seconds < 1) return `${(seconds * 1e3).toPrecision(3)} ms`;
  return `${seconds.toPrecision(3)} s`;
}

const formatNanoseconds = (ns) => `${ns < 100 ? ns.toFixed(1) : formatCount(Math.round(ns))} ns`;

// The maximum of any number of values; spreading them into Math.max could overflow the stack.
const largest = (values, least) => values.reduce((most, value) => Math.max(most, value), least);

// Makes an element. Children are elements or strings; strings are never parsed as HTML.
function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// A square in the colour of a category.
const colourSwatch = (category) =>
    element('i', {className: 'swatch', style: `background: var(--${cssName(category)})`});

const byId = (id) => document.getElementById(id);
const cssName = (category) => category.replace(/ /g, '-');
const styleOf = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// Returns black or white, whichever is more readable on a colour "#rrggbb" (relative luminance,
// WCAG 2).
function inkOn(colour) {
  const [r, g, b] = [1, 3, 5].map((at) => (parseInt(colour.slice(at, at + 2), 16) / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.22 ? '#000000' : '#ffffff';
}
