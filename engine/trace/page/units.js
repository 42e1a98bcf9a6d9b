'use strict';
// Texts of times, sizes and counts, in the unit in which they are short.

function digits(value, places = 4) {
  return String(Number(value.toPrecision(places)));
}

const time_units = [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs'], [1e-9, 'ns']];

function time_unit_of(seconds) {
  const size = Math.abs(seconds);
  return time_units.find(([one]) => size >= one) ?? time_units[size === 0 ? 0 : 3];
}

function time_text(seconds) {
  const [one, unit] = time_unit_of(seconds);
  return `${digits(seconds / one)} ${unit}`;
}

function bytes_text(bytes) {
  const [one, unit] = [[1e12, 'TB'], [1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB']]
    .find(([size]) => Math.abs(bytes) >= size) ?? [1, 'B'];
  return `${digits(bytes / one)} ${unit}`;
}

function value_text(value, unit) {
  return unit === 'bytes' ? bytes_text(value) : `${digits(value)} ${unit}`;
}

function count_text(count) {
  return String(count).replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

function percent_text(part, whole) {
  return whole > 0 ? `${(100 * part / whole).toFixed(part / whole < 0.0995 ? 1 : 0)} %` : '';
}
