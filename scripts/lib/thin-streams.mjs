import { readFileSync } from 'node:fs';
import { escapeSource } from './ascii-source.mjs';
import { inRoot } from './paths.mjs';

/**
 * The modules of a model's answer whose stages become in-process ones (src/models/wire/thin-streams.ts), with each use
 * of a stream in them, in order.
 */
export const THIN_MODULES = [
  {
    module: '@ai-sdk/openai-compatible/dist/index.mjs',
    uses: ['pipeThrough', 'TransformStream', 'pipeThrough', 'TransformStream'],
  },
  {
    module: '@ai-sdk/provider-utils/dist/index.mjs',
    uses: [
      ...['ReadableStream', 'getReader'],
      ...['pipeThrough', 'TextDecoderStream', 'pipeThrough', 'pipeThrough', 'TransformStream'],
      ...['getReader', 'ReadableStream'],
    ],
  },
  { module: 'eventsource-parser/dist/stream.js', uses: ['TransformStream'] },
];

const USES =
  /\b(?:(?:Readable|Writable|Transform|TextDecoder|TextEncoder|Decompression)Stream|pipe(?:Through|To)|getReader|getWriter|tee|desiredSize|byobRequest)\b/g;

/** @param {string} path */
const thinModule = (path) =>
  THIN_MODULES.find(({ module }) => path.replaceAll('\\', '/').endsWith(`/node_modules/${module}`));

/**
 * A module's source with the in-process streams in place of the global ones; null for any other module. Throws when the
 * module uses streams in an unknown way.
 * @param {string} path
 * @param {string} source
 */
export function withThinStreams(path, source) {
  const thin = thinModule(path);
  if (thin === undefined) return null;
  const uses = source.match(USES) ?? [];
  if (uses.join() !== thin.uses.join())
    throw new Error(
      `${thin.module} uses streams in another way than this build expects (${uses.join(', ') || 'not at all'}): check its stages against src/models/wire/thin-streams.ts, then update scripts/lib/thin-streams.mjs`,
    );
  const from = JSON.stringify(inRoot('src/models/wire/thin-streams.ts'));
  return `import { ReadableStream, TextDecoderStream, TransformStream } from ${from};\n${source}`;
}

/**
 * The build's plugin. The build fails when it did not meet each of the modules.
 * @returns {import('esbuild').Plugin}
 */
export function thinStreamsPlugin() {
  return {
    name: 'thin-streams',
    setup({ onLoad, onEnd }) {
      const met = new Set();
      onLoad({ filter: /[\\/](@ai-sdk|eventsource-parser)[\\/].*\.m?js$/ }, ({ path }) => {
        const contents = withThinStreams(path, readFileSync(path, 'utf8'));
        if (contents === null) return undefined;
        met.add(thinModule(path)?.module);
        // No other plugin loads a module that this one did.
        return { contents: escapeSource(contents), loader: 'js' };
      });
      onEnd(() => ({
        errors: THIN_MODULES.filter(({ module }) => !met.has(module)).map(({ module }) => ({
          text: `the build did not find ${module}, whose streams it replaces: update scripts/lib/thin-streams.mjs`,
        })),
      }));
    },
  };
}
