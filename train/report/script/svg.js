// Makes an SVG picture of a chart.

const kInitialState = {
  fillStyle: '#000',
  strokeStyle: '#000',
  lineWidth: 1,
  globalAlpha: 1,
  font: '',
  textAlign: 'left',
  dash: [],
  clips: 0,  // <svg> elements to close at restore()
};
const kAnchors = {left: 'start', center: 'middle', right: 'end'};

const escaped = (text) =>
    String(text).replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/"/g, '&quot;');
const rounded = (value) => (typeof value === 'number' ? Math.round(100 * value) / 100 : value);

// Takes the calls that charts make to a canvas context and writes them as SVG elements. `canvas`
// measures the text.
class SvgContext {
  constructor(canvas) {
    Object.assign(this, {canvas, elements: [], states: [], path: '', box: null, ...kInitialState});
  }

  save() {
    const keys = Object.keys(kInitialState);
    this.states.push(Object.fromEntries(keys.map((key) => [key, this[key]])));
    this.clips = 0;
  }
  restore() {
    this.elements.push('</svg>'.repeat(this.clips));
    Object.assign(this, this.states.pop());
  }
  setLineDash(dash) {
    this.dash = dash;
  }

  beginPath() {
    this.path = '';
  }
  moveTo(x, y) {
    this.path += `M${rounded(x)} ${rounded(y)}`;
  }
  lineTo(x, y) {
    this.path += `L${rounded(x)} ${rounded(y)}`;
  }
  closePath() {
    this.path += 'Z';
  }
  rect(x, y, width, height) {
    this.box = {x, y, width, height};
    this.moveTo(x, y);
    this.path += `h${rounded(width)}v${rounded(height)}h${rounded(-width)}z`;
  }
  // Clips to the last rectangle: an inner <svg> shows nothing outside of its own.
  clip() {
    const {x, y, width, height} = this.box;
    const view = [x, y, width, height].map(rounded).join(' ');
    this.elements.push(`<svg ${this.attributes({...this.box, viewBox: view})}>`);
    this.clips += 1;
  }

  fill() {
    this.add('path', {d: this.path, ...this.fillAttributes});
  }
  stroke() {
    this.add('path', {d: this.path, ...this.strokeAttributes});
  }
  fillRect(x, y, width, height) {
    this.add('rect', {x, y, width, height, ...this.fillAttributes});
  }
  strokeRect(x, y, width, height) {
    this.add('rect', {x, y, width, height, ...this.strokeAttributes});
  }
  fillText(words, x, y) {
    const style = `font: ${this.font}; dominant-baseline: central`;
    const anchor = {'text-anchor': kAnchors[this.textAlign]};
    this.add('text', {x, y, style, ...anchor, ...this.fillAttributes}, words);
  }
  measureText(words) {
    this.canvas.font = this.font;
    return this.canvas.measureText(words);
  }

  get fillAttributes() {
    return {fill: this.fillStyle, 'fill-opacity': this.globalAlpha};
  }
  get strokeAttributes() {
    return {
      fill: 'none',
      stroke: this.strokeStyle,
      'stroke-width': this.lineWidth,
      'stroke-opacity': this.globalAlpha,
      'stroke-dasharray': this.dash.join(' '),
    };
  }
  attributes(values) {
    const used = Object.entries(values).filter(([, value]) => value !== '' && value !== 1);
    return used.map(([name, value]) => `${name}="${escaped(rounded(value))}"`).join(' ');
  }
  add(name, values, words = '') {
    this.elements.push(`<${name} ${this.attributes(values)}>${escaped(words)}</${name}>`);
  }

  // The serializer adds the namespace, without which no viewer takes it for SVG.
  picture(width, height, title) {
    const size = this.attributes({width, height, viewBox: `0 0 ${width} ${height}`});
    const ground = `<rect ${this.attributes({width, height, fill: styleOf('surface')})}></rect>`;
    const inner = `<title>${escaped(title)}</title>${ground}${this.elements.join('')}`;
    const svg = element('div', {innerHTML: `<svg ${size}>${inner}</svg>`}).firstChild;
    return new XMLSerializer().serializeToString(svg);
  }
}
