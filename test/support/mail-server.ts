import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type ParsedMail, simpleParser } from 'mailparser';
import { SMTPServer } from 'smtp-server';
import { atFileEnd } from './file-end.js';

export interface ReceivedMail extends ParsedMail {
  readonly recipients: readonly string[];
  /** The message as it came over the wire. */
  readonly raw: string;
}

export interface MailServer {
  readonly url: string;
  readonly mails: readonly ReceivedMail[];
  /** Refuses what comes next, so many times: with 451, try later, or another code. */
  refuse(times: number, code?: number): void;
}

/** A real SMTP server, whose mails are read by a parser of others. */
export async function startMailServer(): Promise<MailServer> {
  const mails: ReceivedMail[] = [];
  let refusing = 0;
  let code = 451;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        if (refusing > 0) {
          refusing -= 1;
          return done(Object.assign(new Error('try later'), { responseCode: code }));
        }
        const raw = Buffer.concat(chunks).toString('utf8');
        const recipients = session.envelope.rcptTo.map(({ address }) => address);
        void simpleParser(raw).then((mail) => {
          mails.push({ ...mail, recipients, raw });
          done();
        }, done);
      });
    },
  });
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  atFileEnd(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const { port } = listening.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    refuse: (times, withCode = 451) => {
      refusing = times;
      code = withCode;
    },
  };
}
