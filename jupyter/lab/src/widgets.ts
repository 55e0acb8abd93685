// Shows widgets that the page could not show at once.
//
// A view waits two seconds for its model. When the kernel is busy while the page is loaded, the models come
// later, and views that have given up are shown then. A view that gives up at the very moment at which they
// come keeps saying that its model was not found (ipywidgets 8.1). Such an output is rendered once more here.

import type { CodeCell } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { Kernel } from '@jupyterlab/services';

const WIDGET_VIEW = 'application/vnd.jupyter.widget-view+json';
const SETTLES_MS = 3000; // The two seconds, and some more in which the models are made.

/**
 * Renders the outputs of this notebook that show no widget once more, each time its kernel is
 * connected and has time.
 */
export function showLateWidgets(panel: NotebookPanel): void {
  const { sessionContext } = panel;
  let asked: Kernel.IKernelConnection | null = null; // The kernel whose answer is awaited.
  const look = async (): Promise<void> => {
    const kernel = sessionContext.session?.kernel ?? null;
    if (kernel === null || kernel === asked || kernel.connectionStatus !== 'connected') return;
    asked = kernel;
    try {
      // The answer comes when those to the requests for models have come, because the kernel
      // answers in order.
      const { content } = await kernel.requestCommInfo({});
      if (content.status !== 'ok') return;
      await new Promise(resolve => setTimeout(resolve, SETTLES_MS));
      if (!panel.isDisposed) showAgain(panel, new Set(Object.keys(content.comms)));
    } catch {
      // The connection or the kernel has ended; the next one will be asked.
    } finally {
      if (asked === kernel) asked = null;
    }
  };
  const onConnection = (): void => void look();
  sessionContext.connectionStatusChanged.connect(onConnection);
  panel.disposed.connect(() => sessionContext.connectionStatusChanged.disconnect(onConnection));
  onConnection();
}

/** models: the ids of those that the kernel has. */
function showAgain(panel: NotebookPanel, models: ReadonlySet<string>): void {
  for (const cell of panel.content.widgets) {
    if (cell.model.type !== 'code') continue;
    const { outputArea } = cell as unknown as CodeCell;
    const outputs = outputArea.model;
    outputArea.widgets.forEach((shown, index) => {
      if (index >= outputs.length) return;
      const asks = outputs.get(index).data[WIDGET_VIEW] as { model_id?: string } | undefined;
      if (!models.has(asks?.model_id ?? '')) return;
      const view = shown.node.querySelector('.jp-OutputArea-output');
      if (view?.childElementCount === 0) outputs.set(index, outputs.get(index).toJSON());
    });
  }
}
