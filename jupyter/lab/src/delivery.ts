// Delivery of a kernel's messages to this page: each comes once, even if connections break.
//
// A message that was written into a connection which broke may have arrived or not, and only the page knows.
// The gateway sends all such messages again to a client whose WebSocket says in its address that it drops
// repeats. To other clients it sends none of them, and the cell says what may be missing
// (docs/internals/gateway.md, "Clients").

import type { ServerConnection } from '@jupyterlab/services';

const CHANNELS = /\/api\/kernels\/[^/]+\/channels$/;
/**
 * How many messages a client remembers. The gateway closes a connection on which 200,000 are not confirmed.
 */
const REMEMBERED = 200_000;

/**
 * Frames of this sub-protocol begin with the offsets of their parts, so that the header can be read
 * without the rest.
 */
const V1 = 'v1.kernel.websocket.jupyter.org';

type Deserialize = ServerConnection.ISettings['serializer']['deserialize'];

function msgIdOf(data: ArrayBuffer, protocol: string, deserialize: Deserialize): string {
  if (protocol !== V1) return deserialize(data, protocol).header.msg_id;
  const places = new DataView(data);
  const [begin, end] = [2, 3].map(part => Number(places.getBigUint64(8 * part, true)));
  const header = new TextDecoder().decode(new Uint8Array(data).subarray(begin, end));
  return (JSON.parse(header) as { msg_id: string }).msg_id;
}

/** The msg_ids that one client of a kernel has received on all its connections. */
export class Received {
  /** Notes a message. False when it has come before. */
  add(msgId: string): boolean {
    if (this._ids.has(msgId)) return false;
    this._ids.add(msgId);
    if (this._ids.size > REMEMBERED) {
      const [oldest] = this._ids;
      if (oldest !== undefined) this._ids.delete(oldest);
    }
    return true;
  }

  private readonly _ids = new Set<string>(); // In the order in which they came.
}

/**
 * WebSockets as `Base` makes them, except that those of a kernel's channels drop messages that
 * have come before.
 */
export function droppingRepeats(Base: typeof WebSocket, deserialize: Deserialize): typeof WebSocket {
  const clients = new Map<string, Received>();
  return class extends Base {
    constructor(address: string | URL, protocols?: string | string[]) {
      const url = new URL(address, window.location.href);
      const session = url.searchParams.get('session_id');
      const client = CHANNELS.test(url.pathname) && session !== null ? `${url.pathname} ${session}` : null;
      if (client !== null) url.searchParams.set('repeats', 'dropped');
      super(url, protocols);
      if (client === null) return;
      let received = clients.get(client);
      if (received === undefined) {
        received = new Received();
        clients.set(client, received);
      }
      const known = received;
      // The listener that is added first is called first, and keeps a repeated message from the others.
      this.addEventListener('message', (event: MessageEvent<ArrayBuffer>) => {
        const msgId = msgIdOf(event.data, this.protocol, deserialize);
        if (!known.add(msgId)) event.stopImmediatePropagation();
      });
    }
  };
}
