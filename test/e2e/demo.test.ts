import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../src/platform/db/index.js';
import { startDemo } from '../support/demo-process.js';
import { type FakeAnswer, type FakeCall, startFakeProvider } from '../support/fake-provider.js';

test('the demo shows a run from the deploy to its end, exits 0 and leaves nothing', async () => {
  const demo = startDemo();
  expect(await demo.ended, demo.screen()).toBe(0);
  const screen = demo.screen();
  expect(screen).toContain("The agents' words are scripted; everything else is real: Temporal, Postgres, the sandbox.");
  expect(screen).toContain('The demo itself plays the people');
  expect(screen).toContain('no error, no warning');
  for (const line of [
    '▸ What sold, by stock-keeper',
    '▸ What the supplier offers, by buyer',
    // What the program computed, as the tool's output and as the step's JSON.
    '{"parts": 4, "total": 360.00, "first": "Brake pads disc"}',
    '– Order without asking: skipped, since its condition does not hold',
    "? Order with the owner's word: a person has to decide",
    'approved by a human: “Go ahead”',
    '? Supplier confirms: waits for an event',
    'approved by an external event',
    '✓ File the order',
    'The run is completed',
    'Remembered in memory/buyer/orders.md',
    'Made outputs/order.md by buyer',
    'npm start',
  ]) {
    expect(screen).toContain(line);
  }
  // The branch's condition, and what the person is asked, follow from the stock list, not from the script.
  expect(readFileSync(join(packageRoot, 'templates/demo/agents/buyer/script.yaml'), 'utf8')).not.toContain('360');
  expect(screen).toContain('Total: 360.00 EUR');
  expect(screen).toMatch(/token=[\w-]{4}…&step=confirmation/);
  expect(screen).not.toMatch(/token=[\w-]{8}/);
  // Not a terminal: no colours.
  expect(screen).not.toContain('\u001b');
  expect(demo.folders()).toEqual([]);
  expect(demo.processes()).toEqual([]);
});

test('with SERVICE_LLM_MODEL the same flow runs on that model, and says so', async () => {
  const provider = await startFakeProvider(playWorkshop);
  try {
    const demo = startDemo({
      SERVICE_LLM_BASE_URL: provider.url,
      SERVICE_LLM_API_KEY: 'k',
      SERVICE_LLM_MODEL: 'workshop-1',
      SERVICE_LLM_PRICE_IN: '1',
      SERVICE_LLM_PRICE_OUT: '10',
    });
    expect(await demo.ended, demo.screen()).toBe(0);
    expect(demo.screen()).toContain("The agents' words come from the model workshop-1");
    expect(demo.screen()).not.toContain('scripted');
    expect(demo.screen()).toContain('The provider says so');
    // Each call is 100 tokens in and 10 out: $0.0002.
    expect(demo.screen()).toMatch(/What sold +completed +[\d.]+ s {2}\$0\.00020/);
    // What it did not write is not told.
    expect(demo.screen()).not.toContain('Remembered in');
    expect(provider.calls.every((call) => call.body.model === 'workshop-1')).toBe(true);
  } finally {
    await provider.close();
  }
});

/** A model that does what its instruction says, with the real tools. */
function playWorkshop({ body }: FakeCall): FakeAnswer {
  const usage = { input: 100, output: 10 };
  const messages = body.messages as { role: string; content: string }[];
  const asked = messages.find(({ role }) => role === 'user')?.content ?? '';
  const heard = messages.findLast(({ role }) => role === 'tool')?.content;
  if (!asked.includes('Call the tool `stock-cover`')) return { text: 'The provider says so.', usage };
  if (heard !== undefined) return { text: heard, usage };
  return { calls: [{ name: 'stock-cover', args: { weeks: '3' } }], usage };
}

test('a service that dies is named as the reason, with its log, and its servers are ended', async () => {
  const demo = startDemo();
  await expect.poll(demo.screen, { interval: 20 }).toContain('▸ What sold');
  const service = demo.processes().find(({ command }) => command.includes('dist/main.js'));
  process.kill(service?.pid ?? 0, 'SIGKILL');
  expect(await demo.ended).toBe(1);
  expect(demo.screen()).toContain('The demo failed. Part: Run\nReason: the service is gone: it was ended by SIGKILL');
  expect(demo.screen()).toMatch(/Log: .*\/service\.log \(the folder is kept\)\nIts last lines:\n.*Starting Postgres/);
  expect(demo.folders()).toHaveLength(1);
  expect(demo.processes()).toEqual([]);
});

test('a service that cannot start says why in its own words', async () => {
  const demo = startDemo({ SERVICE_SANDBOX: 'castle' });
  expect(await demo.ended).toBe(1);
  expect(demo.screen()).toContain('The demo failed. Part: Start of the service');
  expect(demo.screen()).toContain('SERVICE_SANDBOX: is "castle" and must be one of auto, bubblewrap, none');
  expect(demo.processes()).toEqual([]);
});

test('Ctrl-C ends the service and leaves nothing', async () => {
  const demo = startDemo();
  await expect.poll(demo.screen, { interval: 20 }).toContain('▸ What sold');
  demo.kill('SIGINT');
  expect(await demo.ended).toBe(130);
  expect(demo.folders()).toEqual([]);
  expect(demo.processes()).toEqual([]);
});

test('a demo that is killed takes its service with it', async () => {
  const demo = startDemo();
  await expect.poll(demo.screen, { interval: 20 }).toContain('✓ at http');
  expect(demo.processes().length).toBeGreaterThan(2);
  demo.kill('SIGKILL');
  await demo.ended;
  await expect.poll(demo.processes, { interval: 100 }).toEqual([]);
});
