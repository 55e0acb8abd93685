// Which outputs show which display, so that an update finds them, whichever cell it comes from.

import type { IOutputAreaModel } from '@jupyterlab/outputarea';
import type { IOutputModel } from '@jupyterlab/rendermime';
import type { JSONObject } from '@lumino/coreutils';

import { bundleOf } from './outputs';

interface IPlace {
  readonly outputs: IOutputAreaModel;
  item: IOutputModel;
}

function indexOf(place: IPlace): number {
  for (let index = 0; index < place.outputs.length; ++index) {
    if (place.outputs.get(index) === place.item) return index;
  }
  return -1;
}

/** The outputs of all displays of one notebook. */
export class Displays {
  /** Notes that the last output of this list shows the display. */
  add(displayId: string, outputs: IOutputAreaModel): void {
    if (outputs.length === 0) return;
    const places = (this._places.get(displayId) ?? []).filter(place => indexOf(place) >= 0);
    places.push({ outputs, item: outputs.get(outputs.length - 1) });
    this._places.set(displayId, places);
  }

  update(displayId: string, content: JSONObject): void {
    for (const place of this._places.get(displayId) ?? []) {
      const index = indexOf(place);
      if (index < 0) continue; // The output was cleared.
      place.outputs.set(index, bundleOf('update_display_data', content));
      place.item = place.outputs.get(index);
    }
  }

  clear(): void {
    this._places.clear();
  }

  private readonly _places = new Map<string, IPlace[]>();
}
