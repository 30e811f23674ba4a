import { say, withProgress } from '../lib/progress.mjs';
import { runChild } from '../lib/run-child.mjs';
import { onPath } from './on-path.mjs';

/** By the package manager that is there: what installs bubblewrap, one command after the other. */
const MANAGERS = {
  'apt-get': [
    ['apt-get', '-o', 'Acquire::Retries=1', '-o', 'Acquire::http::Timeout=15', 'update'],
    ['apt-get', 'install', '-y', '--no-install-recommends', 'bubblewrap'],
  ],
  dnf: [['dnf', 'install', '-y', 'bubblewrap']],
  apk: [['apk', 'add', '--no-cache', 'bubblewrap']],
};

const CONSEQUENCE = 'Until then programs (Bash, script tools) are refused; all else works.';

/** Gets bubblewrap, in which programs run. Never a reason not to start: without it programs are refused. */
export async function getBubblewrap() {
  // The API runs no programs, and who chose `none` wants no bubblewrap.
  if (process.env.SERVICE_ROLE === 'api' || process.env.SERVICE_SANDBOX === 'none' || onPath('bwrap')) return;
  if (process.platform !== 'linux') {
    say(
      '  · Programs (Bash, script tools) run in bubblewrap, which is for Linux: here they are refused; all else works.',
    );
    say('    To run them without any isolation, for development only: SERVICE_SANDBOX=none');
    return;
  }
  const manager = /** @type {(keyof typeof MANAGERS)[]} */ (Object.keys(MANAGERS)).find((name) => onPath(name));
  const commands = manager ? MANAGERS[manager] : [];
  if (!manager) say(`  · Install the package \`bubblewrap\` with your system's package manager. ${CONSEQUENCE}`);
  else if (process.getuid?.() !== 0) {
    say(
      `  · Programs run in bubblewrap, and it is not installed. Install it: sudo ${commandLine(commands.at(-1) ?? [])}`,
    );
    say(`    ${CONSEQUENCE}`);
  } else await withProgress(`installing bubblewrap (${manager})`, () => install(commands));
}

/** @param {readonly (readonly string[])[]} commands */
async function install(commands) {
  let failure = '';
  for (const [program = '', ...args] of commands) {
    const { code, output } = await runChild(program, args, { env: { DEBIAN_FRONTEND: 'noninteractive' } });
    failure = code === 0 ? '' : `${output.trim()}\n  · \`${program}\` ended with ${code}.`;
  }
  // A failed refresh of the package list does not matter if the install works.
  if (failure || !onPath('bwrap')) {
    say(
      `${failure}\n  · bubblewrap could not be installed; do it by hand: ${commandLine(commands.at(-1) ?? [])}. ${CONSEQUENCE}`,
    );
  }
}

const commandLine = (/** @type {readonly string[]} */ command) => command.filter((word) => word !== '-y').join(' ');
