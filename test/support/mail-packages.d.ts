/** The parts of the mail packages that the tests use; they ship no types. */
declare module 'smtp-server' {
  import type { Server } from 'node:net';
  import type { Readable } from 'node:stream';

  interface Session {
    readonly envelope: { readonly rcptTo: readonly { readonly address: string }[] };
  }
  export class SMTPServer {
    constructor(options: {
      readonly authOptional: boolean;
      readonly disabledCommands: readonly string[];
      onData(stream: Readable, session: Session, done: (error?: Error | null) => void): void;
    });
    listen(port: number, host: string): Server;
    close(done: () => void): void;
  }
}
declare module 'mailparser' {
  export interface ParsedMail {
    readonly subject?: string;
    readonly text?: string;
    readonly html?: string | false;
    readonly messageId?: string;
    readonly headers: ReadonlyMap<string, unknown>;
  }
  export function simpleParser(source: string): Promise<ParsedMail>;
}
