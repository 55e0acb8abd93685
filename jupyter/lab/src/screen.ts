// What cells show: built anew from the log, or continued by messages.

import type { ICodeCellModel } from '@jupyterlab/cells';
import { OutputAreaModel } from '@jupyterlab/outputarea';
import type { KernelMessage } from '@jupyterlab/services';
import { JSONExt, type JSONObject } from '@lumino/coreutils';

import { Displays } from './displays';
import { comparable, displayOf, joined, missingNote, show } from './outputs';
import type { ICell, LoggedOutput } from './tokens';

/** The key under which the extension keeps a note in a cell's metadata. */
const NOTE = 'banyan';

/** Writes into the outputs of a notebook's cells, and knows which of them show a display. */
export class Screen {
  /** Shows a message of the cell's execution. */
  show(cell: ICodeCellModel, msgType: string, content: JSONObject): void {
    show(cell.outputs, msgType, content);
    const display = displayOf(content);
    if (display !== '' && msgType === 'display_data') this._displays.add(display, cell.outputs);
  }

  /** Updates every output of a display, whichever cell shows it. */
  update(content: JSONObject): void {
    this._displays.update(displayOf(content), content);
  }

  /** Applies the updates of displays of an execution whose own outputs are not shown. */
  updateAll(outputs: readonly LoggedOutput[]): void {
    for (const output of outputs) {
      if ('msg_id' in output && output.msg_type === 'update_display_data') this.update(output.content);
    }
  }

  /** Shows the outputs of the log, and those messages that are younger than its answer. */
  rebuild(
    cell: ICodeCellModel,
    logged: ICell,
    outputs: readonly LoggedOutput[],
    younger: readonly KernelMessage.IMessage[]
  ): void {
    if (younger.length === 0 && shows(cell, logged, outputs)) return;
    cell.outputs.clear();
    cell.trusted = true; // As the outputs of a cell that this page runs.
    for (const output of joined(outputs)) {
      if ('missing' in output) show(cell.outputs, 'stream', missingNote(output.missing));
      else this._add(cell, output.msg_type, output.content);
    }
    for (const msg of younger) this._add(cell, msg.header.msg_type, msg.content as JSONObject);
    if (logged.status === 'lost') show(cell.outputs, 'error', lostError(logged.reason));
  }

  clear(): void {
    this._displays.clear();
  }

  private _add(cell: ICodeCellModel, msgType: string, content: JSONObject): void {
    if (msgType === 'update_display_data') this.update(content);
    else this.show(cell, msgType, content);
  }

  private readonly _displays = new Displays();
}

/** Whether the cell shows these outputs already, because they are in the notebook's file. */
function shows(cell: ICodeCellModel, logged: ICell, outputs: readonly LoggedOutput[]): boolean {
  if (logged.status === 'running' || logged.status === 'lost') return false;
  const sameRun = cell.executionCount === logged.execution_count;
  // The file has more than the log.
  if (outputs.some(output => 'missing' in output)) return sameRun && cell.outputs.length > 0;
  // An output that was not built here is not known as the place of its display.
  if (outputs.some(output => 'msg_id' in output && displayOf(output.content) !== '')) return false;
  const made = new OutputAreaModel({ trusted: true });
  for (const output of joined(outputs)) {
    if ('msg_id' in output) show(made, output.msg_type, output.content);
  }
  const equal = JSONExt.deepEqual(comparable(made.toJSON()), comparable(cell.outputs.toJSON()));
  made.dispose();
  return equal;
}

function lostError(reason = 'No reason is known'): JSONObject {
  const text =
    `${reason}. The cell may have run partly; it is not run again by itself. ` +
    'Variables are as they were before the cell.';
  return { ename: 'ExecutionLost', evalue: text, traceback: [`ExecutionLost: ${text}`] };
}

/** Notes that a person has cleared the outputs of this execution. */
export function noteCleared(cell: ICodeCellModel, execution: string): void {
  cell.setMetadata(NOTE, { cleared: execution });
}

export function wasCleared(cell: ICodeCellModel, execution: string): boolean {
  const note = cell.getMetadata(NOTE) as { cleared?: string } | undefined;
  return note?.cleared === execution;
}

/** The cell runs anew, so what a person has cleared no longer counts. */
export function forgetCleared(cell: ICodeCellModel): void {
  if (cell.getMetadata(NOTE) !== undefined) cell.deleteMetadata(NOTE);
}

/** Notes the times in the form that JupyterLab's recordTiming uses. */
export function noteTimes(cell: ICodeCellModel, logged: ICell): void {
  if (logged.ended_at === undefined) return;
  cell.setMetadata('execution', {
    'iopub.status.busy': logged.started_at ?? logged.ended_at,
    'shell.execute_reply': logged.ended_at
  });
}
