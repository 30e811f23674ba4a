/** The hosts that a program may reach. Without a grant, or with an empty list, it has no network. */
export interface NetworkGrant {
  /** `host` or `*.host` (any depth below), either with `:port`; the default is the web's ports, 443 and 80. */
  readonly hosts: readonly string[];
  /**
   * True for the operator's own hosts, which may be private. Only for the service's own programs, never for a user's.
   */
  readonly isOperators?: boolean;
}

/** A host that a program asked for and was refused. */
export interface RefusedHost {
  /** `host:port`. */
  readonly host: string;
  /** A sentence for the author of the program. */
  readonly why: string;
}

export interface NetworkUse {
  readonly refused: readonly RefusedHost[];
  /** Bytes sent and received over all connections. */
  readonly bytes: number;
}
