// What other plug-ins may use: the token of the plug-in that reads logs, and the form of the answers.

import { Token } from '@lumino/coreutils';
import type { JSONObject } from '@lumino/coreutils';

/** One message of a cell's outputs in the session's log. It has the msg_id that it had on the wire. */
export interface ILoggedMessage {
  readonly msg_id: string;
  readonly msg_type: string;
  readonly content: JSONObject;
  readonly metadata: JSONObject;
}

/** In the place of messages that were not kept: their number. */
export interface IMissing {
  readonly missing: number;
}

export type LoggedOutput = ILoggedMessage | IMissing;

export type CellStatus = 'running' | 'ok' | 'error' | 'aborted' | 'lost';

/** The last execution of a cell. */
export interface ILoggedCell {
  readonly cell_id: string;
  /** The msg_id of its execute_request. */
  readonly execution: string;
  readonly status: CellStatus;
  readonly execution_count: number | null;
  /** Absent when it is running and nobody who has its outputs can be asked. */
  readonly outputs?: readonly LoggedOutput[];
  readonly started_at?: string;
  readonly ended_at?: string;
  /** Why it was lost or aborted, in words for the user. */
  readonly reason?: string;
  readonly replaced?: undefined;
}

/**
 * An execution whose cell has run again since, or which has no cell. Only its updates of displays are left.
 */
export interface IReplacedExecution {
  readonly execution: string;
  readonly replaced: true;
  readonly outputs: readonly LoggedOutput[];
}

/** The answer to GET /api/banyan/sessions/ID/cells. */
export interface ISessionCells {
  /** Pass it as `after` to ask for what has ended since. */
  readonly last: number;
  /** In the order in which they ended; the running one is the last. */
  readonly cells: readonly (ILoggedCell | IReplacedExecution)[];
  /** Cells that were accepted and have not ended, in their order; the running one is the first. */
  readonly waiting: readonly { readonly cell_id: string; readonly execution: string }[];
  /** The request of an input() that waits for an answer. */
  readonly input: {
    readonly header: JSONObject;
    readonly parent_header: JSONObject;
    readonly content: JSONObject;
  } | null;
}

/** Reads the logs of sessions. */
export interface ISessionLog {
  /**
   * The outputs of a session's cells that ended after the number `after` (0: all cells). Resolves to null
   * when the kernel does not belong to Banyan. Rejects when nobody answers at this time.
   */
  cells(kernelId: string, after: number): Promise<ISessionCells | null>;
}

export const ISessionLog = new Token<ISessionLog>(
  'banyan-lab:ISessionLog',
  'Reads the logs of Banyan sessions.'
);
