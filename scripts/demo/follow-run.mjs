import { showEvent } from './event-lines.mjs';
import { isRecord } from './is-record.mjs';
import { createReleases } from './releases.mjs';

/**
 * @typedef {import('./event-lines.mjs').RunView} RunView
 * @typedef {{ api: import('./api.mjs').Api, screen: import('./screen.mjs').Screen, path: string }} Follow `path` is the run's
 */

/** The events after which the step's own row has something new to show. */
const NEWS = new Set(['step.completed', 'approval.requested', 'step.waiting']);

/**
 * Shows the run live from its stream, decides and releases what it waits for, and answers how it ended.
 * @param {Follow} follow @param {AbortSignal} signal
 * @returns {Promise<RunView>}
 */
export async function followRun({ api, screen, path }, signal) {
  const began = Date.now();
  const read = async () => /** @type {RunView} */ (await api.get(path));
  const releases = createReleases({ api, screen, path });
  const calls = createCallArguments();
  const speech = createSpeech(screen);
  let run = await read();

  for await (const { event, data } of await api.stream(`${path}/stream?after=0`, signal)) {
    if (event === 'end') break;
    if (!isRecord(data)) continue;
    const step = () => run.steps.find(({ id }) => id === data.step);
    if (event === 'delta' || event === 'reset') {
      speech.add(event, step()?.agent ?? '', data);
      continue;
    }
    if (event === 'model.finished' || event === 'step.completed') speech.end(data);
    if (event === 'tool.started') calls.keep(data);
    if (NEWS.has(event)) run = await read();
    const current = step();
    if (!current || data.group === true) continue;
    const at = `${((Date.now() - began) / 1000).toFixed(1).padStart(6)} s `;
    showEvent(event, { screen, step: current, at, data, args: event === 'tool.finished' ? calls.take(data) : '' });
    if (event === 'step.waiting') await releases.release(run, current, at);
  }
  screen.wipe();
  return read();
}

/** The end of a tool call does not say again with what it was called. */
function createCallArguments() {
  /** @type {Map<string, string[]>} */
  const held = new Map();
  const keyOf = (/** @type {Record<string, unknown>} */ data) => [data.step, data.item, data.turn, data.name].join('/');
  return {
    /** @param {Record<string, unknown>} data */
    keep: (data) => void held.set(keyOf(data), [...(held.get(keyOf(data)) ?? []), String(data.args)]),
    /** @param {Record<string, unknown>} data */
    take: (data) => held.get(keyOf(data))?.shift() ?? '{}',
  };
}

/** What agents say as they say it, on the screen's live line: the words of one turn of one step. @param {Follow['screen']} screen */
function createSpeech(screen) {
  /** @type {Map<unknown, string>} */
  const texts = new Map();
  return {
    /** @param {string} kind @param {string} agent @param {Record<string, unknown>} data */
    add(kind, agent, data) {
      const text = kind === 'reset' ? '' : (texts.get(data.step) ?? '') + String(data.text);
      texts.set(data.step, text);
      screen.live(`            ${agent}: ${text}`);
    },
    /** @param {Record<string, unknown>} data */
    end: (data) => texts.delete(data.step),
  };
}
