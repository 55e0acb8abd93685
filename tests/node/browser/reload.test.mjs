// A page that is loaded anew while its cells run: each cell shows the outputs in the session's log, and goes on.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { launchBrowser, noBrowser, screenshot } from '../lib/browser.mjs';
import { NotebookPage, writeNotebook } from '../lib/notebook.mjs';
import { startPlatform } from '../lib/platform.mjs';

const skip = noBrowser ?? false;
const options = { skip, timeout: 180_000 };

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

async function open(name, sources, how) {
  await writeNotebook(platform, name, sources);
  return NotebookPage.open(browser, platform, name, how);
}

function numbers(text) {
  return [...text.matchAll(/line (\d+)/g)].map((match) => Number(match[1]));
}

const upTo = (end) => Array.from({ length: end }, (_, number) => number);

test('prints go on after a reload: none is lost, none comes twice', options, async () => {
  const lines = 120;
  const notebook = await open('prints', [
    `import time\nfor number in range(${lines}):\n    print('line', number, flush=True)\n    time.sleep(0.1)`,
    "print('after')",
  ]);
  await notebook.run(0);
  await notebook.run(1);
  await notebook.waitForText(0, 'line 15');
  await notebook.load({ idle: false });
  await notebook.waitForText(0, 'line 15');
  assert.equal(await notebook.prompt(0).innerText(), '[*]:');
  assert.equal(await notebook.prompt(1).innerText(), '[*]:', 'it waits');
  const before = numbers(await notebook.text(0)).length;
  assert.ok(before < lines, 'it runs still');
  await screenshot(notebook.page, 'reload-prints');
  await notebook.waitForPrompt(1, '[2]:');
  await notebook.waitForPrompt(0, '[1]:');
  assert.deepEqual(numbers(await notebook.text(0)), upTo(lines));
  assert.match(await notebook.text(1), /^after\s*$/);
  await notebook.load();
  assert.deepEqual(numbers(await notebook.text(0)), upTo(lines), 'a reload without a save');
  await notebook.save();
  await notebook.load();
  assert.deepEqual(numbers(await notebook.text(0)), upTo(lines), 'and after one');
  assert.equal(await notebook.prompt(0).innerText(), '[1]:');
  await notebook.close();
});

test('a notebook that was closed while its cells ran is whole when it is opened later', options, async () => {
  const notebook = await open('closed', [
    "import time\nfor number in range(30):\n    print('line', number, flush=True)\n    time.sleep(0.1)",
    "from IPython.display import HTML\nHTML('<b id=\"bold\">shown</b>')",
    "print('partly')\nraise ValueError('told')",
  ]);
  for (const cell of [0, 1, 2]) await notebook.run(cell);
  await notebook.waitForText(0, 'line 3');
  await notebook.close();
  await new Promise((resolve) => setTimeout(resolve, 6000));
  const later = await NotebookPage.open(browser, platform, 'closed');
  await later.waitForPrompt(2, '[3]:');
  assert.deepEqual(numbers(await later.text(0)), upTo(30));
  assert.equal(await later.output(1).locator('#bold').innerText(), 'shown');
  assert.match(await later.text(2), /partly[\s\S]*ValueError: told/);
  assert.deepEqual(await Promise.all([0, 1, 2].map((cell) => later.prompt(cell).innerText())), ['[1]:', '[2]:', '[3]:']);
  await screenshot(later.page, 'reload-closed');
  await later.close();
});

