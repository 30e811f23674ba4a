import { describe, expect, test } from 'vitest';
import { checkPath, foldPath } from '../../src/format/index.js';
import { attachmentNames } from '../../src/triggers/inbox/keep-attachments.js';
import { addressOf, isAllowedSender } from '../../src/triggers/inbox/mail.js';
import { readMail } from '../../src/triggers/inbox/read-mail.js';
import { loopOf } from '../../src/triggers/inbox/receive-mail.js';
import { fc } from '../support/properties.js';

const json = (mail: unknown) => ({ type: 'application/json', body: Buffer.from(JSON.stringify(mail)) });

async function form(fields: Readonly<Record<string, string | File>>) {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) data.append(name, value);
  const response = new Response(data);
  return { type: response.headers.get('content-type') ?? '', body: new Uint8Array(await response.arrayBuffer()) };
}

describe('a From line', () => {
  test.each<[string, string | null]>([
    ['ada@acme.test', 'ada@acme.test'],
    ['Ada Lovelace <Ada@Acme.test>', 'ada@acme.test'],
    ['"boss@acme.test" <evil@x.test>', 'evil@x.test'],
    ['boss@acme.test <evil@x.test>', 'evil@x.test'],
    ['"a, b" <a@x.test>', 'a@x.test'],
    ['boss@acme.test, evil@x.test', null],
    ['Boss <boss@acme.test>, Evil <evil@x.test>', null],
    ['<boss@acme.test> <evil@x.test>', null],
    ['evil@x.test (boss@acme.test)', null],
    ['<boss@acme.test>evil', null],
    ['a@b@acme.test', null],
    ['', null],
  ])('%s is from %s', (line, address) => {
    expect(addressOf(line)).toBe(address);
  });

  // Each of these would take minutes, were its length squared.
  test.each<[string, string]>([
    ['quotes in quotes', `"${'\\"'.repeat(500_000)} <a@b.test>`],
    ['commas', `${','.repeat(500_000)}" <a@b.test>`],
    ['angles', `${'<'.repeat(500_000)}a@b.test>`],
  ])('security 16: of half a million %s is nobody’s', (_name, line) => {
    expect(addressOf(line)).toBeNull();
  });

  test('from: names whole addresses and whole domains', () => {
    const allowed = ['Ada@acme.test', '@Good.test'];
    expect(['ada@acme.test', 'x@good.test'].map((one) => isAllowedSender(one, allowed))).toEqual([true, true]);
    for (const one of ['bob@acme.test', 'x@notgood.test', 'x@a.good.test', 'x@good.test.evil', null])
      expect(isAllowedSender(one, allowed)).toBe(false);
    expect(isAllowedSender(null, [])).toBe(true);
  });
});

describe('mail that a program wrote in answer to another starts nothing', () => {
  const mail = { from: 'a@b.test', headers: {} as Record<string, string> };
  test.each<[string, Record<string, unknown>, boolean]>([
    ['a person’s', mail, false],
    ['one that says it is a person’s', { ...mail, headers: { 'Auto-Submitted': 'no' } }, false],
    ['an answer to ours', { ...mail, headers: { 'In-Reply-To': '<1@x>', References: '<1@x>' } }, false],
    ['Auto-Submitted', { ...mail, headers: { 'auto-submitted': 'auto-replied; x=y' } }, true],
    ['Auto-Submitted in a list', { ...mail, Headers: [{ Name: 'Auto-Submitted', Value: 'auto-generated' }] }, true],
    ['Auto-Submitted in pairs', { ...mail, 'message-headers': '[["Auto-Submitted","auto-replied"]]' }, true],
    ['Auto-Submitted in lines', { ...mail, headers: 'Subject: x\r\nAuto-Submitted:\r\n auto-replied\r\n' }, true],
    ['Precedence', { ...mail, headers: { Precedence: 'bulk' } }, true],
    ['an empty envelope', { ...mail, envelope: '{"from":"","to":["x"]}' }, true],
    ['an empty return path', { ...mail, headers: { 'Return-Path': '<>' } }, true],
    ['a report', { ...mail, headers: { 'Content-Type': 'multipart/report; report-type=delivery-status' } }, true],
    ['a bouncer', { ...mail, from: 'Mail Delivery <MAILER-DAEMON@x.test>' }, true],
    ['our own', { ...mail, from: 'Signalbox <bot@ours.test>' }, true],
  ])('%s', async (_name, sent, loop) => {
    expect(loopOf(await readMail(json(sent)), 'Bot <bot@ours.test>') !== null).toBe(loop);
  });
});

