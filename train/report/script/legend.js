// Legends: swatches, and buttons that highlight their subject.

// Adds buttons that highlight their subject in the charts while hovered or pressed. Entries are
// {swatch, name, note, value}; `key` is the view's property for the highlighted value.
function fillLegend(host, entries, view, key) {
  let pressed = null;  // an entry
  const emphasisePressed = () => view.emphasise({[key]: pressed?.value ?? null});
  const buttons = entries.map((entry) => {
    const note = element('small', {}, entry.note);
    const button = element('button', {type: 'button'}, entry.swatch, entry.name, note);
    button.addEventListener('pointerenter', () => view.emphasise({[key]: entry.value}));
    button.addEventListener('pointerleave', emphasisePressed);
    button.addEventListener('click', () => {
      pressed = pressed === entry ? null : entry;
      tellPressed();
      emphasisePressed();
    });
    return button;
  });
  const tellPressed = () => buttons.forEach(
      (button, i) => button.setAttribute('aria-pressed', String(entries[i] === pressed)));
  tellPressed();
  host.append(...buttons);
}

// `colour` names a custom property of the style.
function lineSwatch(colour, width, dash = []) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('width', '26');
  svg.setAttribute('height', '8');
  svg.innerHTML = '<line x1="0" y1="4" x2="26" y2="4"/>';
  const style = {stroke: `var(--${colour})`, strokeWidth: width, strokeDasharray: dash.join(' ')};
  Object.assign(svg.firstChild.style, style);
  return svg;
}

function colourSwatch(category) {
  const swatch = element('i', {className: 'swatch'});
  swatch.style.background = `var(--${cssName(category)})`;
  return swatch;
}
