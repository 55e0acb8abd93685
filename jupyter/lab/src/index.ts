// The plug-ins of banyan-lab.

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import { INotebookTracker, NotebookActions, type INotebookModel } from '@jupyterlab/notebook';

import { droppingRepeats } from './delivery';
import { SessionLog } from './log';
import { Restorer } from './restorer';
import { ISessionLog } from './tokens';
import { showLateWidgets } from './widgets';

/** Makes each message of a kernel come once, and none be lost with a connection. */
const delivery: JupyterFrontEndPlugin<void> = {
  id: 'banyan-lab:delivery',
  description:
    'Has messages sent again that a broken connection may have swallowed, and drops those that came.',
  autoStart: true,
  activate: (app: JupyterFrontEnd) => {
    // Every connection to a kernel is made with these settings, and after all plug-ins have been activated.
    const settings: { WebSocket: typeof WebSocket } = app.serviceManager.serverSettings;
    const { serializer } = app.serviceManager.serverSettings;
    settings.WebSocket = droppingRepeats(settings.WebSocket, (data, protocol) =>
      serializer.deserialize(data, protocol)
    );
  }
};

/** Reads the logs of sessions. */
const log: JupyterFrontEndPlugin<ISessionLog> = {
  id: 'banyan-lab:log',
  description: 'Reads the logs of Banyan sessions.',
  autoStart: true,
  provides: ISessionLog,
  activate: (app: JupyterFrontEnd) => new SessionLog(app.serviceManager.serverSettings)
};

/** Shows in each cell of a notebook what the session's log has. */
const restorer: JupyterFrontEndPlugin<void> = {
  id: 'banyan-lab:restorer',
  description: 'Shows in each cell of a notebook what the log of its Banyan session has.',
  autoStart: true,
  requires: [INotebookTracker, ISessionLog],
  activate: (_: JupyterFrontEnd, notebooks: INotebookTracker, sessions: ISessionLog) => {
    const restorers = new WeakMap<DocumentRegistry.IContext<INotebookModel>, Restorer>();
    notebooks.widgetAdded.connect((_, panel) => {
      // Two views of one notebook share their outputs, and therefore one Restorer.
      let one = restorers.get(panel.context);
      if (one === undefined) {
        one = new Restorer(panel.context, sessions);
        restorers.set(panel.context, one);
      }
      one.addPanel(panel);
    });
    NotebookActions.outputCleared.connect((_, { notebook, cell }) => {
      const panel = notebooks.find(candidate => candidate.content === notebook);
      if (panel !== undefined) restorers.get(panel.context)?.cleared(cell.model.id);
    });
  }
};

/** Shows widgets whose models came late. */
const widgets: JupyterFrontEndPlugin<void> = {
  id: 'banyan-lab:widgets',
  description: 'Shows widgets whose models came late, when a page was loaded while its kernel was busy.',
  autoStart: true,
  requires: [INotebookTracker],
  activate: (_: JupyterFrontEnd, notebooks: INotebookTracker) => {
    notebooks.widgetAdded.connect((_, panel) => {
      showLateWidgets(panel);
    });
  }
};

export { ISessionLog } from './tokens';
export type * from './tokens';
export default [delivery, log, restorer, widgets];
