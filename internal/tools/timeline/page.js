'use strict';
// Slices have positions in percent of an svg.time, so draw() zooms with its width and scrolls with its x. zoom is the
// length of the axis in widths of the visible part. left is the start of the visible part as a share of the axis.
const all = [...document.querySelectorAll('.time .s')];
const times = [...document.querySelectorAll('.time')];
const axis = document.getElementById('axis'), tip = document.getElementById('tip'), about = document.getElementById('about');
const search = document.getElementById('search'), count = document.getElementById('count');
const numbers = new Map(all.map((slice, i) => [slice, i]));
const narrow = document.head.appendChild(document.createElement('style'));
const most = 4000, legible = 26, widths = 24;
let zoom = 1, left = 0, selected = -1, hits = [], labelled = 0;

function duration(ns) {
  const us = ns / 1000;
  if (us >= 10000) return (us / 1000).toFixed(1) + ' ms';
  if (us >= 1000) return (us / 1000).toFixed(2) + ' ms';
  if (us >= 100) return us.toFixed(0) + ' us';
  return us >= 1 || ns === 0 ? us.toFixed(1) + ' us' : ns + ' ns';
}

function draw() {
  zoom = Math.min(Math.max(zoom, 1), most);
  left = Math.min(Math.max(left, 0), 1 - 1 / zoom);
  for (const time of times) {
    time.setAttribute('width', 100 * zoom + '%');
    time.setAttribute('x', -100 * left * zoom + '%');
  }
  drawAxis();
  // The edge of a slice that is too narrow for a word would cover it, so draw() hides the edge. Slices of class wN are
  // at most as wide as the axis halved N times (see widthClass in layout.go).
  const whole = axis.clientWidth * zoom, rules = [];
  for (let n = 0; n <= widths; n++) if (whole / 2 ** (n + 1) < legible) rules.push(`.w${n} rect{stroke:none}`);
  narrow.textContent = rules.join('');
  if (whole !== labelled) label(whole);
}

// A slice shows the longest form of its name that fits: the whole name, the name without figures, or the tensor alone.
// A name without a tensor is cut short.
const labels = all.map((slice, i) => [slice.querySelector('text'), data.slices[i][1] / data.length]).filter(([text]) => text).map(([text, share]) => {
  const whole = text.textContent, bare = whole.replace(/, [\d.]+ .*/, '');
  const tensor = bare.match(/^(?:\S+ (?:into|of)|send|receive) (\S+)$/)?.[1];
  return [text, share, tensor ? [whole, bare, tensor] : [whole, bare]];
});

const pen = document.createElement('canvas').getContext('2d'), known = new Map();
pen.font = '12px system-ui, sans-serif';
function width(name) {
  if (!known.has(name)) known.set(name, pen.measureText(name).width);
  return known.get(name);
}

function label(whole) {
  labelled = whole;
  for (const [text, share, names] of labels) {
    const room = share * whole - 8;
    let name = room < 6 ? '' : names.find(name => width(name) <= room) ?? (names.length > 2 ? '' : names[0].slice(0, room / 5) + '…');
    while (name.length > 5 && width(name) > room) name = name.slice(0, -2) + '…';
    text.textContent = width(name) <= room ? name : '';
    text.style.display = text.textContent ? '' : 'none';
  }
}

// drawAxis draws ticks whose distance is 1, 2 or 5 times a power of ten.
function drawAxis() {
  const wide = axis.clientWidth, shown = data.length / zoom;
  const least = shown / Math.max(wide / 110, 1), power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  const step = power * [1, 2, 5, 10].find(n => n * power >= least);
  const parts = [];
  for (let t = Math.ceil(left * data.length / step) * step; t <= left * data.length + shown; t += step) {
    const x = (t / data.length - left) * zoom * wide;
    const end = x > wide - 60, begin = x < 30;
    parts.push(`<line x1="${x}" x2="${x}" y1="17" y2="24"/><text x="${end ? wide : begin ? 0 : x}" y="13" text-anchor="${end ? 'end' : begin ? 'start' : 'middle'}">${tick(t, step)}</text>`);
  }
  axis.innerHTML = parts.join('');
}

function tick(ns, step) {
  const ms = data.length / zoom >= 2e6, one = ms ? 1e6 : 1e3;
  const digits = Math.max(0, Math.ceil(-Math.log10(step / one) - 1e-9));
  return (ns / one).toFixed(digits) + (ms ? ' ms' : ' us');
}

// under returns the slice under the pointer. If there is none, it returns one at most 3 pixels to the left or right,
// because many slices are narrower than a pixel.
function under(event) {
  for (const by of [0, -1, 1, -2, 2, -3, 3]) {
    const slice = document.elementFromPoint(event.clientX + by, event.clientY)?.closest('.s');
    if (slice) return slice;
  }
}

// scale multiplies the zoom by a factor. The time at a place of the axis stays where it is; `at` is the place as a
// share of the visible part.
function scale(by, at = 0.5) {
  const under = left + at / zoom;
  zoom = Math.min(Math.max(zoom * by, 1), most);
  left = under - at / zoom;
  draw();
}

