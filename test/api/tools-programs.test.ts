import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { assembleTools } from '../../src/tools/index.js';
import { givenSecrets } from '../support/given-secrets.js';
import { codeTool, createToolLane, folderTool, STEP } from '../support/tool-lane.js';

const DAYS = `
import datetime, json, sys
args = json.load(sys.stdin)
start = datetime.date.fromisoformat(args["start"])
print(json.dumps({"next": str(start + datetime.timedelta(days=1))}))
`;

test('Bash answers output and exit status, and keeps the folder from call to call', async () => {
  const { call, ok } = await createToolLane();
  expect(await call('Bash', { command: 'echo hello; echo oops >&2; exit 3' })).toMatchObject({
    text: 'hello\n\n[stderr]\noops\n\n[exit status 3]',
    isError: true,
    detail: { exitCode: 3, killed: null },
  });
  await ok('Bash', { command: 'echo kept > scratch.txt' });
  expect(await ok('Bash', { command: 'cat scratch.txt; pwd' })).toBe('kept\n/work\n');
  expect(await ok('Bash', { command: 'true' })).toBe('(no output)');
});

test('Bash is stopped at its time, and says so', async () => {
  const { call, fails } = await createToolLane();
  const outcome = await call('Bash', { command: 'echo begun; sleep 60', timeout: 1 });
  expect(outcome).toMatchObject({ isError: true, detail: { killed: 'timeout', exitCode: null } });
  expect(outcome.text).toBe('begun\n\n[it was stopped after 1 s: its time was up]');
  expect(await fails('Bash', { command: 'true', timeout: 0 })).toContain('whole number from 1 to 3600');
  expect(await fails('Bash', { command: 'x'.repeat(200_000) })).toContain('over 128 KiB');
  expect(await fails('Bash', { command: 'echo a\0b' })).toContain('zero byte');
});

test('a program that fails for want of a network is told that there is none', async () => {
  const { call, context } = await createToolLane();
  const command = 'python3 -c "import urllib.request; urllib.request.urlopen(\'http://api.example.com\')"';
  const plain = await call('Bash', { command });
  expect(plain.detail).toMatchObject({ network: 'none' });
  expect(plain.text).toContain('programs have no network here');
  const granted = await call('Bash', { command }, { agent: { ...context.agent, network: ['api.example.com'] } });
  expect(granted.detail).toMatchObject({ refused: [{ host: 'api.example.com:80' }] });
  expect(granted.text).toContain('api.example.com');
});

test('programs see knowledge, memory, skills, tools and the own folder of the agent read-only, and nothing else', async () => {
  const { ok } = await createToolLane({
    files: {
      'AGENTS.md': '# Shop\n',
      'knowledge/tone.md': 'kind',
      'skills/plain/SKILL.md': 'skill',
      'tools/days/days.py': 'print(1)',
      'agents/writer/knowledge/own.md': 'own',
      'agents/other/knowledge/theirs.md': 'theirs',
      'agents/writer/agent.md': 'prompt',
      'flows/hello.md': 'flow',
    },
  });
  expect(await ok('Bash', { command: 'cd /workspace && find . -type f | sort; cat /work/knowledge/tone.md' })).toBe(
    './agents/writer/knowledge/own.md\n./knowledge/tone.md\n./skills/plain/SKILL.md\n./tools/days/days.py\nkind',
  );
});

test('a script tool of fenced code gets its arguments on standard input and as variables', async () => {
  const echo = codeTool('bash', 'cat; echo; echo "$ARG_START $ARG_N $ARG_A_B"; ls /tool -A');
  const { ok } = await createToolLane({ agent: { tools: [echo] } });
  const text = await ok('tool', { start: '2026-01-01', n: 7, 'a-b': { deep: [1] } });
  expect(text).toBe('{"start":"2026-01-01","n":7,"a-b":{"deep":[1]}}\n2026-01-01 7 {"deep":[1]}\n.program.sh\n');
});

test.each([
  ['python', DAYS],
  ['py', DAYS],
  [
    'js',
    'const { start } = JSON.parse((await import("node:fs")).readFileSync("/dev/stdin", "utf8")); console.log(JSON.stringify({ next: start.replace(/31$/, "32") === start ? "2026-02-01" : "2026-02-01" }));',
  ],
  ['sh', 'echo "{\\"next\\": \\"$(date -d "$ARG_START + 1 day" +%F)\\"}"'],
])('fenced code in %s is run by its interpreter', async (language, code) => {
  const { ok } = await createToolLane({ agent: { tools: [codeTool(language, code)] } });
  expect(JSON.parse(await ok('tool', { start: '2026-01-31' }))).toEqual({ next: '2026-02-01' });
});