test('a progress bar goes on in place, with \\r and with clear_output', options, async () => {
  const notebook = await open('progress', [
    "import time\nfrom tqdm import tqdm\nfor _ in tqdm(range(100), desc='bar'):\n    time.sleep(0.1)",
    "from IPython.display import clear_output\nfor step in range(60):\n    clear_output(wait=True)\n" +
      "    print('step', step)\n    time.sleep(0.1)",
  ]);
  await notebook.run(0);
  await notebook.waitForText(0, /[1-9]\d%/);
  await notebook.load({ idle: false });
  await notebook.waitForText(0, 'bar:');
  await notebook.run(1);
  await notebook.waitForPrompt(0, '[1]:');
  const bar = await notebook.text(0);
  assert.match(bar, /bar: 100%.*100\/100/);
  assert.equal(bar.match(/bar:/g).length, 1, bar);
  await notebook.waitForText(1, /step \d\d/);
  await notebook.load({ idle: false });
  await notebook.waitForText(1, /step [2-5]\d/);
  assert.equal((await notebook.text(1)).match(/step/g).length, 1);
  await screenshot(notebook.page, 'reload-progress');
  await notebook.waitForPrompt(1, '[2]:');
  assert.match(await notebook.text(1), /^step 59\s*$/);
  await notebook.close();
});

test('updates of a display reach it after a reload, also from another cell', options, async () => {
  const notebook = await open('displays', [
    "import time\nfrom IPython.display import display, HTML\n" +
      "handle = display(HTML('<i class=\"d\">first</i>'), display_id='shared')\nprint('below')",
    "for step in range(50):\n    handle.update(HTML(f'<i class=\"d\">update {step}</i>'))\n    time.sleep(0.1)",
    "handle.update(HTML('<i class=\"d\">last</i>'))",
  ]);
  await notebook.run(0);
  await notebook.waitForPrompt(0, '[1]:');
  await notebook.run(1);
  await notebook.waitForText(0, /update \d/);
  await notebook.load({ idle: false });
  await notebook.waitForText(0, 'update');
  await notebook.waitForPrompt(1, '[2]:');
  await notebook.waitForText(0, 'update 49');
  await notebook.load();
  await notebook.waitForText(0, 'update 49');
  await notebook.run(2);
  await notebook.waitForText(0, 'last');
  assert.equal(await notebook.page.locator('i.d').count(), 1);
  assert.match(await notebook.text(0), /last\s+below/);
  await notebook.close();
});

test('input() asks again after a reload, also when it comes to ask after it', options, async () => {
  const notebook = await open('input', [
    "import time\nname = input('who? ')\nprint('hello', name)\ntime.sleep(5)\nage = input('age? ')\nprint(name, 'is', age)",
  ]);
  const box = notebook.page.locator('.jp-Stdin-input');
  await notebook.run(0);
  await box.waitFor();
  await notebook.load({ idle: false });
  await box.waitFor();
  assert.equal(await box.count(), 1);
  await screenshot(notebook.page, 'reload-input');
  await box.fill('Ada');
  await box.press('Enter');
  await notebook.waitForText(0, 'hello Ada');
  await notebook.load({ idle: false });
  await notebook.waitForText(0, 'hello Ada');
  await box.waitFor();
  await box.fill('36');
  await box.press('Enter');
  await notebook.waitForPrompt(0, '[1]:');
  assert.match(await notebook.text(0), /hello Ada[\s\S]*Ada is 36/);
  assert.equal((await notebook.text(0)).match(/hello Ada/g).length, 1);
  await notebook.close();
});

test('two tabs see the same: marks, numbers and outputs of what the other one runs', options, async () => {
  const first = await open('tabs', [
    "import time\nfor number in range(20):\n    print('line', number, flush=True)\n    time.sleep(0.1)",
    "print('line', 7)",
  ]);
  const second = await NotebookPage.open(browser, platform, 'tabs');
  await first.run(0);
  await first.run(1);
  await second.waitForPrompt(0, '[*]:');
  await second.waitForText(0, 'line 3');
  for (const tab of [first, second]) {
    await tab.waitForPrompt(0, '[1]:');
    await tab.waitForPrompt(1, '[2]:');
    assert.deepEqual(numbers(await tab.text(0)), upTo(20));
    assert.deepEqual(numbers(await tab.text(1)), [7]);
  }
  await second.run(1);
  for (const tab of [first, second]) {
    await tab.waitForPrompt(1, '[3]:');
    assert.deepEqual(numbers(await tab.text(1)), [7]);
  }
  await second.close();
  await first.close();
});

