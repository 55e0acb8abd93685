// The answers of Banyan's REST API that this extension reads.
// Written by `PYTHONPATH=tools .venv/bin/python -m dev.api_types`.

import type { JSONObject } from '@lumino/coreutils';

export interface IOutput {
  readonly content: JSONObject;
  readonly metadata: JSONObject;
  readonly msg_id: string;
  readonly msg_type: string;
}

export interface IMissingOutputs {
  /** How many. */
  readonly missing: number;
}

export interface ICell {
  readonly cell_id: string;
  readonly ended_at?: string;
  /** The msg_id of its execute_request. */
  readonly execution: string;
  readonly execution_count: number | null;
  /** Left out when it is running and nobody who has its outputs can be asked. */
  readonly outputs?: readonly (IOutput | IMissingOutputs)[];
  /** Why it was lost or aborted, in words for the user. */
  readonly reason?: string;
  readonly started_at?: string;
  readonly status: 'running' | 'ok' | 'error' | 'aborted' | 'lost';
}

export interface IReplacedExecution {
  /** The msg_id of its execute_request. */
  readonly execution: string;
  readonly outputs: readonly (IOutput | IMissingOutputs)[];
  /** Tells it from a cell. */
  readonly replaced: true;
}

export interface IInputRequest {
  readonly content: JSONObject;
  readonly header: JSONObject;
  readonly parent_header: JSONObject;
}

export interface IWaitingCell {
  readonly cell_id: string;
  /** The msg_id of its execute_request. */
  readonly execution: string;
}

export interface ICellsAnswer {
  /** In the order in which they ended; the running one is the last. */
  readonly cells: readonly (ICell | IReplacedExecution)[];
  /** The request of an input() that waits for an answer; null when none waits. */
  readonly input: IInputRequest | null;
  /** `after` of the question for what has ended since. */
  readonly last: number;
  /** Cells that were accepted and have not ended; the running one is the first. */
  readonly waiting: readonly IWaitingCell[];
}
