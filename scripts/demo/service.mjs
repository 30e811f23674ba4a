import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { inRoot, root } from '../lib/paths.mjs';
import { endLeftovers } from './leftovers.mjs';
import { serviceEnv } from './service-env.mjs';

const START_MS = 90_000;
const POLL_EVERY_MS = 100;
/** A service that stops hands its lanes over and ends its servers; Postgres writes what is dirty. */
const STOP_MS = 30_000;
const GUARD = pathToFileURL(inRoot('scripts/demo/end-with-parent.mjs')).href;
const REASON_LINES = 10;

/** @typedef {ReturnType<typeof spawnService>} Service */

/**
 * Starts the service as a user would, with a log file of its own.
 * @param {{ dataDir: string, logFile: string, port: number }} place
 */
export function spawnService({ dataDir, logFile, port }) {
  const log = openSync(logFile, 'a', 0o600);
  // A group of its own: a Ctrl-C at the terminal is ours to pass on, once.
  const child = spawn(process.execPath, ['--enable-source-maps', '--import', GUARD, inRoot('dist/main.js')], {
    cwd: root,
    env: serviceEnv(process.env, { dataDir, port }),
    stdio: ['ignore', log, log, 'ipc'],
    detached: true,
  });
  closeSync(log);
  let stopping = false;
  /** @type {Promise<string>} */
  const ended = new Promise((resolve) => {
    child.once('error', (error) => resolve(`it could not be started: ${error.message}`));
    child.once('exit', (code, signal) => resolve(signal ? `it was ended by ${signal}` : `it ended with ${code}`));
  });

  /** @type {Promise<never>} */
  const lost = ended.then((how) => {
    if (stopping) return new Promise(() => undefined);
    throw new Error([`the service is gone: ${how}`, ...linesForPeople(logFile)].join('\n'));
  });
  // It may exit between two parts: the next part then fails at once.
  lost.catch(() => undefined);

  return {
    /** Resolves with the reason when the service exits unexpectedly. */
    lost,
    /** Ends it and all that it started; answers false when it had to be killed. */
    async stop() {
      stopping = true;
      child.kill('SIGTERM');
      const kill = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await ended;
      clearTimeout(kill);
      await endLeftovers(dataDir);
      return child.signalCode !== 'SIGKILL';
    },
    /** Without patience, for a second Ctrl-C. */
    kill: () => child.kill('SIGKILL'),
  };
}

/** What it said last to people: the lines of its log that are not for machines. @param {string} logFile */
function linesForPeople(logFile) {
  const lines = readFileSync(logFile, 'utf8').split('\n');
  return lines.filter((line) => line !== '' && !line.startsWith('{')).slice(-REASON_LINES);
}

/**
 * Waits until every part of it answers; then its address and its first key from `bootstrap.json`, and health.
 * @param {string} dataDir @param {AbortSignal} signal gives up @param {(waitedMs: number) => void} onWait
 */
export async function whenReady(dataDir, signal, onWait) {
  const began = Date.now();
  let health = null;
  while (Date.now() - began < START_MS) {
    onWait(Date.now() - began);
    const account = readBootstrap(dataDir);
    health = account && (await readHealth(account.url));
    if (account && health?.ok && health.workerAlive) return { ...account, health };
    await pause(POLL_EVERY_MS, undefined, { signal });
  }
  throw new Error(`it was not ready after ${START_MS / 1_000} s${health ? `: ${JSON.stringify(health)}` : ''}`);
}

/** @param {string} dataDir @returns {{ url: string, key: string } | null} */
function readBootstrap(dataDir) {
  try {
    return JSON.parse(readFileSync(join(dataDir, 'bootstrap.json'), 'utf8'));
  } catch {
    return null;
  }
}

/** @param {string} url @returns {Promise<import('../../src/contract/health.js').Health | null>} */
async function readHealth(url) {
  try {
    const response = await fetch(new URL('/api/healthz', url));
    return /** @type {import('../../src/contract/health.js').Health} */ (await response.json());
  } catch {
    return null;
  }
}

/** A free port. The service gets a fixed number, so that the URLs it hands out contain it. */
export function findFreePort() {
  return new Promise((/** @type {(port: number) => void} */ resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
