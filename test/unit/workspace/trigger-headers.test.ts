import { expect, test } from 'vitest';
import { evaluateCel } from '../../../src/format/cel/index.js';
import { renderPath } from '../../../src/format/text/fill.js';
import { check } from './tree.js';

const trigger = { kind: 'webhook', headers: { x_github_event: 'push', host: 'a' } };

test.each([
  "trigger.headers['x-github-event'] == 'push'",
  "trigger.headers['X-GitHub-Event'] == 'push'",
  "trigger.headers['x_github_event'] == 'push'",
  "trigger.headers.x_github_event == 'push'",
  "has(trigger.headers['X-GitHub-Event'])",
  "'x-github-event' in trigger.headers && 'x_github_event' in trigger.headers",
  "!has(trigger.headers['x-other'])",
])('a header is read by its name as senders write it: %s', (source) => {
  expect(evaluateCel(source, { trigger })).toEqual({ ok: true, value: true });
});

test('a text reads a header by either name', () => {
  for (const name of ['x-github-event', 'X-GitHub-Event', 'x_github_event'])
    expect(renderPath(`trigger.headers.${name}`, { trigger })).toBe('push');
});

test('plain http takes a secret to a host that the operator opened, and only there', () => {
  const files = {
    'tools/t.md': '---\ndescription: a\nbase: http://localhost:8080/v1\nheaders: { X: "${KEY}" }\n---\n',
  };
  const codes = (openHosts: { host: string; port: number | null }[]) =>
    check(files, { openHosts }).issues.map(({ code }) => code);
  expect(codes([{ host: 'localhost', port: 8080 }])).toEqual([]);
  expect(codes([{ host: 'localhost', port: null }])).toEqual([]);
  expect(codes([{ host: 'localhost', port: 80 }])).toEqual(['secret/plain-http']);
  expect(check({ 'tools/t.md': files['tools/t.md'].replace('${KEY}', 'plain') }).issues).toEqual([]);
});
