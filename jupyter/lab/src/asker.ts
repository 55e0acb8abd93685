// Asks for the log of one session: one question at a time, and again when nobody has answered.

import type { ICellsAnswer, ISessionLog } from './tokens';

const RETRY_MS_MIN = 500;
const RETRY_MS_MAX = 10_000;

/** The questions of a Restorer. */
export class Asker {
  /** `asks` is called before each question, `takes` with each answer. */
  constructor(
    private readonly _log: ISessionLog,
    private readonly _kernelId: string,
    private readonly _asks: () => void,
    private readonly _takes: (answer: ICellsAnswer) => void
  ) {}

  /** The kernel does not belong to Banyan, so there is nothing to ask. */
  foreign = false;

  /**
   * Asks for what is new since the last answer. If a question is under way, its answer may be too old, so
   * another question follows it.
   */
  ask(): void {
    window.clearTimeout(this._timer);
    if (this._stopped || this.foreign) return;
    if (this._asking) {
      this._again = true;
    } else {
      this._asking = true;
      this._again = false;
      void this._once().then(() => {
        this._asking = false;
        if (this._again) this.ask();
      });
    }
  }

  /** Asks later, because what was needed could not be answered. The delay grows each time. */
  askLater(): void {
    if (this._stopped) return;
    window.clearTimeout(this._timer);
    this._timer = window.setTimeout(() => {
      this.ask();
    }, this._delay);
    this._delay = Math.min(2 * this._delay, RETRY_MS_MAX);
  }

  stop(): void {
    this._stopped = true;
    window.clearTimeout(this._timer);
  }

  private async _once(): Promise<void> {
    this._asks();
    try {
      const answer = await this._log.cells(this._kernelId, this._after);
      if (this._stopped) return;
      this.foreign = answer === null;
      this._delay = RETRY_MS_MIN;
      if (answer !== null) {
        this._after = answer.last;
        this._takes(answer);
      }
    } catch {
      this.askLater();
    }
  }

  private _after = 0;
  private _asking = false;
  private _again = false;
  private _stopped = false;
  private _timer = 0;
  private _delay = RETRY_MS_MIN;
}
