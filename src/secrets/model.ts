import type { SecretShapes } from '../contract/secrets.js';

export type Shape = keyof SecretShapes;

/** What each shape holds. The live token of an exchange is kept beside the secret, and not in it. */
export type ShapeValues = SecretShapes;

/** A secret's content: its shape, and what that shape holds. */
export type SecretValue = { readonly [S in Shape]: { readonly shape: S; readonly value: ShapeValues[S] } }[Shape];

/** Which vault it lies in. */
export type Store = 'workspace' | 'account';

/** A secret as it was opened: it never leaves the process that opened it. */
export type OpenedSecret = SecretValue & {
  readonly id: string;
  readonly name: string;
  readonly store: Store;
  readonly version: number;
  readonly status: SecretStatus;
};

export type SecretStatus = 'ok' | 'reconnect';

/** Where a secret's row is: part of what its bytes are sealed with, so that they open nowhere else. */
export interface SecretPlace {
  readonly tenant: string;
  /** The workspace's id; null for the account's vault. */
  readonly workspace: string | null;
  readonly name: string;
}
