/** A delivery before it is parsed. */
export interface Signed {
  /** By lower-case name. */
  readonly header: (name: string) => string | undefined;
  readonly body: Uint8Array;
  readonly secret: string;
  /** `signature_header:` of the flow. */
  readonly signatureHeader?: string | undefined;
  /** Epoch ms. */
  readonly nowMs: number;
}

/** True when the sender has the secret. */
export type SignatureCheck = (signed: Signed) => boolean;

export const SIGNATURE_KINDS = ['code_host', 'payment', 'chat', 'hmac'] as const;
export type SignatureKind = (typeof SIGNATURE_KINDS)[number];
