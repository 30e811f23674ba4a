import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { root } from './paths.mjs';

/** How long a child may take to exit after the signal. */
const PATIENCE_MS = 2_000;

/** @type {Set<import('node:child_process').ChildProcess>} */
const living = new Set();
let ending = false;

/**
 * Runs a program to its end, with no input, and answers what it said. Never throws for a program that fails:
 * `code` is its exit code, 127 when there is no such program, 128 + n when signal n ended it.
 * @param {string} program
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: Record<string, string | undefined>, show?: boolean }} [options] `show` passes its output to the screen.
 * @returns {Promise<{ code: number, output: string }>}
 */
export function runChild(program, args, { cwd = root, env = {}, show = false } = {}) {
  return new Promise((resolve) => {
    const stdio = show ? 'inherit' : 'pipe';
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', stdio, stdio],
      detached: true,
    });
    living.add(child);
    let output = '';
    child.stdout?.on('data', (chunk) => (output += chunk));
    child.stderr?.on('data', (chunk) => (output += chunk));
    const end = (/** @type {number} */ code) => {
      living.delete(child);
      // It exits because we exit: not an error.
      if (!ending) resolve({ code, output });
    };
    child.on('error', (error) => {
      output += error.message;
      end(127);
    });
    child.on('close', (code, signal) => end(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  });
}

/** On SIGINT, SIGTERM or SIGHUP: end the children first, so that none outlives us. Answers how to give the signals back. */
export function endChildrenOnSignal() {
  const onSignal = (/** @type {NodeJS.Signals} */ signal) =>
    void endChildren(signal).then(() => process.exit(128 + constants.signals[signal]));
  const signals = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);
  for (const signal of signals) process.on(signal, onSignal);
  return () => {
    for (const signal of signals) process.off(signal, onSignal);
  };
}

/** Answers when all are gone; those that do not heed the signal are killed. @param {NodeJS.Signals} signal */
export async function endChildren(signal = 'SIGTERM') {
  ending = true;
  const ends = [...living].map((child) => {
    killGroup(child, signal);
    const kill = setTimeout(() => killGroup(child, 'SIGKILL'), PATIENCE_MS);
    return new Promise((resolve) => child.once('close', resolve)).then(() => {
      clearTimeout(kill);
      // It is gone; what it started may be more stubborn.
      killGroup(child, 'SIGKILL');
    });
  });
  await Promise.all(ends);
}

/**
 * A child leads a process group of its own, so that what it started ends with it.
 * @param {import('node:child_process').ChildProcess} child
 * @param {NodeJS.Signals} signal
 */
function killGroup(child, signal) {
  try {
    if (child.pid) process.kill(-child.pid, signal);
  } catch {
    // It has just ended.
  }
}