test('outputs that a person has cleared stay cleared', options, async () => {
  const notebook = await open('cleared', ["print('kept')", "print('cleared')"]);
  await notebook.run(0);
  await notebook.run(1);
  await notebook.waitForPrompt(1, '[2]:');
  await notebook.page.getByRole('menuitem', { name: 'Edit', exact: true }).click();
  await notebook.page.getByRole('menuitem', { name: 'Clear Cell Output', exact: true }).click();
  assert.equal(await notebook.text(1), '');
  await notebook.save();
  await notebook.load();
  await notebook.waitForText(0, 'kept');
  assert.equal(await notebook.text(1), '');
  await notebook.run(1);
  await notebook.waitForText(1, 'cleared');
  await notebook.save();
  await notebook.load();
  assert.match(await notebook.text(1), /cleared/);
  await notebook.close();
});

test('a widget that was shown before a reload works after it', options, async () => {
  const notebook = await open('widget', [
    "import ipywidgets\nslider = ipywidgets.IntSlider(value=3, description='amount')\ndisplay(slider)",
    'print(slider.value)',
    "import time\nfor step in range(40):\n    slider.value = step\n    time.sleep(0.1)",
  ]);
  const handle = notebook.output(0).locator('.noUi-handle');
  const readout = notebook.output(0).locator('.widget-readout');
  await notebook.run(0);
  await handle.waitFor();
  await notebook.load();
  await handle.waitFor();
  assert.equal(await readout.innerText(), '3');
  await handle.focus();
  await notebook.page.keyboard.press('ArrowRight');
  await readout.filter({ hasText: '4' }).waitFor();
  await screenshot(notebook.page, 'reload-widget');
  await notebook.run(1);
  await notebook.waitForPrompt(1, '[2]:');
  assert.match(await notebook.text(1), /^4$/m);
  await notebook.run(2);
  await notebook.waitForPrompt(2, '[*]:');
  await notebook.load({ idle: false });
  await notebook.waitForPrompt(2, '[3]:');
  await readout.filter({ hasText: '39' }).waitFor();
  assert.equal(await handle.count(), 1);
  await notebook.close();
});

test('a widget whose model came in the moment in which its view gave up is shown', options, async () => {
  const notebook = await open('late-widget', ['import ipywidgets\nipywidgets.IntSlider(value=3)']);
  const handle = notebook.output(0).locator('.noUi-handle');
  await notebook.run(0);
  await handle.waitFor();
  // The moment is only a tenth of a second long, so the test writes by hand what the view shows after it, and reconnects.
  const view = notebook.output(0).locator('.jp-OutputArea-output');
  await view.evaluate((node) => node.replaceChildren('Error displaying widget: model not found'));
  await notebook.page.getByText('Kernel', { exact: true }).click();
  await notebook.page.getByText('Reconnect to Kernel', { exact: true }).click();
  await handle.waitFor();
  assert.doesNotMatch(await notebook.output(0).innerText(), /not found/);
  await notebook.close();
});

test('a connection that swallows output and breaks loses nothing', options, async () => {
  const lines = 80;
  await writeNotebook(platform, 'broken', [
    `import time\nfor number in range(${lines}):\n    print('line', number, flush=True)\n    time.sleep(0.1)`,
  ]);
  const context = await browser.newContext();
  const sockets = [];
  let swallows = false;
  await context.routeWebSocket(/\/channels/, (socket) => {
    const server = socket.connectToServer();
    server.onMessage((message) => {
      if (!swallows) socket.send(message);
    });
    sockets.push(socket);
  });
  const notebook = await NotebookPage.open(context, platform, 'broken');
  await notebook.run(0);
  for (const last of [5, 20]) {
    await notebook.waitForText(0, `line ${last}`);
    swallows = true;
    await notebook.page.waitForTimeout(700);
    swallows = false;
    for (const socket of sockets.splice(0)) await socket.close({ code: 4000 });
  }
  await notebook.waitForPrompt(0, '[1]:');
  assert.deepEqual(numbers(await notebook.text(0)), upTo(lines));
  await screenshot(notebook.page, 'reload-broken');
  await notebook.close();
  await context.close();
});
