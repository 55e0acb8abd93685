// Tests the browser itself: if this fails, no other browser test can say anything about the platform.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { launchBrowser, noBrowser } from '../lib/browser.mjs';

test('Chromium renders a page and runs its script', { skip: noBrowser ?? false }, async () => {
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    await page.setContent('<p id="sum"></p><script>sum.textContent = 1 + 1</script>');
    assert.equal(await page.textContent('#sum'), '2');
  } finally {
    await browser.close();
  }
});
