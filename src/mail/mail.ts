export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** The same for the same mail: a provider that knows it sends that once. */
  readonly id: string;
}

/** A program wrote it, and nobody's machine is to answer (RFC 3834). */
export const MAIL_HEADERS = { 'Auto-Submitted': 'auto-generated' } as const;

export type MailOutcome =
  | { readonly sent: true }
  /** `final`: this mail will not be taken at another time either, whatever is mended here. */
  | { readonly sent: false; readonly reason: string; readonly final: boolean };
