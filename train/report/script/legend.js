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

// The entry of an allocator's curve.
const allocatorEntry = ({name, planned, dash, peak}) => ({
  swatch: lineSwatch(planned ? 'accent' : 'ink', planned ? 2.6 : 1.6, dash),
  name,
  note: `peak ${formatBytes(peak)}`,
  value: name,
});

// `colour` names a custom property of the style.
function lineSwatch(colour, width, dash = []) {
  const style =
      `stroke: var(--${colour}); stroke-width: ${width}; stroke-dasharray: ${dash.join(' ')}`;
  const line = `<line x1="0" y1="4" x2="26" y2="4" style="${style}"/>`;
  return element('div', {innerHTML: `<svg width="26" height="8">${line}</svg>`}).firstChild;
}
