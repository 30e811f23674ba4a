import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addressOf, isMeant } from '../../src/triggers/inbox/address.js';
import { attachmentNames } from '../../src/triggers/inbox/attachment-names.js';
import { loopOf } from '../../src/triggers/inbox/loop.js';
import { readMail } from '../../src/triggers/inbox/read-mail.js';
import { checkPath, foldPath } from '../../src/workspace/index.js';

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

  test('from: names whole addresses and whole domains', () => {
    const allowed = ['Ada@acme.test', '@Good.test'];
    expect(['ada@acme.test', 'x@good.test'].map((one) => isMeant(one, allowed))).toEqual([true, true]);
    for (const one of ['bob@acme.test', 'x@notgood.test', 'x@a.good.test', 'x@good.test.evil', null])
      expect(isMeant(one, allowed)).toBe(false);
    expect(isMeant(null, [])).toBe(true);
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
  });

  test.each<[string, { type: string; body: Uint8Array }, string]>([
    ['no JSON', { type: 'application/json', body: Buffer.from('{') }, 'malformed'],
    ['a list', json([]), 'refused'],
    ['nobody’s', json({ subject: 'x' }), 'refused'],
    ['a broken form', { type: 'multipart/form-data; boundary=x', body: Buffer.from('--y') }, 'malformed'],
    ['51 files', json({ ...wanted, attachments: Array.from({ length: 51 }, () => ({ content: 'aGk=' })) }), 'refused'],
  ])('not when it is %s', async (_name, sent, kind) => {
    await expect(readMail(sent)).rejects.toMatchObject({ name: 'Refusal', kind });
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
