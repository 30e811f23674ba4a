/** The part of smtp-server that the tests use; it ships no types. */
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
