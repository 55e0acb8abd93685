// Reads the log of a session by REST, through the Jupyter server.

import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';

import type { ICellsAnswer, ISessionLog } from './tokens';

export class SessionLog implements ISessionLog {
  constructor(settings: ServerConnection.ISettings) {
    this._settings = settings;
  }

  async cells(kernelId: string, after: number): Promise<ICellsAnswer | null> {
    const path = `api/banyan/sessions/${encodeURIComponent(kernelId)}/cells`;
    const url = URLExt.join(this._settings.baseUrl, path) + `?after=${after}`;
    const response = await ServerConnection.makeRequest(url, { method: 'GET' }, this._settings);
    if (response.status === 404) return null; // The server is another one, or the kernel is its own.
    if (!response.ok) throw await ServerConnection.ResponseError.create(response);
    return (await response.json()) as ICellsAnswer;
  }

  private readonly _settings: ServerConnection.ISettings;
}
