import type { SecretShapes } from '../contract/secrets.js';

export type Shape = keyof SecretShapes;

/** The content of each shape. The live token of an exchange is stored beside the secret, not in it. */
export type ShapeValues = SecretShapes;

/** A secret's content: its shape, and what that shape holds. */
export type SecretValue = { readonly [S in Shape]: { readonly shape: S; readonly value: ShapeValues[S] } }[Shape];

/** The vault that it is in. */
export type Store = 'workspace' | 'account';

/** A decrypted secret. It never leaves the process that decrypted it. */
export type OpenedSecret = SecretValue & {
  readonly id: string;
  readonly name: string;
  readonly store: Store;
  readonly version: number;
  readonly status: SecretStatus;
};

export type SecretStatus = 'ok' | 'reconnect';

/** The place of a secret's row. It is authenticated with the encrypted bytes, so that they decrypt nowhere else. */
export interface SecretPlace {
  readonly tenant: string;
  /** The workspace's id; null for the account's vault. */
  readonly workspace: string | null;
  readonly name: string;
}
