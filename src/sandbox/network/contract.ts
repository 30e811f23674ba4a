/** What a program may reach. Nothing at all without it, and by an empty list. */
export interface NetworkGrant {
  /** `host`, `*.host` (any depth below), either with `:port`; without one it is the web's ports, 443 and 80. */
  readonly hosts: readonly string[];
  /** The operator's own hosts, which may be private. For the service's programs, never for what a user wrote. */
  readonly isOperators?: boolean;
}

/** A host that a program asked for and did not get. */
export interface RefusedHost {
  /** `host:port`. */
  readonly host: string;
  /** A sentence for the author of the program. */
  readonly why: string;
}

export interface NetworkUse {
  readonly refused: readonly RefusedHost[];
  /** Sent and received, of all connections. */
  readonly bytes: number;
}
