// A widget in a page whose session goes to other processes, and back in its history: the widget works on, or disappears.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { launchBrowser, noBrowser, screenshot } from '../lib/browser.mjs';
import { NotebookPage, writeNotebook } from '../lib/notebook.mjs';
import { startPlatform } from '../lib/platform.mjs';

const skip = noBrowser ?? false;

let platform;
let browser;

before(async () => {
  if (skip) return;
  platform = await startPlatform();
  browser = await launchBrowser();
}, { timeout: 180_000 });

after(async () => {
  await browser?.close();
  await platform?.stop();
});

const CELLS = [
  `
from ipywidgets import IntSlider, interact
seen = []
slider = IntSlider(value=3, description='kept')
slider.observe(lambda change: seen.append(change['new']), names='value')
display(slider)`,
  'slider.value, seen',
  'slider.value = 42',
  '%undo',
  `
def triple(x):
    print('triple is', 3 * x)
interact(triple, x=5);`,
  `
lost = IntSlider(value=9, description='lost')
numbers = (number for number in range(10))
lost.numbers = numbers
display(lost)`,
  "'anything'",
];

async function ask(path, body) {
  const response = await fetch(platform.url + path, {
    method: body ? 'POST' : 'GET',
    headers: { Authorization: `token ${platform.token}` },
    body: body && JSON.stringify(body),
  });
  const answer = await response.json();
  assert.ok(response.ok, JSON.stringify(answer));
  return answer;
}

test('a widget works on after undo, failover, migration and suspension, or is gone', { skip, timeout: 240_000 }, async () => {
  await writeNotebook(platform, 'widgets', CELLS);
  const notebook = await NotebookPage.open(browser, platform, 'widgets');
  const readout = (cell) => notebook.output(cell).locator('.widget-readout').first();
  const moveRight = async (cell) => {
    await notebook.output(cell).locator('.noUi-handle').first().focus();
    await notebook.page.keyboard.press('ArrowRight');
  };
  let count = 0;
  const run = async (cell) => {
    await notebook.run(cell);
    await notebook.waitForPrompt(cell, `[${++count}]:`);
  };
  const works = async (value, seen) => {
    await readout(0).filter({ hasText: String(value) }).waitFor();
    await run(1);
    assert.match(await notebook.text(1), new RegExp(`\\(${value}, \\[${seen.join(', ')}\\]\\)`));
  };

  await run(0);
  await readout(0).waitFor();
  await moveRight(0);
  await works(4, [4]);
  await run(2);
  await readout(0).filter({ hasText: '42' }).waitFor();
  await run(3);
  await readout(0).filter({ hasText: /^4$/ }).waitFor(); // before any cell runs
  await moveRight(0);
  await works(5, [4, 5]);
  await run(4);
  await notebook.waitForText(4, 'triple is 15');

  const session = async () => (await ask('/api/banyan/sessions'))[0];
  const { id, executor } = await session();
  process.kill(platform.pids[executor], 'SIGKILL');
  await works(5, [4, 5]);
  await moveRight(0);
  await works(6, [4, 5, 6]);
  await moveRight(4);
  await notebook.waitForText(4, 'triple is 18');

  const now = await session();
  const other = now.replicas.map((replica) => replica.host).find((host) => ![executor, now.executor].includes(host));
  await ask(`/api/banyan/sessions/${id}/migrate`, { host: other });
  await moveRight(0);
  await works(7, [4, 5, 6, 7]);
  await ask(`/api/banyan/sessions/${id}/suspend`, {});
  await moveRight(4);
  await notebook.waitForText(4, 'triple is 21');
  await moveRight(0);
  await works(8, [4, 5, 6, 7, 8]);

  await run(5);
  await readout(5).waitFor();
  await screenshot(notebook.page, 'widgets');
  await ask(`/api/banyan/sessions/${id}/suspend`, { force: true });
  await run(6);
  await readout(5).waitFor({ state: 'detached' });
  await screenshot(notebook.page, 'widgets-lost');
  await notebook.close();
});
