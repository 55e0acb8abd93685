// @jupyterlab/services, the library under JupyterLab, against the gateway itself and through a Jupyter Server.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { KernelManager, ServerConnection } from '@jupyterlab/services';
import WebSocket from 'ws';

import { startPlatform } from './lib/platform.mjs';

const WAYS = ['the gateway', 'Jupyter Server'];

let platform;
const managers = new Map();

before(async () => {
  platform = await startPlatform();
  for (const [way, baseUrl] of [[WAYS[0], platform.url], [WAYS[1], new URL(platform.lab).origin]]) {
    const serverSettings = ServerConnection.makeSettings({
      baseUrl,
      wsUrl: baseUrl.replace('http', 'ws'),
      token: platform.token,
      appendToken: true,
      WebSocket,
    });
    managers.set(way, new KernelManager({ serverSettings }));
    await managers.get(way).ready;
  }
}, { timeout: 120_000 });

after(async () => {
  for (const manager of managers.values()) manager.dispose();
  await platform?.stop();
});

/** Runs a test over each way to the platform, with a new kernel, and shuts the kernel down afterwards. */
function kernelTest(name, body) {
  for (const way of WAYS) {
    test(`${name}, through ${way}`, { timeout: 120_000 }, async () => {
      const kernel = await managers.get(way).startNew({ name: 'python3' });
      try {
        await kernel.info;
        await body(kernel);
      } finally {
        await kernel.shutdown();
        kernel.dispose();
      }
    });
  }
}

/** Runs a cell and returns its reply, the text of each stream and its result. `onOutput` sees each IOPub message. */
async function run(kernel, code, onOutput = () => {}) {
  const cell = { stdout: '', stderr: '', result: undefined };
  const future = kernel.requestExecute({ code });
  future.onIOPub = (message) => {
    if (message.header.msg_type === 'stream') cell[message.content.name] += message.content.text;
    if (message.header.msg_type === 'execute_result') cell.result = message.content.data['text/plain'];
    onOutput(message);
  };
  const reply = await future.done;
  return { ...cell, reply: reply.content };
}

/** Resolves when the cell has printed something. */
function startedCell(kernel, code) {
  let ended;
  const started = new Promise((resolve) => {
    ended = run(kernel, code, (message) => message.header.msg_type === 'stream' && resolve());
  });
  return { started, ended };
}

kernelTest('cells run and share variables', async (kernel) => {
  await run(kernel, 'x = 20');
  const cell = await run(kernel, "print('hello'); 2 * x + 2");
  assert.equal(cell.reply.status, 'ok');
  assert.equal(cell.stdout, 'hello\n');
  assert.equal(cell.result, '42');
});

kernelTest('an error is a reply with its name', async (kernel) => {
  const { reply } = await run(kernel, '1 / 0');
  assert.equal(reply.status, 'error');
  assert.equal(reply.ename, 'ZeroDivisionError');
});

kernelTest('an interrupt ends the cell and keeps the variables', async (kernel) => {
  await run(kernel, 'kept = 1');
  const { started, ended } = startedCell(kernel, "print('go', flush=True)\nimport time\nfor _ in range(600): time.sleep(0.1)");
  await started;
  await kernel.interrupt();
  assert.equal((await ended).reply.ename, 'KeyboardInterrupt');
  assert.equal((await run(kernel, 'kept')).result, '1');
});

kernelTest('a restart clears the variables', async (kernel) => {
  await run(kernel, 'x = 1');
  await kernel.restart();
  assert.equal((await run(kernel, 'x')).reply.ename, 'NameError');
});

kernelTest('a reconnect in mid-cell loses no output', async (kernel) => {
  const code = 'import time\nfor n in range(30): print(n, flush=True); time.sleep(0.1)';
  const { started, ended } = startedCell(kernel, code);
  await started;
  await kernel.reconnect();
  const { stdout, stderr } = await ended;
  const numbers = new Set(stdout.trim().split('\n').map(Number));
  assert.deepEqual([...numbers].sort((a, b) => a - b), [...Array(30).keys()]);
  // This library drops no repeats, and the gateway cannot know whether it had read the last line when it hung up.
  assert.match(stderr, /^(\[banyan: the connection broke here; up to 1 message .* may be missing\. .*\]\n)?$/);
});

kernelTest('input is asked and answered', async (kernel) => {
  const future = kernel.requestExecute({ code: "print('Hello', input('Who? '))", allow_stdin: true });
  let printed = '';
  future.onStdin = (message) => {
    assert.equal(message.content.prompt, 'Who? ');
    kernel.sendInputReply({ status: 'ok', value: 'Ada' }, message.header);
  };
  future.onIOPub = (message) => (printed += message.content.text ?? '');
  await future.done;
  assert.equal(printed.trim(), 'Hello Ada');
});

kernelTest('a comm carries binary buffers both ways', async (kernel) => {
  await run(
    kernel,
    `
def opened(comm, message):
    comm.on_msg(lambda m: comm.send({}, buffers=m['buffers']))
get_ipython().kernel.comm_manager.register_target('echo', opened)`,
  );
  const sent = new Uint8Array([0xff, 0x00, 0xfe, 0x80]);
  const comm = kernel.createComm('echo');
  const answer = new Promise((resolve) => (comm.onMsg = resolve));
  await comm.open({}).done;
  await comm.send({}, undefined, [sent.buffer]).done;
  const [buffer] = (await answer).buffers;
  assert.deepEqual(new Uint8Array(buffer.buffer ?? buffer, buffer.byteOffset ?? 0, buffer.byteLength), sent);
});

kernelTest('the host that runs the cells may die between two of them', async (kernel) => {
  await run(kernel, 'x = list(range(5))');
  const response = await fetch(`${platform.url}/api/banyan/sessions`, {
    headers: { Authorization: `token ${platform.token}` },
  });
  const { executor } = (await response.json()).find((session) => session.id === kernel.id);
  process.kill(platform.pids[executor], 'SIGKILL');
  assert.equal((await run(kernel, 'sum(x)')).result, '10');
});
