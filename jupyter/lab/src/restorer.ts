// One notebook and its kernel: shows in each cell what the session's log has, and goes on from there.
//
// While this page runs a cell and no message of it is lost, JupyterLab's own future shows its outputs.
// Everything else is done here: cells that ran while the page was away, cells that another page runs, and
// cells of this page whose messages were lost with a connection. A message has one msg_id, in the log and on
// the wire, so that what has come or is shown is never shown again. The log is read when the kernel connects
// and when an unknown execution is seen. The answer and the messages travel on different connections, so
// messages that come meanwhile are kept and put behind the answer.

import type { CodeCell, ICodeCellModel } from '@jupyterlab/cells';
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { INotebookModel, NotebookPanel } from '@jupyterlab/notebook';
import { KernelMessage, type Kernel } from '@jupyterlab/services';
import type { JSONObject } from '@lumino/coreutils';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';

import { Asker } from './asker';
import { isOutput } from './outputs';
import { ask } from './question';
import { Hand, Run } from './run';
import { Screen, forgetCleared, noteCleared, noteTimes, wasCleared } from './screen';
import type { ICell, ICellsAnswer, ISessionLog } from './tokens';

type Context = DocumentRegistry.IContext<INotebookModel>;

/** Shows in the cells of one notebook what the session's log has, until the notebook is closed. */
export class Restorer implements IDisposable {
  constructor(context: Context, log: ISessionLog) {
    this._context = context;
    this._log = log;
    context.disposed.connect(this.dispose, this);
    context.sessionContext.kernelChanged.connect(this._attach, this);
    context.sessionContext.connectionStatusChanged.connect(this._onConnection, this);
    void context.ready.then(() => {
      this._attach();
    });
  }

  /** Adds a view of the notebook. Boxes of input() are shown in the first one. */
  addPanel(panel: NotebookPanel): void {
    this._panels.add(panel);
    panel.disposed.connect(() => this._panels.delete(panel));
  }

