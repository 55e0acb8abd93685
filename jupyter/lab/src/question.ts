// The box of an input() that a cell called before this page was loaded.

import type { CodeCell } from '@jupyterlab/cells';
import type { Kernel, KernelMessage } from '@jupyterlab/services';

/**
 * The part of an output area that shows the box. It is protected there, because JupyterLab calls it
 * from futures only.
 */
interface IAsks {
  onInputRequest(
    msg: KernelMessage.IInputRequestMsg,
    future: Pick<Kernel.IShellFuture, 'sendInputReply'>
  ): void;
}

/** Shows the box in the cell, as JupyterLab would, and sends the answer to the kernel. */
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
