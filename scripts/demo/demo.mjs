import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createApi } from './api.mjs';
import { seconds } from './format.mjs';
import { inPart } from './part.mjs';
import { findFreePort, spawnService, whenReady } from './service.mjs';
import { showNext, showOpening, showSummary } from './summary.mjs';
import { deployWorkspace, FLOW, readMemory, runFlow } from './workspace.mjs';

const LOST_MS = 500;

/** The demo's parts in their order, and how it ends wherever it is. */
export class Demo {
  /** @type {string | null} */
  #folder = null;
  /** @type {import('./service.mjs').Service | null} */
  #service = null;
  /** @type {Promise<boolean> | null} */
  #stopping = null;
  #ending = new AbortController();
  #model = process.env.SERVICE_LLM_MODEL || null;
  #screen;

  /** @param {import('./screen.mjs').Screen} screen */
  constructor(screen) {
    this.#screen = screen;
  }

  /** Where the service's log is; null before there is a folder for it. */
  get logFile() {
    return this.#folder && join(this.#folder, 'service.log');
  }

  async run() {
    const screen = this.#screen;
    const model = this.#model;
    showOpening(screen, model);
    screen.heading('Service');
    this.#folder = await inPart('Temporary folder', makeFolder);
    const api = await inPart('Start of the service', () => this.#start());
    screen.heading('Deploy');
    await this.#part('Deploy', () => deployWorkspace({ api, screen, model }));
    screen.heading(`Run of ${FLOW}`);
    const run = await this.#part('Run', () => runFlow({ api, screen, model }, this.#ending.signal));
    const memory = await this.#part('Run', () => readMemory(api, run.memoryWrites));
    showSummary(screen, { run, memory });
    await inPart('End of the service', () => this.#finish());
    screen.done('the service has ended, and its temporary folder is gone');
    showNext(screen);
  }

  /** Ends the service and keeps the folder, for who wants to see why. */
  async abandon() {
    this.#ending.abort();
    await this.#stop();
  }

  /** Ends the service and leaves nothing. */
  async end() {
    await this.abandon();
    await this.#removeFolder();
  }

  /** Ends it without patience. */
  kill() {
    this.#service?.kill();
  }

  async #start() {
    const screen = this.#screen;
    const dataDir = join(this.#folder ?? '', 'data');
    const began = Date.now();
    const service = spawnService({ dataDir, logFile: this.logFile ?? '', port: await findFreePort() });
    this.#service = service;
    const waiting = whenReady(dataDir, this.#ending.signal, (ms) =>
      screen.live(`  … the service starts: ${seconds(ms)}`),
    );
    const { url, key, health } = await Promise.race([waiting, service.lost]);
    screen.done(`at ${url} after ${seconds(Date.now() - began)}, with its own Postgres and Temporal`);
    if (health.sandbox.reason !== null) throw new Error(noSandbox(health.sandbox.reason));
    const isolated = health.sandbox.driver !== 'none';
    screen.done(isolated ? `programs run in ${health.sandbox.driver}` : 'programs run without a sandbox (none)');
    return createApi({ url, key });
  }

  /**
   * A part ends when the service ends. Its connections break a moment before its exit is known, and that exit is the
   * reason to show.
   * @template T @param {string} name @param {() => Promise<T>} work @returns {Promise<T>}
   */
  #part(name, work) {
    const lost = this.#service?.lost;
    if (!lost) throw new Error('there is no service yet');
    const orLost = async () => {
      try {
        return await work();
      } catch (error) {
        await Promise.race([lost, pause(LOST_MS)]);
        throw error;
      }
    };
    return inPart(name, () => Promise.race([orLost(), lost]));
  }

  async #finish() {
    if (!(await this.#stop())) throw new Error('it did not end when it was asked to, and was killed');
    await this.#removeFolder();
  }

  async #stop() {
    this.#stopping ??= this.#service?.stop() ?? null;
    return (await this.#stopping) ?? true;
  }

  async #removeFolder() {
    if (this.#folder) await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function makeFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-demo-')).catch((error) => {
    throw new Error(`none can be made in ${tmpdir()} (${error.code}): set TMPDIR to a folder that you may write to`);
  });
  // A root's service runs Postgres and programs as other users, who must pass through. What is secret inside is 0600.
  if (process.getuid?.() === 0) await chmod(folder, 0o711);
  return folder;
}

/** @param {string} reason */
const noSandbox = (reason) =>
  `${reason}.\nThe demo's flow branches on what a program computed, so it needs one. All else of the service works without.`;