  /** A person has cleared the outputs of a cell, so they must not come back from the log. */
  cleared(cellId: string): void {
    const execution = this._shown.get(cellId);
    const cell = this._cell(cellId);
    if (execution !== undefined && cell !== null) noteCleared(cell, execution);
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  dispose(): void {
    if (this._disposed) return;
    this._disposed = true;
    this._asker?.stop();
    Signal.clearData(this);
  }

  // The kernel's connection:

  private _onConnection(_: unknown, status: Kernel.ConnectionStatus): void {
    if (status === 'connected') this._asker?.ask();
  }

  private _attach(): void {
    const kernel = this._context.sessionContext.session?.kernel ?? null;
    if (this._disposed || kernel === this._kernel) return;
    this._kernel?.anyMessage.disconnect(this._onAnyMessage, this);
    this._kernel?.iopubMessage.disconnect(this._onIOPub, this);
    this._asker?.stop();
    this._asker = null;
    this._kernel = kernel;
    this._runs.clear();
    this._shown.clear();
    this._unknown.clear();
    this._screen.clear();
    // In a collaborative notebook the server shares the outputs.
    if (kernel === null || this._context.model.collaborative) return;
    this._asker = new Asker(
      this._log,
      kernel.id,
      () => {
        this._onAsk();
      },
      answer => {
        this._take(kernel, answer);
      }
    );
    kernel.anyMessage.connect(this._onAnyMessage, this);
    kernel.iopubMessage.connect(this._onIOPub, this);
    if (kernel.connectionStatus === 'connected') this._asker.ask();
  }

  /** Called when a message arrives or leaves, before JupyterLab handles it. */
  private _onAnyMessage(kernel: Kernel.IKernelConnection, args: Kernel.IAnyMessageArgs): void {
    const { msg, direction } = args;
    if (this._asker === null || this._asker.foreign) return;
    if (direction === 'send') {
      if (msg.header.msg_type === 'execute_request') this._sent(kernel, msg);
      return;
    }
    const run = this._runs.get(parentOf(msg));
    if (KernelMessage.isInputRequestMsg(msg)) {
      if (run === undefined) this._asker.ask();
      else this._ask(kernel, run, msg);
    } else if (run !== undefined && msg.channel === 'iopub' && isOutput(msg.header.msg_type)) {
      if (!run.arrives(msg)) this._done.add(msg);
    }
  }

  /** This page runs a cell. */
  private _sent(kernel: Kernel.IKernelConnection, msg: KernelMessage.IMessage): void {
    const cellId = msg.metadata['cellId'];
    const run = this._begin(msg.header.msg_id, typeof cellId === 'string' ? cellId : '', Hand.Future);
    const cell = this._cell(run.cellId);
    if (cell !== null) forgetCleared(cell);
    queueMicrotask(() => {
      // JupyterLab has made a future for it by now.
      kernel.registerMessageHook(run.execution, message => this._passes(run, message));
      this._askOnce(run);
    });
  }

  /** Shows the box for a question only once, even if the question comes again after a new connection. */
  private _askOnce(run: Run): void {
    const future = this._widget(run.cellId)?.outputArea.future;
    if (future?.msg.header.msg_id !== run.execution) return;
    const ask = future.onStdin;
    future.onStdin = msg => {
      if (this._asked.has(msg.header.msg_id)) return;
      this._asked.add(msg.header.msg_id);
      run.question = msg.header.msg_id;
      return ask(msg);
    };
  }

  /** Whether JupyterLab's future is to show the message. */
  private _passes(run: Run, msg: KernelMessage.IIOPubMessage): boolean {
    if (this._done.has(msg)) return false;
    if (run.hand === Hand.Future || !isOutput(msg.header.msg_type)) return true;
    this._apply(run, msg);
    return false;
  }

  /** Called after JupyterLab has handled a message, in the order of arrival. */
  private _onIOPub(kernel: Kernel.IKernelConnection, msg: KernelMessage.IIOPubMessage): void {
    const parent = msg.parent_header as Partial<KernelMessage.IHeader>;
    const run = this._runs.get(parentOf(msg));
    const output = isOutput(msg.header.msg_type);
    const fresh = run === undefined || !output || run.comes(msg);
    if (this._asker === null || this._asker.foreign || this._done.has(msg) || !fresh) return;
    if (msg.header.msg_type === 'update_display_data')
      this._screen.update(msg.content as unknown as JSONObject);
    if (parent.msg_type !== 'execute_request') return;
    if (run === undefined) {
      this._meet(parentOf(msg), msg);
    } else if (parent.session !== kernel.clientId) {
      this._follow(run, msg);
    }
  }

  /** This page knows nothing of the execution, so the log is asked which cell it belongs to. */
  private _meet(execution: string, msg: KernelMessage.IIOPubMessage): void {
    const known = this._unknown.get(execution);
    if (known !== undefined) {
      known.push(msg);
    } else {
      this._unknown.set(execution, [msg]);
      this._asker?.ask();
    }
  }

  /** A message of an execution that another page has asked for, or this page before it was loaded anew. */
  private _follow(run: Run, msg: KernelMessage.IMessage): void {
    const cell = this._cellOf(run);
    if (cell === null) return;
    if (KernelMessage.isExecuteInputMsg(msg)) {
      run.count = msg.content.execution_count;
    } else if (KernelMessage.isStatusMsg(msg)) {
      if (msg.content.execution_state === 'busy' && !run.ended) cell.executionState = 'running';
      if (msg.content.execution_state === 'idle') this._end(run, cell);
    } else if (isOutput(msg.header.msg_type)) {
      this._apply(run, msg);
    }
  }

  private _apply(run: Run, msg: KernelMessage.IMessage): void {
    const cell = this._cellOf(run);
    if (cell !== null) this._screen.show(cell, msg.header.msg_type, msg.content as JSONObject);
  }

  private _end(run: Run, cell: ICodeCellModel): void {
    run.ended = true;
    if (run.count !== null) cell.executionCount = run.count;
    cell.executionState = 'idle';
  }

  // The log:

  private _onAsk(): void {
    for (const run of this._runs.values()) run.logIsAsked();
    this._unknownAsked = new Set(this._unknown.keys());
  }

  private _take(kernel: Kernel.IKernelConnection, answer: ICellsAnswer): void {
    const open = new Set(answer.waiting.map(cell => cell.execution));
    for (const cell of answer.cells) {
      if ('replaced' in cell) {
        this._screen.updateAll(cell.outputs);
      } else {
        if (cell.status === 'running') open.add(cell.execution);
        this._restore(cell);
      }
    }
    for (const { cell_id, execution } of answer.waiting) this._wait(cell_id, execution);
    for (const run of this._runs.values()) {
      if (run.hand !== Hand.Log || run.ended || open.has(run.execution)) continue;
      const cell = this._cellOf(run);
      if (cell !== null) this._end(run, cell); // The gateway has refused the cell, so it is in no log.
    }
    this._settleUnknown();
    if (answer.input !== null) {
      const msg = { ...answer.input, channel: 'stdin' } as unknown as KernelMessage.IInputRequestMsg;
      const run = this._runs.get(parentOf(msg));
      if (run !== undefined) this._ask(kernel, run, msg);
    }
  }

  /** Makes a cell show what the log has of its last execution. */
  private _restore(logged: ICell): void {
    const run = this._begin(logged.execution, logged.cell_id, Hand.Log);
    const cell = this._cell(logged.cell_id);
    const ended = logged.status !== 'running';
    run.count = logged.execution_count ?? run.count;
    if (logged.outputs === undefined) {
      this._asker?.askLater(); // Its executor cannot be asked at this time.
    } else if (cell === null || wasCleared(cell, logged.execution)) {
      this._screen.updateAll(logged.outputs);
    } else if (run.lacks(logged.outputs)) {
      const before = this._unknown.get(run.execution) ?? [];
      const younger = run.takesOver(logged.outputs, before, msg => this._done.add(msg));
      this._screen.rebuild(cell, logged, logged.outputs, younger);
      this._asked.delete(run.question); // The box has disappeared with the outputs.
    }
    if (cell === null || run.hand === Hand.Future) {
      run.ended = ended;
      return;
    }
    if (ended) this._end(run, cell);
    else if (!run.ended) cell.executionState = 'running';
    const [panel] = this._panels;
    if (panel?.content.notebookConfig.recordTiming === true) noteTimes(cell, logged);
  }

  /** A cell that has not run yet, or of whose start the log does not know. */
  private _wait(cellId: string, execution: string): void {
    if (this._runs.has(execution)) return;
    const cell = this._cell(cellId);
    if (cell === null) return;
    this._begin(execution, cellId, Hand.Log);
    forgetCleared(cell);
    cell.outputs.clear();
    cell.executionCount = null;
    cell.executionState = 'running';
  }

  /** Handles messages that came before it was known to which cell they belong. */
  private _settleUnknown(): void {
    for (const [execution, messages] of [...this._unknown]) {
      const known = this._runs.has(execution);
      if (!known && !this._unknownAsked.has(execution)) continue; // The next answer will tell.
      this._unknown.delete(execution);
      // If the log does not know the execution, it belongs to no cell of this notebook.
      const run = this._begin(execution, '', Hand.Log);
      for (const msg of messages) {
        if (!isOutput(msg.header.msg_type) || run.comes(msg)) this._follow(run, msg);
      }
    }
  }

  /** Shows the box of an input(), unless JupyterLab shows it or it was shown already. */
  private _ask(kernel: Kernel.IKernelConnection, run: Run, msg: KernelMessage.IInputRequestMsg): void {
    const cell = this._widget(run.cellId);
    const future = cell?.outputArea.future as Kernel.IShellFuture | null | undefined;
    if (cell === null || this._asked.has(msg.header.msg_id)) return;
    if (run.hand === Hand.Future && future?.msg.header.msg_id === run.execution) return;
    this._asked.add(msg.header.msg_id);
    run.question = msg.header.msg_id;
    ask(cell, kernel, msg);
  }

  // What is known:

  private _begin(execution: string, cellId: string, hand: Hand): Run {
    const known = this._runs.get(execution);
    if (known !== undefined) return known;
    const run = new Run(execution, cellId, hand);
    this._runs.set(execution, run);
    if (cellId !== '') this._shown.set(cellId, execution);
    return run;
  }

  /** The cell that shows this execution; null once the cell has run again. */
  private _cellOf(run: Run): ICodeCellModel | null {
    return this._shown.get(run.cellId) === run.execution ? this._cell(run.cellId) : null;
  }

  private _cell(cellId: string): ICodeCellModel | null {
    if (cellId === '') return null;
    for (const cell of this._context.model.cells) {
      if (cell.id === cellId) return cell.type === 'code' ? (cell as ICodeCellModel) : null;
    }
    return null;
  }

  private _widget(cellId: string): CodeCell | null {
    for (const panel of this._panels) {
      const found = panel.content.widgets.find(
        cell => cell.model.id === cellId && cell.model.type === 'code'
      );
      if (found !== undefined) return found as unknown as CodeCell;
    }
    return null;
  }

  private readonly _context: Context;
  private readonly _log: ISessionLog;
  private readonly _panels = new Set<NotebookPanel>();
  private readonly _screen = new Screen();
  private _kernel: Kernel.IKernelConnection | null = null;
  private _asker: Asker | null = null;
  private _disposed = false;
  private readonly _runs = new Map<string, Run>(); // By execution.
  private readonly _shown = new Map<string, string>(); // By cell: its last execution.
  // By execution: messages of executions that are not in _runs.
  private readonly _unknown = new Map<string, KernelMessage.IMessage[]>();
  private _unknownAsked = new Set<string>(); // The unknown executions when the log was last asked.
  private readonly _done = new WeakSet(); // Messages that are shown, or that had come before.
  private readonly _asked = new Set<string>(); // The msg_ids of questions that were shown.
}

function parentOf(msg: KernelMessage.IMessage): string {
  return (msg.parent_header as Partial<KernelMessage.IHeader>).msg_id ?? '';
}