describe('a mail is read', () => {
  const wanted = { from: 'a@b.test', to: 'in@x.test', subject: 'Hi', text: 'Hello', html: '<p>Hello</p>' };
  test.each<[string, unknown]>([
    ['plain', wanted],
    ['under data', { type: 'email.received', data: { ...wanted, to: ['in@x.test'] } }],
    [
      'in another provider’s words',
      { From: 'a@b.test', To: 'in@x.test', Subject: 'Hi', TextBody: 'Hello', HtmlBody: '<p>Hello</p>' },
    ],
    ['with addresses as objects', { ...wanted, from: { email: 'a@b.test' }, to: [{ address: 'in@x.test' }] }],
  ])('%s', async (_name, sent) => {
    expect(await readMail(json(sent))).toMatchObject({ ...wanted, attachments: [] });
  });

  test('from a form with its files', async () => {
    const file = new File([new Uint8Array([1, 2, 3])], 'a.bin', { type: 'image/png' });
    const fields = { ...wanted, headers: 'Message-ID: <1@b.test>\nX-A: b', attachments: '1', attachment1: file };
    const mail = await readMail(await form(fields));
    expect(mail).toMatchObject({ ...wanted, headers: { 'message-id': '<1@b.test>', 'x-a': 'b' } });
    expect(mail.attachments).toEqual([{ name: 'a.bin', type: 'image/png', content: new Uint8Array([1, 2, 3]) }]);
  });

  test('from a form in which each field has the charset that it had in the mail', async () => {
    const part = (name: string, bytes: Uint8Array | string, more = '') => [
      Buffer.from(`--zzz\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n`),
      Buffer.from(bytes as string),
      Buffer.from('\r\n'),
    ];
    const binary = Uint8Array.from({ length: 256 }, (_, at) => at);
    const body = Buffer.concat([
      ...part('charsets', '{"from":"UTF-8","text":"windows-1250","html":"no-such","subject":"iso-8859-2"}'),
      ...part('from', 'Zoë <a@b.test>'),
      ...part('subject', Uint8Array.of(0xbf, 0xf3, 0xb6)),
      ...part('text', Uint8Array.of(0x7a, 0x61, 0xbf, 0xf3, 0xb3, 0xe6)),
      ...part('html', '<p>żółć</p>'),
      ...part('attachment1', binary, '; filename="żółć.bin"'),
      Buffer.from('--zzz--\r\n'),
    ]);
    const { attachments, ...mail } = await readMail({ type: 'multipart/form-data; boundary=zzz', body });
    expect(mail).toMatchObject({ from: 'Zoë <a@b.test>', subject: 'żóś', text: 'zażółć', html: '<p>żółć</p>' });
    expect(attachments.map(({ name, content }) => [name, Buffer.from(content)])).toEqual([
      ['żółć.bin', Buffer.from(binary)],
    ]);
  });

  test('with the provider’s own id as it was sent, however many digits it has', async () => {
    const body = Buffer.from('{"from":"a@b.test","email_id":9007199254740993,"subject":7}');
    expect(await readMail({ type: 'application/json', body })).toMatchObject({
      providerId: '9007199254740993',
      subject: '7',
    });
  });

  test('with files in base64, and none is fetched', async () => {
    const attachments = [
      { filename: 'a.txt', content_type: 'text/plain', content: 'aGk=' },
      { Name: 'b.txt', ContentType: 'text/plain', Content: 'aG8=' },
      { filename: 'c.txt', url: 'http://169.254.169.254/' },
    ];
    const mail = await readMail(json({ ...wanted, attachments }));
    expect(mail.attachments.map(({ name, content }) => [name, Buffer.from(content).toString()])).toEqual([
      ['a.txt', 'hi'],
      ['b.txt', 'ho'],
    ]);
    expect(mail.leftOut).toEqual(['attachment c.txt was left out: it has no content, and no link is followed']);
  });

  test.each<[string, { type: string; body: Uint8Array }, string]>([
    ['no JSON', { type: 'application/json', body: Buffer.from('{') }, 'malformed'],
    ['a list', json([]), 'refused'],
    ['nobody’s', json({ subject: 'x' }), 'refused'],
    ['a subject of a million characters', json({ ...wanted, subject: 'x'.repeat(1_000_000) }), 'refused'],
    ['a broken form', { type: 'multipart/form-data; boundary=x', body: Buffer.from('--y') }, 'malformed'],
    ['51 files', json({ ...wanted, attachments: Array.from({ length: 51 }, () => ({ content: 'aGk=' })) }), 'refused'],
  ])('not when it is %s', async (_name, sent, kind) => {
    await expect(readMail(sent)).rejects.toMatchObject({ name: 'Refusal', kind });
  });
});

