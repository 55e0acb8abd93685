// A notebook in JupyterLab, used as a person at a browser uses it.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const PATIENCE_MS = Number(process.env.PATIENCE_MS ?? 60_000);

/** Writes NAME.ipynb for the platform's JupyterLab: one code cell for each source, with the ids cell-0, cell-1, … */
export async function writeNotebook(platform, name, sources) {
  const cells = sources.map((source, number) => ({
    cell_type: 'code',
    id: `cell-${number}`,
    metadata: {},
    execution_count: null,
    outputs: [],
    source,
  }));
  const kernelspec = { name: 'python3', display_name: 'Python 3', language: 'python' };
  const notebook = { cells, metadata: { kernelspec }, nbformat: 4, nbformat_minor: 5 };
  await writeFile(join(platform.folder, 'notebooks', `${name}.ipynb`), JSON.stringify(notebook));
}

/** Waits until the notebook's kernel is connected and does nothing, or (without `idle`) may do something. */
export function connected(page, { idle = true } = {}) {
  // The status bar is right. The notebook's own indicator says 'idle' even before there is a kernel.
  const status = page.locator('#jp-main-statusbar').getByText(idle ? /^Python 3.* \| Idle$/ : /^Python 3.* \| (Idle|Busy)$/);
  return status.waitFor({ timeout: 60_000 });
}

/** One browser page with one notebook. */
export class NotebookPage {
  constructor(page, url) {
    this.page = page;
    this.url = url;
    this.cells = page.locator('.jp-NotebookPanel:not(.lm-mod-hidden) .jp-CodeCell');
  }

  /** Opens the notebook and waits until its kernel is connected and, with `idle`, does nothing. */
  static async open(browser, platform, name, { idle = true } = {}) {
    const page = await browser.newPage({ viewport: { width: 1200, height: 1400 } });
    const news = page.getByText('notified about official Jupyter news');
    await page.addLocatorHandler(news, () => page.getByRole('button', { name: 'No', exact: true }).click());
    page.on('dialog', (dialog) => dialog.accept().catch(() => undefined)); // 'Leave site?'
    const url = new URL(platform.lab);
    url.pathname = `/lab/tree/${name}.ipynb`;
    url.searchParams.set('reset', '');
    const notebook = new NotebookPage(page, url.href);
    await notebook.load({ idle });
    return notebook;
  }

  /** Loads the page (anew), as if a person had pressed F5 or had come back. Nothing is saved before. */
  async load({ idle = true } = {}) {
    await this.page.goto(this.url);
    await this.cells.first().waitFor({ timeout: 60_000 });
    await connected(this.page, { idle });
  }

  /** Runs a cell, and does not wait for it. */
  async run(number) {
    await this.cells.nth(number).locator('.cm-content').click();
    await this.page.keyboard.press('Control+Enter');
  }

  /** The prompt at the left of a cell: '[*]:', '[3]:' or '[ ]:'. */
  prompt(number) {
    return this.cells.nth(number).locator('.jp-InputPrompt');
  }

  async waitForPrompt(number, text, timeout = PATIENCE_MS) {
    await this.prompt(number).filter({ hasText: text }).waitFor({ timeout });
  }

  /** All of a cell's outputs. */
  output(number) {
    return this.cells.nth(number).locator('.jp-OutputArea');
  }

  /** The text of its outputs. */
  async text(number) {
    const parts = await this.cells.nth(number).locator('.jp-OutputArea-output').allInnerTexts();
    return parts.join('\n');
  }

  /** The numbers N of the lines 'line N' in a cell's outputs. */
  async lines(number) {
    return [...(await this.text(number)).matchAll(/line (\d+)$/gm)].map((match) => Number(match[1]));
  }

  async waitForText(number, text, timeout = PATIENCE_MS) {
    await this.output(number).filter({ hasText: text }).first().waitFor({ timeout });
  }

  save() {
    return this.page.keyboard.press('Control+s').then(() => this.page.locator('.jp-mod-dirty').waitFor({ state: 'detached' }));
  }

  close() {
    return this.page.close({ runBeforeUnload: false });
  }
}
