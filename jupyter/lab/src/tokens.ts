// What other plug-ins may ask for: the history panel and the dashboard will.

import { Token } from '@lumino/coreutils';
import type { JSONObject } from '@lumino/coreutils';

/** One message of a cell's outputs, as the session's log has it. The msg_id is the one it had on the wire. */
export interface ILoggedMessage {
  readonly msg_id: string;
  readonly msg_type: string;
  readonly content: JSONObject;
  readonly metadata: JSONObject;
}

/** So many messages came where this stands, and were not kept. */
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
  /** Absent where it runs and nobody who can be asked knows. */
  readonly outputs?: readonly LoggedOutput[];
  readonly started_at?: string;
  readonly ended_at?: string;
  /** Why it was lost or aborted, for a person. */
  readonly reason?: string;
  readonly replaced?: undefined;
}

/** An execution whose cell ran again since, or that has none: only its updates of displays are left. */
export interface IReplacedExecution {
  readonly execution: string;
  readonly replaced: true;
  readonly outputs: readonly LoggedOutput[];
}

/** The answer of GET /api/banyan/sessions/ID/cells. */
export interface ISessionCells {
  /** Pass it to ask for what ended since. */
  readonly last: number;
  /** In the order of their ends; the one that runs at last. */
  readonly cells: readonly (ILoggedCell | IReplacedExecution)[];
  /** Accepted and not ended, in their order: the one that runs is the first. */
  readonly waiting: readonly { readonly cell_id: string; readonly execution: string }[];
  /** What input() asks now. */
  readonly input: {
    readonly header: JSONObject;
    readonly parent_header: JSONObject;
    readonly content: JSONObject;
  } | null;
}

/** Reads the logs of sessions. */
export interface ISessionLog {
  /**
   * What the cells of a session that ended after `after` (0: all) have put out. Resolves to null where the kernel
   * is none of Banyan's; rejects when nobody answers now.
   */
  cells(kernelId: string, after: number): Promise<ISessionCells | null>;
}

export const ISessionLog = new Token<ISessionLog>(
  'banyan-lab:ISessionLog',
  'Reads the logs of Banyan sessions.'
);