const lines = (...all: readonly string[]) => all.join('\r\n');
const raw = (mail: string | Uint8Array) => ({ type: 'message/rfc822', body: Buffer.from(mail as string) });
const HEAD = [
  'From: =?utf-8?q?Ad=C3=A9?= <Ada@acme.test>',
  'To: in@x.test, "B, C" <b@x.test>',
  'Message-ID: <1@acme.test>',
];
const MIXED = lines(
  ...HEAD,
  'Subject: =?iso-8859-2?B?v/Oztg==?=',
  'Received: from a',
  '\tby b',
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=o',
  '',
  '--o',
  'Content-Type: multipart/alternative; boundary=i',
  '',
  '--i',
  'Content-Type: text/plain; charset=windows-1250',
  'Content-Transfer-Encoding: quoted-printable',
  '',
  'za=BF=F3=B3=E6',
  '--i',
  'Content-Type: text/html; charset=utf-8',
  'Content-Transfer-Encoding: base64',
  '',
  Buffer.from('<p>Zażółć</p>').toString('base64'),
  '--i--',
  '--o',
  'Content-Type: application/pdf; name="../a.pdf"',
  'Content-Transfer-Encoding: base64',
  'Content-Disposition: attachment; filename="../a.pdf"',
  '',
  'aGk=',
  '--o--',
  '',
);

