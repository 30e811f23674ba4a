// npm run bench: set up what is missing, then measure the product as a user runs it, beside bare Temporal; with
// `--parked 10000` what so many parked runs cost, with `--logins` what a flood of sign-ins does to the other routes, with
// `--git` clones and pushes beside plain git, with `--hooks` what becomes of a thousand deliveries a minute over killed processes.
import { spawn } from 'node:child_process';
import { build } from 'esbuild';
import { inRoot, root } from './lib/paths.mjs';
import { setUp } from './lib/setup.mjs';

await setUp();
const names = ['main', 'parked', 'logins', 'git', 'hooks/main', 'mock-provider', 'reference/worker'];
await build({
  entryPoints: Object.fromEntries(names.map((name) => [name, inRoot(`bench/${name}.ts`)])),
  outdir: inRoot('dist/bench'),
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  logLevel: 'error',
});
const entry =
  { '--parked': 'parked', '--logins': 'logins', '--git': 'git', '--hooks': 'hooks/main' }[process.argv[2] ?? ''] ??
  'main';
const child = spawn(process.execPath, [inRoot(`dist/bench/${entry}.js`), ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
});
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => child.kill(signal));
child.on('exit', (code) => {
  process.exitCode = code ?? 1;
});
