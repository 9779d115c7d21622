// report_load.mjs REPORT.html: how long a report takes in headless Chromium until it is loaded, and until it has answered
// a click: in ms, of the wall clock and of the page's own processor time.
import { resolve } from 'node:path';
import { open_page } from '../tools/browser.mjs';

const page = await open_page('about:blank');
await page.send('Performance.enable');
const begin = performance.now();
await page.go('file://' + resolve(process.argv[2]));
const loaded = await page.ask('performance.timing.loadEventEnd - performance.timing.navigationStart');
// Two frames: the picture is there.
await page.ask('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))');
await page.ask(`document.querySelector('th').click()`);
await page.ask('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))');
const usable = performance.now() - begin;
const { metrics } = await page.send('Performance.getMetrics');
const busy = metrics.find(({ name }) => name === 'TaskDuration').value;
console.log(`loaded ${loaded} ms, usable ${Math.round(usable)} ms, busy ${Math.round(busy * 1000)} ms`);
await page.close();
process.exit(0);
