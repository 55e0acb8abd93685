// The box of an input() that was asked before this page was there.

import type { CodeCell } from '@jupyterlab/cells';
import type { Kernel, KernelMessage } from '@jupyterlab/services';

/** The part of an output area that shows the box. It is protected there: JupyterLab calls it from futures only. */
interface IAsks {
  onInputRequest(
    msg: KernelMessage.IInputRequestMsg,
    future: Pick<Kernel.IShellFuture, 'sendInputReply'>
  ): void;
}

/** Asks in the cell, as JupyterLab would; the answer goes to the kernel. */
export function ask(
  cell: CodeCell,
  kernel: Kernel.IKernelConnection,
  msg: KernelMessage.IInputRequestMsg
): void {
  (cell.outputArea as unknown as IAsks).onInputRequest(msg, {
    sendInputReply: (content, parent) => {
      kernel.sendInputReply(content, parent);
    }
  });
}
