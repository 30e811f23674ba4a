import { count, optionalCount, parameters, stringArg, text } from '../arguments.js';
import type { AgentTool } from '../contract.js';
import { toolError } from '../outcome.js';
import { type ProgramDeps, runInLane } from '../program/run-in-lane.js';

const DEFAULT_SECONDS = 120;
const MAX_SECONDS = 3_600;

export function bashTool(deps: ProgramDeps): AgentTool {
  return {
    ref: 'Bash',
    spec: {
      name: 'Bash',
      description:
        'Runs a command with bash in a sandbox: working folder /work, and no network but for hosts that were opened, by the proxy of HTTPS_PROXY. What it leaves under outputs/ and files/ is kept when the step ends; knowledge/, memory/, skills/ and tools/ can be read.',
      parameters: parameters(
        {
          command: text('The command, as for bash -c.'),
          timeout: count(
            `Seconds after which it is stopped; ${DEFAULT_SECONDS} when left out, ${MAX_SECONDS} at most.`,
          ),
        },
        ['command'],
      ),
    },
    acts: () => true,
    program: true,
    run: async (args, context) => {
      const command = stringArg(args, 'command');
      const seconds = optionalCount(args, 'timeout', [1, MAX_SECONDS]) ?? DEFAULT_SECONDS;
      const ran = await runInLane(deps, context, {
        argv: ['bash', '-c', command],
        env: {},
        stdin: null,
        readOnly: [],
        timeoutMs: seconds * 1_000,
      });
      if ('refused' in ran) return toolError(ran.refused);
      const { result, faults, detail } = ran;
      const parts = [
        result.stdout,
        result.stderr === '' ? '' : `[stderr]\n${result.stderr}`,
        ...faults.map((fault) => `[${fault}]`),
      ];
      const shownText = parts.filter((part) => part !== '').join('\n');
      return { text: shownText === '' ? '(no output)' : shownText, isError: faults.length > 0, detail };
    },
  };
}
