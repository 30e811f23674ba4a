import { expect, test } from 'vitest';
import { createLog } from '../../src/api/log.js';
import { redactTokens } from '../../src/shared/log.js';

function logged(log: (to: ReturnType<typeof createLog>) => void, level: 'info' | 'silent' = 'info'): unknown[] {
  const lines: string[] = [];
  log(createLog(level, { write: (line) => void lines.push(line) }));
  return lines.map((line) => JSON.parse(line));
}

test('a line is JSON with its time in ISO 8601, its level by name and the fields of its context', () => {
  const [line] = logged((log) => log.child({ requestId: 'r1' }).warn({ n: 1 }, 'careful'));
  expect(line).toEqual({
    level: 'warn',
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    requestId: 'r1',
    n: 1,
    msg: 'careful',
  });
});

test('credentials are cut, wherever somebody puts them', () => {
  const headers = { authorization: 'Bearer sbx_secret', cookie: 'service_session=secret' };
  const lines = logged((log) => {
    log.info({ headers, password: 'secret' });
    log.info({ ...headers, member: { password: 'secret' } });
  });
  expect(lines).toHaveLength(2);
  expect(JSON.stringify(lines)).not.toContain('secret');
});

test('an error comes with its stack and its cause', () => {
  const [line] = logged((log) => log.error({ err: new Error('outer', { cause: new Error('inner') }) }));
  expect(line).toMatchObject({
    err: { message: expect.stringContaining('inner'), stack: expect.stringContaining('outer') },
  });
});

test.each(['err', 'fault'])(
  'an error is whole in the line under any name (%s), and brings nothing else along',
  (key) => {
    const request = { headers: { 'x-secret': 'hidden' } };
    const refused = Object.assign(new TypeError('outer', { cause: new Error('inner') }), { code: 'EPIPE', request });
    const lines = logged((log) => {
      log.child({ part: 'x' }).error({ [key]: refused, n: 1 }, 'it failed');
      log.warn({ [key]: new AggregateError([new Error('first')], 'several') });
    });
    expect(lines).toMatchObject([
      {
        n: 1,
        [key]: {
          type: 'TypeError',
          message: 'outer: inner',
          stack: expect.stringMatching(/TypeError: outer\n\s+at [\s\S]*caused by: Error: inner\n\s+at /),
          code: 'EPIPE',
        },
      },
      { [key]: { message: 'several', errors: [{ message: 'first', stack: expect.stringContaining('log.test.ts') }] } },
    ]);
    expect(JSON.stringify(lines)).not.toContain('hidden');
  },
);

test('what was thrown and is no error is written as it is', () => {
  expect(logged((log) => log.error({ err: 'a text' }))).toMatchObject([{ err: 'a text' }]);
});

test('a silent log is silent', () => {
  expect(logged((log) => log.error({}, 'x'), 'silent')).toEqual([]);
});

test.each([
  ['/api/hooks/t/w/f?token=abc', '/api/hooks/t/w/f?token=[redacted]'],
  ['/api/events/t/w/r?step=a&token=abc&x=1', '/api/events/t/w/r?step=a&token=[redacted]&x=1'],
  ['/api/hooks/t/w/f?%74o%6Ben=abc', '/api/hooks/t/w/f?token=[redacted]'],
  ['/sign-in?next=%2Fapi%2Fx%3Ftoken%3Dabc%26b%3D1', '/sign-in?next=%2Fapi%2Fx%3Ftoken%3D[redacted]%26b%3D1'],
  ['/x?access_token=abc', '/x?access_token=[redacted]'],
  ['/api/me?key=sbx_abc_def', '/api/me?key=[redacted]'],
  ['/x?a=1&api_key=abc&b=2', '/x?a=1&api_key=[redacted]&b=2'],
  ['/x?password=abc', '/x?password=[redacted]'],
  ['/x?keys=1', '/x?keys=1'],
  ['/sign-in?next=%2Fx%3Fkey%3Dabc%26b%3D1', '/sign-in?next=%2Fx%3Fkey%3D[redacted]%26b%3D1'],
  ['/api/cli/login/0123456789abcdefghij?x=1', '/api/cli/login/[redacted]?x=1'],
  ['/api/oauth/callback?state=abc&code=def', '/api/oauth/callback?[redacted]'],
  [
    '/sign-in?next=%2Fapi%2Foauth%2Fcallback%3Fstate%3Dabc%26code%3Ddef',
    '/sign-in?next=%2Fapi%2Foauth%2Fcallback%3F[redacted]',
  ],
  ['/s/0123456789abcdefghij', '/s/[redacted]'],
  ['/api/workspaces/tokens/source?path=s/notes.md', '/api/workspaces/tokens/source?path=s/notes.md'],
])('%s is logged as %s', (address, expected) => {
  expect(redactTokens(address)).toBe(expected);
});

test('an address of any length costs no more than its length to redact', () => {
  const long = `/${'a-%61'.repeat(100_000)}`;
  expect(redactTokens(`${long}?token=abc`)).toMatch(/\?token=\[redacted\]$/);
});
