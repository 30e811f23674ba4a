/** What a token endpoint gave. */
export interface Grant {
  readonly accessToken: string;
  /** Null when it does not say. */
  readonly expiresInSeconds: number | null;
  /** Null when it gave none: then the current one stays valid. */
  readonly refreshToken: string | null;
}

/**
 * Why there is no token. `gone`: the grant itself is refused, and a person must reconnect. `refused`: the request is
 * wrong, such as the client's secret. `outage`: a retry may succeed.
 */
export type GrantFaultKind = 'gone' | 'refused' | 'outage';

export class GrantFault extends Error {
  override readonly name = 'GrantFault';

  constructor(
    readonly kind: GrantFaultKind,
    message: string,
    /** True when the provider may have used up the refresh token although its answer is unknown. */
    readonly inDoubt = false,
  ) {
    super(message);
  }
}
