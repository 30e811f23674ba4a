import { readFileSync } from 'node:fs';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { inRoot } from '../../scripts/lib/paths.mjs';
import { THIN_MODULES, thinStreamsPlugin, withThinStreams } from '../../scripts/lib/thin-streams.mjs';

const pathOf = (module: string) => inRoot('node_modules', module);
const MODULES = THIN_MODULES.map(({ module }) => ({
  path: pathOf(module),
  source: readFileSync(pathOf(module), 'utf8'),
}));

test.each(MODULES)('the pinned $path uses streams as the build expects', ({ path, source }) => {
  expect(withThinStreams(path, source)).toContain('src/models/wire/thin-streams.ts');
});

test.each(MODULES)('a $path with another use of streams is an error', ({ path, source }) => {
  const upgraded = [
    `${source}\nconst [one, two] = stream.tee();\n`,
    source.replace('TransformStream', 'OtherStream').replace('ReadableStream', 'OtherStream'),
    '',
  ];
  for (const other of upgraded)
    expect(() => withThinStreams(path, other)).toThrow(/uses streams in another way than this build expects/);
});

async function bundle(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: inRoot('.') },
    bundle: true,
    write: false,
    plugins: [thinStreamsPlugin()],
    platform: 'node',
    format: 'cjs',
    logLevel: 'silent',
  });
  return outputFiles.map(({ text }) => text).join('');
}

test('the build puts the in-process streams into the SDK of every provider', async () => {
  const text = await bundle("import './src/models/index.ts';");
  expect(text).toMatch(/EventSourceParserStream\w* = class extends ThinTransform\b/);
  expect(text).not.toContain('pipeThrough(new TextDecoderStream())');
});

test('the build fails when it does not meet one of the modules', async () => {
  await expect(bundle("import 'eventsource-parser/stream';")).rejects.toThrow(
    'the build did not find @ai-sdk/openai-compatible/dist/index.mjs, whose streams it replaces',
  );
});