test('a script tool that is a folder runs its program beside its files, which it cannot change', async () => {
  const files = {
    'tools/tool/main.py':
      'import helper, os, sys\nprint(helper.WORD)\ntry: open("/tool/helper.py", "w")\nexcept OSError as e: print(e.strerror)\nopen("/work/outputs/made.txt", "w").write("x")',
    'tools/tool/helper.py': 'WORD = "from beside"',
    'tools/tool/data/x.json': '{}',
  };
  const { ok } = await createToolLane({ files, agent: { tools: [folderTool(files)] } });
  expect(await ok('tool', {})).toBe('from beside\nRead-only file system\n');
  expect(await ok('Glob', { pattern: 'outputs/*' })).toBe('outputs/made.txt');
});

test('a program with a #! line runs itself, another language is a sentence', async () => {
  const hashbang = { 'tools/tool/run': '#!/usr/bin/env python3\nprint("ran")\n' };
  const first = await createToolLane({ files: hashbang, agent: { tools: [folderTool(hashbang)] } });
  expect(await first.ok('tool', {})).toBe('ran\n');
  const ruby = await createToolLane({ agent: { tools: [codeTool('ruby', 'puts 1')] } });
  expect(await ruby.fails('tool', {})).toBe(
    'tool tool cannot run ruby: write it in python, bash or javascript, or begin the file with a #! line',
  );
});

test('exit status other than 0 is a tool error with the tail of stderr', async () => {
  const tool = codeTool('bash', 'echo ignored; seq 5000 >&2; echo "no such order" >&2; exit 2');
  const { call } = await createToolLane({ agent: { tools: [tool] } });
  const outcome = await call('tool', {});
  expect(outcome).toMatchObject({ isError: true, detail: { exitCode: 2 } });
  expect(outcome.text).toMatch(/^tool failed: exit status 2\n[\s\S]*no such order$/);
  expect(outcome.text.length).toBeLessThan(4_100);
});

test('a script tool is stopped after its own timeout', async () => {
  const { fails } = await createToolLane({ agent: { tools: [codeTool('bash', 'sleep 60', { timeoutSeconds: 1 })] } });
  expect(await fails('tool', {})).toContain('its time was up');
});

test('security 18: a program gets the secrets of its step and no other, and they are in nothing that it says', async () => {
  const secret = 'canary+s3cret/ü value';
  const tool = codeTool(
    'python',
    `import base64, os, sys, time, urllib.parse
s = os.environ["TOKEN"]
print(s, base64.b64encode(s.encode()).decode(), base64.b64encode(("user:" + s).encode()).decode(), urllib.parse.quote(s), urllib.parse.quote_plus(s), s.encode().hex(), "OTHER" in os.environ)
sys.stdout.write(s[:6]); sys.stdout.flush(); time.sleep(0.05); print(s[6:])
print(s, file=sys.stderr); sys.exit(int(os.environ.get("ARG_CODE", "0")))`,
    { secrets: ['TOKEN'] },
  );
  const { call, fails } = await createToolLane({ agent: { tools: [tool] } });
  const live: string[] = [];
  const secrets = givenSecrets({ TOKEN: secret });
  const change = { secrets, onOutput: (chunk: string) => void live.push(chunk) };
  const good = await call('tool', {}, change);
  const bad = await call('tool', { code: '1' }, change);
  expect(good.text).toMatch(
    /^(\[secret TOKEN\] ){2}dXNlcj.\[secret TOKEN\] (\[secret TOKEN\] ){3}False\n\[secret TOKEN\]\n$/,
  );
  const all = good.text + bad.text + live.join('');
  for (const form of [
    secret,
    'canary',
    's3cret',
    Buffer.from(secret).toString('base64'),
    Buffer.from(secret).toString('hex'),
  ]) {
    expect(all).not.toContain(form);
  }
  expect(bad.text).toContain('[secret TOKEN]');
  expect(await fails('tool', {})).toContain('needs the secret TOKEN');
  const { ok } = await createToolLane();
  expect(await ok('Bash', { command: 'echo $TOKEN' }, { secrets })).toBe('[secret TOKEN]\n');
  expect(await ok('Bash', { command: 'env' })).not.toContain('TOKEN');
});

test('the tools of a step are what its agent is granted, narrowed by the step', async () => {
  const { deps, context } = await createToolLane({
    agent: { builtins: ['Read', 'Bash'], tools: [codeTool('sh', 'true')] },
  });
  const names = async (tools?: readonly string[]) =>
    (await assembleTools(deps, { ...context, step: { ...STEP, ...(tools && { tools }) } })).map(
      ({ spec }) => spec.name,
    );
  expect(await names()).toEqual(['Read', 'Bash', 'tool']);
  expect(await names(['Read'])).toEqual(['Read']);
  expect(await names(['tool', 'Write'])).toEqual(['tool']);
  expect(await names([])).toEqual([]);
});

