// Debian's Chromium under Playwright, with flags for a machine without a display, a GPU or a network.
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { chromium } from 'playwright-core';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const CHROMIUM = '/usr/bin/chromium';

/** Why there can be no browser here; null when there can. Give it to a test as its `skip`. */
export const noBrowser = existsSync(CHROMIUM) ? null : `no ${CHROMIUM}`;

/** A browser with a profile of its own. Close it. */
export function launchBrowser() {
  return chromium.launch({
    executablePath: CHROMIUM,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** Where a test leaves a picture for people: artifacts/NAME.png. */
export async function screenshot(page, name) {
  const folder = join(ROOT, 'artifacts');
  await mkdir(folder, { recursive: true });
  const path = join(folder, `${name}.png`);
  await page.screenshot({ path });
  return path;
}
