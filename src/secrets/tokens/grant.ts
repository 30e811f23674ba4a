/** What a token endpoint gave. */
export interface Grant {
  readonly accessToken: string;
  /** Null when it does not say. */
  readonly expiresInSeconds: number | null;
  /** Null when it gave none: then the one that was used goes on. */
  readonly refreshToken: string | null;
}

/**
 * Why it gave none. `gone`: the grant itself is refused, and a person has to connect anew. `refused`: something about
 * the request is wrong, such as the client's secret. `outage`: another try may do.
 */
export type GrantFaultKind = 'gone' | 'refused' | 'outage';

export class GrantFault extends Error {
  override readonly name = 'GrantFault';

  constructor(
    readonly kind: GrantFaultKind,
    message: string,
    /** True when the provider may have spent the refresh token although its answer is not known. */
    readonly inDoubt = false,
  ) {
    super(message);
  }
}
