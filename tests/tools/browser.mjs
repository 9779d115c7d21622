// browser.mjs - a page in headless Chromium, for tests: clicked, typed into and asked over the DevTools protocol
// (a pipe of JSON texts that end in a zero). Needs nothing but node and chromium.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// Ends a browser that leads a process group (detached), with all of its processes: those that outlive the first one
// write into the profile while it is removed.
export async function end_browser(browser, profile) {
  const gone = browser.exitCode !== null || browser.signalCode !== null ||
    new Promise((done) => browser.once('exit', done));
  try { process.kill(-browser.pid, 'SIGKILL'); } catch { /* it has ended by itself */ }
  await gone;
  // Killed ones that nobody has waited for are still there, and do nothing.
  for (let i = 0; i < 40; i++) {
    try { process.kill(-browser.pid, 0); } catch { break; }
    await new Promise((done) => setTimeout(done, 50));
  }
  rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
}

export async function open_page(url, width = 1300, height = 900) {
  const profile = mkdtempSync(join(tmpdir(), 'chromium-'));
  const browser = spawn('chromium', ['--headless', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe',
    '--disable-dev-shm-usage', `--user-data-dir=${profile}`, `--window-size=${width},${height}`, 'about:blank'],
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'], detached: true });
  const waiting = new Map(), events = [];
  let rest = '', last = 0, session;

  browser.stdio[4].setEncoding('utf8').on('data', (text) => {
    const parts = (rest + text).split('\0');
    rest = parts.pop();
    for (const part of parts) {
      const message = JSON.parse(part);
      if (message.id === undefined) events.push(message);
      else {
        const { done, fail } = waiting.get(message.id);
        waiting.delete(message.id);
        if (message.error) fail(new Error(message.error.message));
        else done(message.result);
      }
    }
  });
  browser.on('exit', () => { for (const { fail } of waiting.values()) fail(new Error('chromium ended')); });
  const send = (method, params = {}) => new Promise((done, fail) => {
    waiting.set(++last, { done, fail });
    browser.stdio[3].write(JSON.stringify({ id: last, method, params, sessionId: session }) + '\0');
  });
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));

  const { targetInfos } = await send('Target.getTargets');
  const target = targetInfos.find((info) => info.type === 'page');
  session = (await send('Target.attachToTarget', { targetId: target.targetId, flatten: true })).sessionId;
  await send('Page.enable');
  await send('Runtime.enable');
  await send('Network.enable');

  const page = {
    send, events, pause,
    // The value of an expression in the page.
    async ask(expression) {
      const { result, exceptionDetails } = await send('Runtime.evaluate',
        { expression, returnByValue: true, awaitPromise: true });
      if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
      return result.value;
    },
    async go(to) {
      const loads = () => events.filter((event) => event.method === 'Page.loadEventFired').length, before = loads();
      await send('Page.navigate', { url: to });
      for (let i = 0; i < 600; i++) {
        if (loads() > before) return;
        await pause(50);
      }
      throw new Error(`${to} does not load`);
    },
    // A click at the middle of the element that an expression gives.
    async click(expression) {
      const at = await page.ask(`(function () { const box = (${expression}).getBoundingClientRect();
        return { x: box.x + box.width / 2, y: box.y + box.height / 2 }; })()`);
      for (const type of ['mouseMoved', 'mousePressed', 'mouseReleased'])
        await send('Input.dispatchMouseEvent', { type, ...at, button: 'left', clickCount: 1 });
    },
    async key(key) {
      for (const type of ['keyDown', 'keyUp'])
        await send('Input.dispatchKeyEvent', { type, key, windowsVirtualKeyCode: { Enter: 13, Escape: 27 }[key] ?? 0,
          text: type === 'keyDown' && key === 'Enter' ? '\r' : undefined });
    },
    dark(on) {
      return send('Emulation.setEmulatedMedia',
        { features: [{ name: 'prefers-color-scheme', value: on ? 'dark' : 'light' }] });
    },
    // What went wrong in the page, and what it asked of a network.
    complaints() {
      return events.filter((event) => event.method === 'Runtime.exceptionThrown' ||
        (event.method === 'Network.requestWillBeSent' && !/^(file|data|blob|about):/.test(event.params.request.url)));
    },
    async close() {
      waiting.clear();
      await end_browser(browser, profile);
    },
  };
  await page.go(url);
  return page;
}

let failures = 0;
export function expect(what, is, wanted) {
  if (JSON.stringify(is) === JSON.stringify(wanted)) return;
  failures++;
  console.log(`FAILED: ${what}: ${JSON.stringify(is)}, expected ${JSON.stringify(wanted)}`);
}
export function failed() {
  return failures;
}