test('what a model reads of a script tool are its arguments with their meaning', async () => {
  const { deps, context } = await createToolLane({ agent: { builtins: [], tools: [codeTool('sh', 'true')] } });
  const [tool] = await assembleTools(deps, context);
  expect(tool?.spec).toEqual({
    name: 'tool',
    description: 'A tool.',
    parameters: {
      type: 'object',
      properties: { start: { type: 'string', description: 'a date' } },
      required: [],
      additionalProperties: false,
    },
  });
  expect(tool).toMatchObject({ ref: 'tool', program: true });
  expect(tool?.acts({})).toBe(true);
});

test('without a sandbox a program is a tool error that says what to install', async () => {
  const { call, context, deps } = await createToolLane();
  const reason = 'programs cannot run: bubblewrap is not installed';
  const { Refusal } = await import('../../src/shared/refusal.js');
  const sandbox = { ...deps.sandbox, run: () => Promise.reject(new Refusal('unavailable', reason)) };
  const bash = (await assembleTools({ ...deps, sandbox }, context)).find(({ ref }) => ref === 'Bash');
  expect(await bash?.run({ command: 'true' }, { ...context, callKey: 'k' })).toEqual({ text: reason, isError: true });
  expect((await call('Read', { path: 'steps/research.md' })).isError).toBe(false);
});

test('SERVICE_SANDBOX=none runs the same tools on the host', async () => {
  const files = {
    'tools/tool/main.py': 'import sys; print(open("knowledge/tone.md").read(), sys.stdin.read())',
    'knowledge/tone.md': 'kind',
  };
  const { ok } = await createToolLane({
    files,
    driver: 'none',
    agent: { tools: [folderTool({ 'tools/tool/main.py': files['tools/tool/main.py'] })] },
  });
  expect(await ok('Bash', { command: 'echo x > outputs/a.txt; cat outputs/a.txt' })).toBe('x\n');
  expect(await ok('tool', { a: '1' })).toBe('kind {"a":"1"}\n');
});

test('security 18: a secret that one program left in a file is found by no other tool', async () => {
  const leave = {
    ...codeTool('bash', 'echo "it is $CANARY" | tee outputs/x.txt | base64 > files/y.txt'),
    secrets: ['CANARY'],
  };
  const { ok, context } = await createToolLane({ agent: { tools: [leave] } });
  const secrets = givenSecrets({ CANARY: 'canary-4711-value' });
  const chunks: string[] = [];
  await ok('tool', {}, { secrets });
  const said = [
    await ok(
      'Bash',
      { command: 'cat outputs/x.txt; cat files/y.txt >&2' },
      { secrets, onOutput: (chunk) => chunks.push(chunk) },
    ),
    await ok('Read', { path: 'outputs/x.txt' }, { secrets }),
    await ok('Read', { path: 'files/y.txt' }, { secrets }),
    await ok('Grep', { pattern: 'it is' }, { secrets }),
    chunks.join(''),
  ];
  expect(await readFile(join(context.folder.work, 'outputs/x.txt'), 'utf8')).toContain('canary-4711-value');
  for (const text of said) expect(text).toContain('[secret CANARY]');
  expect(said.join('\n')).not.toMatch(/canary-4711|4711-value/);
});

test('a skill is loaded whole by its name, with the files beside it, which Read and programs find', async () => {
  const skill = '---\nname: plain\ndescription: Plain words.\n---\nRun scripts/count.sh.\n';
  const folder = 'skills/plain';
  const { ok, fails } = await createToolLane({
    files: {
      [`${folder}/SKILL.md`]: skill,
      [`${folder}/scripts/count.sh`]: 'echo counted\n',
      [`${folder}/references/words.md`]: 'Words.',
      '.agents/skills/lone/SKILL.md': '---\nname: lone\ndescription: Alone.\n---\nAlone.\n',
    },
    agent: {
      skills: [
        { name: 'plain', description: 'Plain words.', path: `${folder}/SKILL.md`, sha: 'x' },
        { name: 'lone', description: 'Alone.', path: '.agents/skills/lone/SKILL.md', sha: 'x' },
      ],
    },
  });
  const loaded = await ok('load_skill', { name: 'plain' });
  expect(loaded.startsWith(skill.trimEnd())).toBe(true);
  expect(loaded.split('\n').filter((line) => line.startsWith('- '))).toEqual([
    `- ${folder}/references/words.md`,
    `- ${folder}/scripts/count.sh]`,
  ]);
  expect(await ok('Read', { path: `${folder}/references/words.md` })).toBe('Words.');
  expect(await ok('Bash', { command: `sh /work/${folder}/scripts/count.sh` })).toBe('counted\n');
  expect(await fails('Bash', { command: `echo x > /work/${folder}/SKILL.md` })).toContain('Read-only');
  expect(await ok('load_skill', { name: 'lone' })).toContain('.agents/skills/lone/');
  expect(await ok('Bash', { command: 'cat /work/.agents/skills/lone/SKILL.md' })).toContain('Alone.');
  expect(await fails('load_skill', { name: '../plain' })).toBe('there is no skill "../plain"; these are: plain, lone');
});
