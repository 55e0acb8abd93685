// A platform and a JupyterLab for one test file: a gateway, four host agents, free ports, a folder that is removed later.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/**
 * Starts both. Resolves to {url, token, lab, platform, pids: {gateway, h1, …}, folder, tell(), stop()} when both serve.
 * lossy: pages reach the Jupyter Server, and the server reaches the gateway, through proxies that tell('swallow …')
 * makes lose messages.
 */
export async function startPlatform({ lossy = false } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'banyan-test-'));
  const argv = ['-m', 'harness.serve', folder, ...(lossy ? ['--lossy'] : [])];
  const child = spawn(join(ROOT, '.venv/bin/python'), argv, {
    env: { ...process.env, PYTHONPATH: join(ROOT, 'tools') },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let complaint = '';
  child.stderr.on('data', (text) => (complaint += text));
  const ended = new Promise((resolve) => child.once('close', resolve));
  const lines = createInterface({ input: child.stdout });
  const failed = ended.then((status) => {
    throw new Error(`the platform has ended (status ${status}): ${complaint}`);
  });
  failed.catch(() => undefined);
  const answer = () => Promise.race([new Promise((resolve) => lines.once('line', resolve)), failed]);
  const ready = await answer();
  let told = Promise.resolve();
  return {
    ...JSON.parse(ready),
    folder,
    /** Sends a command of tools/harness/serve.py, such as 'restart gateway SIGKILL', and waits until it is done. */
    tell(command) {
      told = told.then(() => {
        child.stdin.write(`${command}\n`);
        return answer();
      });
      return told;
    },
    /** Ends everything and removes the folder. */
    async stop() {
      child.stdin.end();
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