function lines(i) {
  const [begin, length, name, kind, where, detail, track, beside] = data.slices[i];
  const text = n => data.texts[n];
  const second = [text(where), text(kind), duration(length), 'begins at ' + duration(begin)].filter(Boolean).join(' · ');
  const crit = all[i].classList.contains('crit') ? 'on the critical path' : '';
  return [text(name), second, [text(track), text(detail), text(beside), crit].filter(Boolean).join(' · ')];
}

function fill(box, list) {
  box.replaceChildren(...list.filter(Boolean).map(line => Object.assign(document.createElement('div'), { textContent: line })));
  box.hidden = false;
}

function select(i, show) {
  if (selected >= 0) all[selected].classList.remove('sel');
  selected = i;
  if (i < 0) { about.hidden = true; return; }
  all[i].classList.add('sel');
  fill(about, lines(i));
  if (show) reveal(i);
}

// reveal scrolls and zooms until slice i is visible. With fit, the slice then fills half of the axis if the zoom can be
// large enough.
function reveal(i, fit) {
  const [begin, length] = data.slices[i];
  const wide = axis.clientWidth, at = (begin + length / 2) / data.length;
  if (fit) zoom = 0.5 * data.length / Math.max(length, 1);
  if (length / data.length * zoom * wide < 6) zoom = 40 * data.length / (Math.max(length, 1) * wide);
  zoom = Math.min(Math.max(zoom, 1), most);
  const place = (at - left) * zoom;
  if (fit || place < 0.05 || place > 0.95) left = at - 0.5 / zoom;
  draw();
  all[i].scrollIntoView({ block: 'center' });
}

function find() {
  const wanted = search.value.trim().toLowerCase();
  document.body.classList.toggle('searching', wanted !== '');
  const matching = data.texts.map(text => wanted !== '' && text.toLowerCase().includes(wanted));
  hits = [];
  all.forEach((slice, i) => {
    const hit = data.slices[i].slice(2, 7).some(n => matching[n]);
    slice.classList.toggle('hit', hit);
    if (hit) hits.push(i);
  });
  count.textContent = wanted === '' ? '' : hits.length === 1 ? '1 match' : hits.length + ' matches';
}

function next(by) {
  if (hits.length === 0) return;
  const at = hits.indexOf(selected);
  select(hits[at < 0 ? (by > 0 ? 0 : hits.length - 1) : (at + by + hits.length) % hits.length], true);
}

// neighbour selects the next (by = 1) or previous (by = -1) slice of the same stream and trace. Slices of a stream
// follow each other in the page.
function neighbour(by) {
  const to = selected + by;
  if (selected < 0 || !all[to] || all[to].parentNode !== all[selected].parentNode || data.slices[to][6] !== data.slices[selected][6]) return;
  select(to, true);
}

const keys = {
  w: () => scale(1.5), '+': () => scale(1.5), '=': () => scale(1.5), s: () => scale(1 / 1.5), '-': () => scale(1 / 1.5),
  a: () => { left -= 0.2 / zoom; draw(); }, d: () => { left += 0.2 / zoom; draw(); },
  0: () => { zoom = 1; draw(); }, '/': () => { search.focus(); search.select(); },
  n: () => next(1), p: () => next(-1), ',': () => neighbour(-1), '.': () => neighbour(1),
  f: () => { if (selected >= 0) reveal(selected, true); }, c: () => document.body.classList.toggle('nopath'),
  Escape: () => { select(-1); search.value = ''; find(); },
};
keys.ArrowLeft = keys.a;
keys.ArrowRight = keys.d;

document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === search) {
    if (event.key === 'Enter') next(event.shiftKey ? -1 : 1);
    if (event.key === 'Escape') { keys.Escape(); search.blur(); }
    return;
  }
  if (!Object.hasOwn(keys, event.key)) return;
  event.preventDefault();
  keys[event.key]();
});
search.addEventListener('input', find);
document.getElementById('in').onclick = keys.w;
document.getElementById('out').onclick = keys.s;
document.getElementById('whole').onclick = keys[0];

let dragged = null;
for (const chart of document.querySelectorAll('.chart')) {
  chart.addEventListener('pointermove', event => {
    if (dragged) {
      left = dragged.left - (event.clientX - dragged.x) / (axis.clientWidth * zoom);
      draw();
    }
    const slice = under(event);
    if (!slice) { tip.hidden = true; return; }
    fill(tip, lines(numbers.get(slice)));
    tip.style.left = Math.max(0, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)) + 'px';
    tip.style.top = (event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18) + 'px';
  });
  chart.addEventListener('pointerleave', () => { tip.hidden = true; });
  chart.addEventListener('pointerdown', event => { dragged = { x: event.clientX, left }; });
  chart.addEventListener('click', event => {
    const slice = under(event);
    if (slice) select(numbers.get(slice), false);
  });
  chart.addEventListener('wheel', event => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const box = axis.getBoundingClientRect();
    scale(event.deltaY < 0 ? 1.25 : 0.8, (event.clientX - box.left) / box.width);
  }, { passive: false });
}
addEventListener('pointerup', () => { dragged = null; });
addEventListener('resize', draw);
draw();
