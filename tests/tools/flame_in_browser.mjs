// flame_in_browser.mjs SVG FOLDED FUNCTION: a flame graph in a browser: it is drawn, zooms, is searched, and can
// be read in light and dark. What it says is compared with the folded stacks of the same recording.
import { readFileSync } from 'node:fs';
import { open_page, expect, failed } from './browser.mjs';

const [svg, folded, wanted] = process.argv.slice(2);
const stacks = readFileSync(folded, 'utf8').trimEnd().split('\n').map((line) => {
  const cut = line.lastIndexOf(' ');
  return { names: line.slice(0, cut).split(';'), weight: +line.slice(cut + 1) };
});
const sum = (some) => some.reduce((all, stack) => all + stack.weight, 0);
const total = sum(stacks), through = sum(stacks.filter((stack) => stack.names.includes(wanted)));

const page = await open_page(`file://${svg}`);
const bar = `Array.from(document.querySelectorAll('.f')).find((g) =>
  g.querySelector('title').textContent.startsWith('${wanted} ('))`;
const shown = "Array.from(document.querySelectorAll('.f:not(.hidden)')).length";
const all = await page.ask(shown);

expect('the whole', await page.ask("document.getElementById('details').textContent"),
  `${total.toLocaleString('en-US')} instructions`);
expect('there are bars', all > 50, true);
expect('bars hold what is above them', await page.ask(`(function () {
  const bars = Array.from(document.querySelectorAll('.f'), (g) => ({ x: +g.dataset.x, w: +g.dataset.w, l: +g.dataset.l }));
  return bars.filter((b) => b.l > 0 && !bars.some((a) => a.l === b.l - 1 && a.x <= b.x + 1e-8 &&
    a.x + a.w >= b.x + b.w - 1e-8)).length;
})()`), 0);

// The pointer, then a click: the function is as wide as the picture.
await page.click(bar);
const detail = await page.ask("document.getElementById('details').textContent");
expect('what the pointer is on', detail.startsWith(`${wanted} (${through.toLocaleString('en-US')} instructions`), true);
expect('zoomed', await page.ask(`+(${bar}).querySelector('rect').getAttribute('width')`), 1180);
expect('others are hidden', (await page.ask(shown)) < all, true);
expect('there is a way back', await page.ask("document.getElementById('reset').classList.contains('hidden')"), false);

// Back by the keyboard, there again by it.
await page.key('Escape');
expect('all again', await page.ask(shown), all);
await page.ask(`(${bar}).focus()`);
await page.key('Enter');
expect('zoomed by the keyboard', await page.ask(`+(${bar}).querySelector('rect').getAttribute('width')`), 1180);
await page.click("document.getElementById('reset')");
expect('all again by a click', await page.ask(shown), all);

// Search, by a regular expression in the address: each stack counts once.
await page.go('about:blank');
await page.go(`file://${svg}#search=${encodeURIComponent(`^${wanted}$`)}`);
expect('matched', await page.ask("document.getElementById('matched').textContent"),
  `Matched: ${(100 * through / total).toFixed(2)}%`);
expect('what matches is marked', await page.ask(`(${bar}).classList.contains('hit')`), true);

// Light and dark: the page and its letters are far apart.
const apart = `(function () {
  const light = (colour) => { const c = colour.match(/[0-9.]+/g).map(Number); return (c[0] * 2 + c[1] * 5 + c[2]) / 8; };
  const page = light(getComputedStyle(document.getElementById('page')).fill);
  const ink = light(getComputedStyle(document.getElementById('title')).fill);
  const bar = light(getComputedStyle(document.querySelector('.f:not(.hit) rect')).fill);
  const name = light(getComputedStyle(document.querySelector('.f:not(.hit) text')).fill);
  return { dark: page < 64, page: Math.abs(page - ink) > 150, bar: Math.abs(bar - name) > 90 };
})()`;
expect('in light', await page.ask(apart), { dark: false, page: true, bar: true });
await page.dark(true);
expect('in dark', await page.ask(apart), { dark: true, page: true, bar: true });

expect('nothing went wrong, nothing was asked of a network', page.complaints(), []);
await page.close();
process.exit(failed() ? 1 : 0);
