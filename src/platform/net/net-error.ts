import type { NetFault, NetFaultKind } from './contract.js';

/** A fault as an error within this folder: `request` converts it to a result. */
export class NetError extends Error {
  override readonly name = 'NetError';

  constructor(
    readonly fault: NetFaultKind,
    message: string,
    readonly sent = false,
  ) {
    super(message);
  }
}

export function toFault({ fault, message, sent }: NetError): NetFault {
  return { kind: 'fault', fault, message, sent };
}
