// speedscope.mjs DIRECTORY FILE...: speedscope, as npm has it (DIRECTORY is its package), takes each file: the
// page's title becomes that of a profile, and it complains of nothing.
import { mkdtempSync, readFileSync, writeFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { open_page, expect, failed } from './browser.mjs';

const [directory, ...files] = process.argv.slice(2);
const dir = mkdtempSync(join(tmpdir(), 'speedscope-'));
const page = await open_page('about:blank');
for (const file of files) {
  // How its own command line hands a file to it: a script that loads the file's bytes.
  const script = join(dir, `${basename(file)}.js`);
  writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(basename(file))}, ` +
    `${JSON.stringify(readFileSync(file).toString('base64'))})`);
  await page.go('about:blank');
  await page.go(`file://${resolve(directory, 'dist/release/index.html')}#localProfilePath=${script}`);
  let title = '';
  for (let i = 0; i < 200; i++) {
    title = await page.ask('document.title');
    if (title !== 'speedscope') break;
    await page.pause(50);
  }
  console.log(`${basename(file)}: ${title}`);
  expect(`${basename(file)} is shown`, / - speedscope$/.test(title), true);
}
expect('nothing went wrong', page.complaints().filter((event) => event.method === 'Runtime.exceptionThrown'), []);
await page.close();
rmSync(dir, { recursive: true });
process.exit(failed() ? 1 : 0);
