// What other plug-ins may use: the token of the plug-in that reads logs, and the form of the answers.

import { Token } from '@lumino/coreutils';

import type { ICellsAnswer, IMissingOutputs, IOutput } from './api';

export type * from './api';

/** A message of a cell's outputs, or in the place of messages that were not kept their number. */
export type LoggedOutput = IOutput | IMissingOutputs;

/** Reads the logs of sessions. */
export interface ISessionLog {
  /**
   * The outputs of a session's cells that ended after the number `after` (0: all cells). Resolves to null
   * when the kernel does not belong to Banyan. Rejects when nobody answers at this time.
   */
  cells(kernelId: string, after: number): Promise<ICellsAnswer | null>;
}

export const ISessionLog = new Token<ISessionLog>(
  'banyan-lab:ISessionLog',
  'Reads the logs of Banyan sessions.'
);
