// A platform and a JupyterLab of its own for a test file: gateway, four host agents, free ports, a folder that goes away.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Starts one. Resolves to {url, token, lab, platform, pids: {gateway, h1, …}, folder, stop()} when both serve. */
export async function startPlatform() {
  const folder = await mkdtemp(join(tmpdir(), 'banyan-test-'));
  const child = spawn(join(ROOT, '.venv/bin/python'), ['-m', 'dev.serve', folder], {
    env: { ...process.env, PYTHONPATH: join(ROOT, 'tools') },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let complaint = '';
  child.stderr.on('data', (text) => (complaint += text));
  const ended = new Promise((resolve) => child.once('close', resolve));
  const ready = await Promise.race([
    new Promise((resolve) => createInterface({ input: child.stdout }).once('line', resolve)),
    ended.then((status) => {
      throw new Error(`the platform did not start (status ${status}): ${complaint}`);
    }),
  ]);
  return {
    ...JSON.parse(ready),
    folder,
    /** Ends everything and removes the folder. */
    async stop() {
      child.stdin.end();
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
