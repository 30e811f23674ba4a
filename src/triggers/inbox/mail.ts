/** A mail as every provider's way of telling it is read to. */
export interface InboundMail {
  readonly from: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** The mail's own headers, by lower-case name, as far as the provider tells them. */
  readonly headers: Readonly<Record<string, string>>;
  /** The address that bounces would go to; null when it is not told. */
  readonly envelopeFrom: string | null;
  /** The provider's own id of the mail, for where it tells no Message-ID. */
  readonly providerId: string | null;
  readonly attachments: readonly Attachment[];
  /** What of it could not be taken, as sentences. */
  readonly leftOut: readonly string[];
  /** The names of its fields when none of them is a body, and it has no file; null for a mail that can be read. */
  readonly unread: readonly string[] | null;
}

export interface Attachment {
  readonly name: string;
  readonly type: string;
  readonly content: Uint8Array;
}
