import type { ToldUsage } from '../providers/provider.js';

/** A stream that broke off once something of an answer had come: that is paid for. `cause` is what broke it. */
export class BrokenOff extends Error {
  override readonly name = 'BrokenOff';

  constructor(
    cause: unknown,
    /** All that came: text, reasoning and the arguments of calls. */
    readonly said: string,
    readonly usage: ToldUsage,
  ) {
    super('the answer broke off', { cause });
  }
}
