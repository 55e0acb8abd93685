// A page whose connections break in all ways while a cell prints: no line is lost, none comes twice, and none is in doubt.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { launchBrowser, noBrowser, screenshot } from '../lib/browser.mjs';
import { NotebookPage, writeNotebook } from '../lib/notebook.mjs';
import { startPlatform } from '../lib/platform.mjs';

const skip = noBrowser ?? false;

let platform;
let browser;

before(async () => {
  if (skip) return;
  platform = await startPlatform({ lossy: true });
  browser = await launchBrowser();
}, { timeout: 180_000 });

after(async () => {
  await browser?.close();
  await platform?.stop();
});

/** A cell that prints numbered lines until the file `enough` exists, and then their count. */
const PRINTS = `
import pathlib, time
lines = 0
while not pathlib.Path('enough').exists():
    print('line', lines, flush=True)
    lines += 1
    time.sleep(0.05)
print('that were', lines)`;

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Swallows for half a second what these senders send, then resets their connections. */
async function lose(...senders) {
  for (const sender of senders) await platform.tell(`swallow ${sender}`);
  await pause(500);
  for (const sender of senders) await platform.tell(`reset ${sender}`);
}

const TROUBLES = {
  'the way from page to Jupyter Server swallows, and is reset': () => lose('lab'),
  'the way from Jupyter Server to gateway swallows, and is reset': () => lose('gateway'),
  'both swallow at once': () => lose('gateway', 'lab'),
  'two resets, with nothing read between them': async () => {
    await platform.tell('reset gateway');
    await platform.tell('reset lab');
  },
  'the gateway is asked to end, and starts again': () => platform.tell('restart gateway SIGTERM'),
  'the gateway is killed, and starts again': () => platform.tell('restart gateway SIGKILL'),
  'Jupyter Server is asked to end, and starts again': () => platform.tell('restart lab SIGTERM'),
  'Jupyter Server is killed, and starts again': () => platform.tell('restart lab SIGKILL'),
};

test('each line is there once, whatever breaks meanwhile', { skip, timeout: 240_000 }, async (context) => {
  await writeNotebook(platform, 'delivery', [PRINTS]);
  const notebook = await NotebookPage.open(browser, platform, 'delivery');
  const dialog = notebook.page.getByText('A connection to the Jupyter server could not be established');
  await notebook.page.addLocatorHandler(dialog, () => notebook.page.getByRole('button', { name: 'Close' }).click());
  await notebook.run(0);
  await notebook.waitForText(0, 'line 5');
  for (const [name, trouble] of Object.entries(TROUBLES)) {
    const begun = Date.now();
    await trouble();
    const shown = (await notebook.lines(0)).length;
    await notebook.waitForText(0, `line ${shown + 20}\n`);
    context.diagnostic(`${name}: ${Date.now() - begun} ms`);
    const lines = await notebook.lines(0);
    assert.deepEqual(lines, [...lines.keys()], name);
  }
  await writeFile(join(platform.folder, 'notebooks', 'enough'), '');
  await notebook.waitForPrompt(0, '[1]:');
  const text = await notebook.text(0);
  const lines = await notebook.lines(0);
  assert.deepEqual(lines, [...lines.keys()]);
  assert.match(text, new RegExp(`^that were ${lines.length}$`, 'm'));
  assert.doesNotMatch(text, /banyan|missing/, 'nothing is in doubt');
  await screenshot(notebook.page, 'delivery');
  await notebook.close();
});