describe('a raw mail', () => {
  test.each<[string, () => Promise<{ type: string; body: Uint8Array }>]>([
    ['as itself', async () => raw(MIXED)],
    ['as itself with bare line ends', async () => raw(MIXED.replaceAll('\r\n', '\n'))],
    ['in the field email of a form', () => form({ email: MIXED, to: 'x@x.test', envelope: '{"from":"e@x.test"}' })],
    ['in the field body-mime of a form', () => form({ 'body-mime': MIXED, from: 'else@x.test' })],
    ['in the field raw of JSON', async () => json({ raw: MIXED })],
    ['in the field RawEmail of JSON', async () => json({ data: { RawEmail: MIXED } })],
  ])('is read %s', async (_name, sent) => {
    const mail = await readMail(await sent());
    expect(mail).toMatchObject({
      from: '"Adé" <Ada@acme.test>',
      to: 'in@x.test, "B, C" <b@x.test>',
      subject: 'żółś',
      text: 'zażółć',
      html: '<p>Zażółć</p>',
    });
    expect(mail.headers).toMatchObject({ 'message-id': '<1@acme.test>', received: 'from a by b' });
    expect(mail.attachments.map(({ name, type, content }) => [name, type, Buffer.from(content).toString()])).toEqual([
      [expect.stringContaining('a.pdf'), 'application/pdf', 'hi'],
    ]);
    expect(addressOf(mail.from)).toBe('ada@acme.test');
  });

  test('of eight bits in the form of an inbound parser is read by its own charset', async () => {
    const mail = lines(
      'From: a@b.test',
      'Content-Type: text/plain; charset=windows-1250',
      'Content-Transfer-Encoding: 8bit',
      '',
      'za',
    );
    const body = Buffer.concat([
      Buffer.from(`--zzz\r\ncontent-disposition: form-data; name="email"\r\n\r\n${mail}`),
      Uint8Array.of(0xbf, 0xf3, 0xb3, 0xe6),
      Buffer.from('\r\n--zzz--\r\n'),
    ]);
    expect((await readMail({ type: 'multipart/form-data; boundary=zzz', body })).text.trim()).toBe('zażółć');
  });

  test('is not read where the provider has parsed it, and the envelope is the provider’s', async () => {
    const parsed = await readMail(json({ from: 'a@b.test', text: 'parsed', RawEmail: MIXED }));
    expect([parsed.from, parsed.text]).toEqual(['a@b.test', 'parsed']);
    expect(loopOf(await readMail(await form({ email: MIXED, envelope: '{"from":""}' })), null)).toContain('bounce');
  });

  test.each<[string, string, string | null]>([
    ['two From lines', lines('From: ada@acme.test', 'From: evil@x.test', '', 'x'), null],
    ['two addresses', lines('From: ada@acme.test, evil@x.test', '', 'x'), null],
    [
      'an address in the name',
      lines('From: =?utf-8?q?=22ada=40acme.test=22_=3Cada=40acme.test=3E?= <evil@x.test>', '', 'x'),
      'evil@x.test',
    ],
    ['an address in a comment', lines('From: evil@x.test (ada@acme.test)', '', 'x'), 'evil@x.test'],
    ['nobody', lines('From: nobody', '', 'x'), null],
  ])('of %s is from nobody else', async (_name, mail, address) => {
    expect(addressOf((await readMail(raw(mail))).from)).toBe(address);
  });

  test('is a loop by its own headers', async () => {
    for (const header of [
      'Auto-Submitted: auto-replied',
      'Precedence: bulk',
      'Content-Type: multipart/report; boundary=x',
    ])
      expect(loopOf(await readMail(raw(lines(...HEAD, header, '', '--x'))), null)).not.toBe(null);
  });

  test('has a mail that it forwards as a file or as its text, and nothing of it is lost', async () => {
    const inner = lines('From: inner@x.test', 'Subject: Inner', '', 'inner text');
    const mail = await readMail(
      raw(
        lines(
          ...HEAD,
          'Content-Type: multipart/mixed; boundary=o',
          '',
          '--o',
          '',
          'see below',
          '--o',
          'Content-Type: message/rfc822',
          '',
          inner,
          '--o--',
          '',
        ),
      ),
    );
    expect(addressOf(mail.from)).toBe('ada@acme.test');
    const all = [mail.text, ...mail.attachments.map(({ content }) => Buffer.from(content).toString())].join();
    for (const part of ['see below', 'inner text']) expect(all).toContain(part);
  });

  test('of a text that is too long for an input is a file as well', async () => {
    const long = 'x'.repeat(1_500_000);
    for (const sent of [raw(lines(...HEAD, '', long)), json({ from: 'a@b.test', text: long, html: long })]) {
      const { text, attachments } = await readMail(sent);
      expect([text.length, attachments[0]?.name, attachments[0]?.content.byteLength]).toEqual([
        1_000_000,
        'mail.txt',
        1_500_000,
      ]);
    }
  });

  const nested = (depth: number) =>
    Array.from({ length: depth }, (_, at) => `Content-Type: multipart/mixed; boundary=b${at}\r\n\r\n--b${at}\r\n`).join(
      '',
    );
  const typed = (type: string, body: string, more = '') => lines(...HEAD, `Content-Type: ${type}${more}`, '', body);
  const hostile: Readonly<Record<string, string>> = {
    'a million lines': typed('text/plain', '\n'.repeat(1_000_000)),
    'as many lines as are read': typed('text/plain', '\n'.repeat(499_000)),
    'headers in each part': typed(
      'multipart/mixed; boundary=x',
      `--x\r\nContent-Type: text/plain; ${Array.from({ length: 6_000 }, (_, at) => `a${at}=x`).join('; ')}\r\n\r\na\r\n`.repeat(
        100,
      ),
    ),
    'one line of 20 MB': typed('text/plain', 'x'.repeat(20_000_000)),
    'parts in parts': `${HEAD.join('\r\n')}\r\n${nested(5_000)}${'a\r\n'.repeat(50_000)}`,
    'parts without end': typed('multipart/mixed; boundary=x', '--x\r\n\r\na\r\n'.repeat(100_000)),
    'mails in mails': lines(
      ...HEAD,
      ...Array.from({ length: 2_000 }, () => 'Content-Type: message/rfc822\r\n\r\nFrom: x@x.test'),
      '',
      'x',
    ),
    'headers without end': `${'X: y\r\n'.repeat(500_000)}\r\n`,
    'one header of 5 MB': `From: ${'a@b.test, '.repeat(500_000)}\r\n\r\nx`,
    'quotes that stay open': `From: ${'"<'.repeat(100_000)}\r\n\r\nx`,
    'groups in groups': `From: ${'g:'.repeat(100_000)}\r\n\r\nx`,
    'comments in comments': `From: ${'('.repeat(100_000)}\r\n\r\nx`,
    'encoded words': lines(...HEAD, `Subject: ${'=?utf-8?q?a?= '.repeat(20_000)}`, '', 'x'),
    'words half encoded': lines(...HEAD, `Subject: ${'=?'.repeat(200_000)}`, '', 'x'),
    'parameters in pieces': typed(
      'text/plain',
      'x',
      `; ${Array.from({ length: 20_000 }, (_, at) => `a*${at}*=x`).join('; ')}`,
    ),
    'a charset that nobody knows': typed('text/plain; charset="../../x"', 'x'),
    'escapes alone': lines(...HEAD, 'Content-Transfer-Encoding: quoted-printable', '', '=41'.repeat(2_000_000)),
    'broken base64': lines(...HEAD, 'Content-Transfer-Encoding: base64', '', '=!='.repeat(1_000_000)),
    'tags alone': typed('text/html', '<'.repeat(3_000_000)),
    'flowed lines': typed('text/plain; format=flowed', 'x \r\n'.repeat(499_000)),
    'NUL and no text': `\0\0\0${'\uFFFF'.repeat(1000)}`,
    nothing: '',
  };
  test.each(Object.entries(hostile))('security 16: of %s is read or refused', async (_name, mail) => {
    const outcome = await readMail(raw(mail)).catch((error: unknown) => error);
    if (outcome instanceof Error) expect(outcome).toMatchObject({ name: 'Refusal' });
    else expect(outcome).toMatchObject({ text: expect.any(String) });
  });
});

