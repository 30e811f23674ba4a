export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** The same for each try, so that a provider that knows it sends the mail only once. */
  readonly id: string;
}

/** Marks the mail as sent by a program, so that auto-responders stay silent (RFC 3834). */
export const MAIL_HEADERS = { 'Auto-Submitted': 'auto-generated' } as const;

export type MailOutcome =
  | { readonly sent: true }
  /** `final`: the mail will never be accepted, so no retry. */
  | { readonly sent: false; readonly reason: string; readonly final: boolean };
