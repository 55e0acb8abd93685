// One execution of a cell, as this page knows it.

import type { KernelMessage } from '@jupyterlab/services';

import { isOutput } from './outputs';
import type { LoggedOutput } from './tokens';

/** Who puts the outputs of an execution into its cell. */
export enum Hand {
  /** JupyterLab's future does: this page has asked for the execution, and has all of its messages. */
  Future,
  /** This extension does, from the log and from messages. */
  Log
}

/** Which messages of the execution have come, and which of them are shown. */
export class Run {
  constructor(
    readonly execution: string,
    readonly cellId: string,
    public hand: Hand
  ) {}

  ended = false;
  /** The number that its cell shows in the end. */
  count: number | null = null;
  /** The msg_id of the question that its cell shows in a box. */
  question = '';

  /** Notes an output that arrives. False when it has arrived before. */
  arrives(msg: KernelMessage.IMessage): boolean {
    if (this._received.has(msg.header.msg_id)) return false;
    this._received.add(msg.header.msg_id);
    this._recent.push(msg);
    this._pending.add(msg);
    return true;
  }

  /** Notes that JupyterLab has handled an output. False when it is shown already. */
  comes(msg: KernelMessage.IMessage): boolean {
    return this._pending.delete(msg) || this.arrives(msg);
  }

  /** The log is asked now. Messages that come from here on may be younger than its answer. */
  logIsAsked(): void {
    this._recent = this._recent.filter(msg => this._pending.has(msg));
  }

  /** Whether the log has an output that has not arrived. */
  lacks(outputs: readonly LoggedOutput[]): boolean {
    if (this.hand === Hand.Log && !this._taken) return true;
    return outputs.some(
      output => 'msg_id' in output && output.msg_id !== this.execution && !this._received.has(output.msg_id)
    );
  }

  /**
   * The outputs of the log are shown now. Returns the messages that are younger than these.
   *
   * `before` came before the run was known. `shown` is called for each message that JupyterLab has not
   * handled yet and must not show.
   */
  takesOver(
    outputs: readonly LoggedOutput[],
    before: readonly KernelMessage.IMessage[],
    shown: (msg: KernelMessage.IMessage) => void
  ): KernelMessage.IMessage[] {
    this.hand = Hand.Log;
    this._taken = true;
    const known = new Set<string>();
    for (const output of outputs) {
      if ('msg_id' in output) known.add(output.msg_id);
    }
    const younger: KernelMessage.IMessage[] = [];
    for (const msg of [...before, ...this._recent]) {
      if (known.has(msg.header.msg_id) || !isOutput(msg.header.msg_type)) continue;
      known.add(msg.header.msg_id);
      younger.push(msg);
    }
    this._pending.forEach(shown);
    this._pending.clear();
    for (const id of known) this._received.add(id);
    this._recent = younger;
    return younger;
  }

  private _taken = false; // Whether the outputs of the log are shown.
  private readonly _received = new Set<string>(); // The msg_ids of outputs that have arrived.
  // Those that JupyterLab has not handled yet.
  private readonly _pending = new Set<KernelMessage.IMessage>();
  private _recent: KernelMessage.IMessage[] = []; // Those that have come since the log was asked.
}