describe('names of attachments', () => {
  test.each<[string, string]>([
    ['report.pdf', 'report.pdf'],
    ['../../etc/passwd', 'passwd'],
    ['C:\\temp\\a.txt', 'a.txt'],
    ['..', 'attachment-1'],
    ['.git', 'git'],
    ['.env', 'env'],
    ['a\u202egnp.exe', 'agnp.exe'],
    ['a\0b.txt', 'ab.txt'],
    ['%2e%2e%2fx', '_2e_2e_2fx'],
    ['', 'attachment-1'],
    [`${'é'.repeat(300)}.pdf`, `${'é'.repeat(58)}.pdf`],
  ])('%j becomes %s', (name, plain) => {
    expect(attachmentNames([name])).toEqual([plain]);
  });

  test('security 16: of a million characters are read at once', () => {
    // Each would take minutes, were its length squared.
    const long = [`a${' '.repeat(1_000_000)}b.txt`, `a${' .'.repeat(500_000)}`];
    expect(attachmentNames(long)).toEqual([`a${' '.repeat(115)}.txt`, 'a']);
  });

  test('no two are one', () => {
    expect(attachmentNames(['A.txt', 'a.txt', 'a.txt', ''])).toEqual(['A.txt', 'a-2.txt', 'a-3.txt', 'attachment-4']);
  });

  test('whatever is sent, each is one part of a path that every door takes, and no two are one', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.string())), (given) => {
        const names = attachmentNames(given);
        expect(new Set(names.map(foldPath)).size).toBe(given.length);
        for (const name of names) {
          expect(name).not.toContain('/');
          expect(checkPath(`files/inbox/x/${name}`)).toEqual({ ok: true, path: `files/inbox/x/${name}` });
        }
      }),
    );
  });
});
