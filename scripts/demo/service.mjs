import { spawn } from 'node:child_process';
import { createWriteStream, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { inRoot, root } from '../lib/paths.mjs';
import { endLeftovers } from './leftovers.mjs';
import { serviceEnv } from './service-env.mjs';

const START_MS = 90_000;
const LOOK_EVERY_MS = 100;
/** A service that stops hands its lanes over and ends its servers; Postgres writes what is dirty. */
const STOP_MS = 30_000;

/** @typedef {ReturnType<typeof spawnService>} Service */

/**
 * Starts the service as a user would, with a log file of its own.
 * @param {{ dataDir: string, logFile: string, port: number }} place
 */
export function spawnService({ dataDir, logFile, port }) {
  const log = createWriteStream(logFile, { mode: 0o600 });
  // A group of its own: a Ctrl-C at the terminal is ours to pass on, once.
  const child = spawn(process.execPath, ['--enable-source-maps', inRoot('dist/main.js')], {
    cwd: root,
    env: serviceEnv(process.env, { dataDir, port }),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let words = '';
  let stopping = false;
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  // Standard error is what it says to people; the log's own lines are on standard output.
  child.stderr.on('data', (chunk) => (words = (words + chunk).slice(-4_000)));
  /** @type {Promise<string>} */
  const ended = new Promise((resolve) => {
    child.once('error', (error) => resolve(`it could not be started: ${error.message}`));
    child.once('close', (code, signal) => resolve(signal ? `it was ended by ${signal}` : `it ended with ${code}`));
  });

  return {
    pid: child.pid,
    /** Settles, with the reason, when the service ends although nobody asked it to. @type {Promise<never>} */
    lost: ended.then((how) => {
      if (stopping) return new Promise(() => undefined);
      throw new Error(`the service is gone: ${how}\n${words.trim().split('\n').slice(-10).join('\n')}`.trim());
    }),
    /** Ends it and all that it started; answers false when it had to be killed. */
    async stop() {
      stopping = true;
      child.kill('SIGTERM');
      const kill = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await ended;
      clearTimeout(kill);
      await endLeftovers(dataDir);
      await new Promise((resolve) => log.end(resolve));
      return child.signalCode !== 'SIGKILL';
    },
    /** Without patience, for a second Ctrl-C. */
    kill: () => child.kill('SIGKILL'),
  };
}

/**
 * Waits until every part of it answers; then its address and its first key, as `bootstrap.json` tells them, and health.
 * @param {string} dataDir @param {(waitedMs: number) => void} onWait
 */
export async function whenReady(dataDir, onWait) {
  const began = Date.now();
  let health = null;
  while (Date.now() - began < START_MS) {
    onWait(Date.now() - began);
    const account = readBootstrap(dataDir);
    health = account && (await readHealth(account.url));
    if (account && health?.ok && health.workerAlive) return { ...account, health };
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
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

/** A port that is free now. The service is told a number, so that the addresses it hands out carry it. */
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
