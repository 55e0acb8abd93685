// A person with JupyterLab: a notebook with numpy, pandas and matplotlib, the executor's host killed between two cells.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { launchBrowser, noBrowser, screenshot } from '../lib/browser.mjs';
import { connected, NotebookPage, writeNotebook } from '../lib/notebook.mjs';
import { startPlatform } from '../lib/platform.mjs';

const skip = noBrowser ?? false;
const CELLS = [
  'import numpy as np\nimport pandas as pd\nimport matplotlib.pyplot as plt\n%matplotlib inline',
  "x = np.linspace(0, 10, 200)\nframe = pd.DataFrame({'x': x, 'y': np.sin(x)})\nframe.describe()",
  "print('rows:', len(frame), 'sum of x:', x.sum())",
  "plt.figure(figsize=(6, 2.5))\nplt.plot(frame.x, frame.y)\nplt.title('after the host was killed')\nplt.show()",
];

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

function notebook() {
  const cells = CELLS.map((source, number) => ({
    cell_type: 'code',
    id: `cell-${number}`,
    metadata: {},
    execution_count: null,
    outputs: [],
    source,
  }));
  const kernelspec = { name: 'python3', display_name: 'Python 3', language: 'python' };
  return JSON.stringify({ cells, metadata: { kernelspec }, nbformat: 4, nbformat_minor: 5 });
}

async function ask(path) {
  const response = await fetch(platform.url + path, { headers: { Authorization: `token ${platform.token}` } });
  return response.json();
}

test('a notebook goes on after its executor has died', { skip, timeout: 240_000 }, async () => {
  await writeFile(join(platform.folder, 'notebooks', 'demo.ipynb'), notebook());
  const page = await browser.newPage({ viewport: { width: 1280, height: 1100 } });
  const news = page.getByText('notified about official Jupyter news');
  await page.addLocatorHandler(news, () => page.getByRole('button', { name: 'No', exact: true }).click());
  const url = new URL(platform.lab);
  url.pathname = '/lab/tree/demo.ipynb';
  const connections = [];
  page.on('websocket', (socket) => socket.url().includes('/channels') && connections.push(socket));
  await page.goto(url.href);

  const cells = page.locator('.jp-NotebookPanel:not(.lm-mod-hidden) .jp-CodeCell');
  await cells.first().waitFor({ timeout: 60_000 });
  await connected(page);
  await cells.first().locator('.cm-content').click();

  /** Runs the selected cell and waits until its number stands beside it. */
  const runCell = async (number) => {
    await page.keyboard.press('Shift+Enter');
    const prompt = cells.nth(number).locator('.jp-InputPrompt');
    await prompt.filter({ hasText: `[${number + 1}]:` }).waitFor({ timeout: 60_000 });
    assert.equal(await cells.nth(number).locator('[data-mime-type="application/vnd.jupyter.error"]').count(), 0);
  };
  await runCell(0);
  await runCell(1);
  await cells.nth(1).locator('table').waitFor();

  const [session] = await ask('/api/banyan/sessions');
  process.kill(platform.pids[session.executor], 'SIGKILL');

  await runCell(2);
  assert.match(await cells.nth(2).locator('.jp-OutputArea-output').innerText(), /rows: 200 sum of x: 1000/);
  await runCell(3);
  const figure = cells.nth(3).locator('.jp-RenderedImage img');
  await figure.waitFor();
  assert.ok((await figure.evaluate((image) => image.naturalWidth)) > 300);
  const [moved] = await ask('/api/banyan/sessions');
  assert.notEqual(moved.executor, session.executor);
  assert.equal(connections.length, 1, 'the first connection has stayed');

  await page.locator('.jp-Notebook-ExecutionIndicator[data-status="idle"]').waitFor();
  await page.keyboard.press('Control+s');
  await page.locator('.jp-mod-dirty').waitFor({ state: 'detached' });
  await screenshot(page, 'lab');
});

test('the log is a table whose names can be read, however narrow the page is', { skip, timeout: 120_000 }, async () => {
  const long = 'a_rather_long_name_of_a_table_with_prices';
  const sources = ['get_ipython().set_hook("complete_command", lambda *a: ["a"], str_key="go")', `${long} = 1`, '%log'];
  await writeNotebook(platform, 'log', sources);
  const notebook = await NotebookPage.open(browser, platform, 'log');
  await notebook.page.setViewportSize({ width: 900, height: 800 });
  for (const number of sources.keys()) {
    await notebook.run(number);
    await notebook.waitForPrompt(number, `[${number + 1}]:`);
  }
  const names = notebook.output(2).locator('td').filter({ hasText: long }).last();
  await names.waitFor();
  const { width } = await names.boundingBox();
  assert.ok(width > 150, `the column is ${width} pixels wide`);
  await screenshot(notebook.page, 'log');
  await notebook.close();
});
