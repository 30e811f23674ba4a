/** A received mail, independent of the provider's format. */
export interface InboundMail {
  readonly from: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** The mail's own headers, by lower-case name, as far as the provider sends them. */
  readonly headers: Readonly<Record<string, string>>;
  /** The return path; null when the provider does not send it. */
  readonly envelopeFrom: string | null;
  /** The provider's own id of the mail, used when there is no Message-ID. */
  readonly providerId: string | null;
  readonly attachments: readonly Attachment[];
  /** The parts that could not be read, as sentences. */
  readonly leftOut: readonly string[];
  /** The names of its fields when none of them is a body, and it has no file; null for a mail that can be read. */
  readonly unread: readonly string[] | null;
}

export interface Attachment {
  readonly name: string;
  readonly type: string;
  readonly content: Uint8Array;
}
