import { postOpenly } from './api.mjs';
import { resultLines, titleOf } from './event-lines.mjs';

const NOTE = 'Go ahead';
const EVENT = { supplier: 'Velo Depot', confirmed: true, delivery: 'Friday' };

/** @typedef {{ screen: import('./screen.mjs').Screen, step: import('./event-lines.mjs').StepView, at: string }} WaitingStep */

/**
 * Plays the people and the outside world: shows what the run waits for, then approves or posts the event.
 * @param {import('./follow-run.mjs').Follow} follow
 */
export function createReleases({ api, screen, path }) {
  /** @param {WaitingStep} waiting */
  const approve = async (waiting) => {
    showAsked(waiting);
    const body = { decision: 'approve', step: waiting.step.n, note: NOTE };
    screen.block([`→ POST ${path}/approve`, `  ${JSON.stringify(body)}`], 'yellow');
    await api.post(`${path}/approve`, body);
  };
  /** @param {WaitingStep} waiting @param {string} releaseUrl */
  const postEvent = async ({ step, at }, releaseUrl) => {
    screen.line(
      `${at} ${screen.paint('yellow', '?')} ${titleOf(screen, step)}: waits for an event, from outside and without a key`,
    );
    screen.block([`→ POST ${withoutToken(releaseUrl)}`, `  ${JSON.stringify(EVENT)}`], 'yellow');
    await postOpenly(releaseUrl, EVENT);
  };
  return {
    /** @param {import('./event-lines.mjs').RunView} run @param {WaitingStep['step']} step @param {string} at */
    async release({ waiting }, step, at) {
      const wait = waiting.find(({ id }) => id === step.id);
      if (wait?.kind === 'approval') await approve({ screen, step, at });
      if (wait?.kind === 'event' && wait.releaseUrl) await postEvent({ screen, step, at }, wait.releaseUrl);
    },
  };
}

/** The gate asks about what its agent made. @param {WaitingStep} waiting */
function showAsked({ screen, step, at }) {
  screen.line(`${at} ${screen.paint('yellow', '?')} ${titleOf(screen, step)}: a person has to decide`);
  screen.block(resultLines(screen, step.result ?? ''), 'cyan');
}

/** The address as it may be shown: who has the whole token can release the run. @param {string} url */
function withoutToken(url) {
  const { pathname, search } = new URL(url);
  return pathname + search.replace(/(token=[^&]{4})[^&]*/, '$1…');
}
