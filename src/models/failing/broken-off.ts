import type { ReportedUsage } from '../providers/provider.js';

/** A stream broke off after a part of an answer, which the provider bills. `cause` is the original error. */
export class BrokenOff extends Error {
  override readonly name = 'BrokenOff';

  constructor(
    cause: unknown,
    /** Everything received: text, reasoning and the arguments of calls. */
    readonly said: string,
    readonly usage: ReportedUsage,
  ) {
    super('the answer broke off', { cause });
  }
}
