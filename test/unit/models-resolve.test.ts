import { expect, test } from 'vitest';
import { Refusal } from '../../src/shared/refusal.js';
import { modelsOf, modelsOfFile, nothingConfigured, single } from '../support/models-fixture.js';
import { fc } from '../support/properties.js';

function refusalOf(act: () => unknown): Refusal {
  try {
    act();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error('it was not refused');
}

const two = `
default: fast
models:
  fast: { provider: openai-compatible, baseUrl: "http://127.0.0.1:9/v1", model: small, priceIn: 0.1, priceOut: 0.4 }
  strong: { provider: anthropic, key: CLAUDE_KEY, model: claude-sonnet-4-5, contextTokens: 1000000 }
`;
const file = (more: Parameters<typeof modelsOfFile>[2] = {}) => modelsOfFile(two, { CLAUDE_KEY: 'k' }, more);
const ids = (models: readonly { readonly id: string }[]) => models.map(({ id }) => id);

test('a name is a workspace alias, then an alias of the operator, then a provider and its model', () => {
  const models = file({ apiKeys: { openai: 'k' } });
  expect(ids(models.resolve('fast', {}))).toEqual(['small']);
  expect(ids(models.resolve('fast', { fast: ['openai/gpt-5-mini'] }))).toEqual(['gpt-5-mini']);
  expect(ids(models.resolve('openai/gpt-5-mini', {}))).toEqual(['gpt-5-mini']);
});

test('an alias with fallbacks gives them all, in order, each once', () => {
  const aliases = { writer: ['strong', 'fast', 'scripted/x', 'fast'] };
  expect(ids(file().resolve('writer', aliases))).toEqual(['claude-sonnet-4-5', 'small', 'x']);
  expect(
    file()
      .resolve('writer', aliases)
      .map(({ name }) => name),
  ).toEqual(['writer', 'writer', 'writer']);
});

test('an alias may name another, and within itself the one of the operator', () => {
  expect(ids(file().resolve('a', { a: ['b'], b: ['fast'] }))).toEqual(['small']);
  expect(ids(file().resolve('fast', { fast: ['strong', 'fast'] }))).toEqual(['claude-sonnet-4-5', 'small']);
});

test('aliases that only name each other are refused, not followed for ever', () => {
  expect(refusalOf(() => file().resolve('a', { a: ['b'], b: ['a'] })).message).toContain('model `a` is unknown');
});

test('without a name the default of the workspace comes first, then the one of the operator', () => {
  expect(ids(file().resolve(null, { default: ['strong'] }))).toEqual(['claude-sonnet-4-5']);
  expect(ids(file().resolve(null, {}))).toEqual(['small']);
  expect(ids(file().resolve(null, { fast: ['strong'] }))).toEqual(['small']);
});

test('with nothing but SERVICE_LLM_MODEL every name runs on it', () => {
  const models = modelsOf(single('http://127.0.0.1:9/v1'));
  for (const name of [null, 'fast', 'openai/gpt-5-mini', 'anthropic/claude', 'nonesuch/x']) {
    expect(models.resolve(name, {})).toMatchObject([
      { id: 'fake-model', provider: 'openai-compatible', name: name ?? 'SERVICE_LLM_MODEL' },
    ]);
  }
  expect(models.resolve('writer', { writer: ['openai/a', 'anthropic/b'] })).toHaveLength(1);
  expect(models.known()).toEqual({ aliases: [], providers: ['scripted'], any: true });
});

test('the scripted provider works always, by name or by an alias to it', () => {
  for (const models of [modelsOf(nothingConfigured), modelsOf(single('http://127.0.0.1:9/v1')), file()]) {
    expect(models.resolve('scripted/demo', {})).toMatchObject([
      { provider: 'scripted', id: 'demo', price: { input: 0 } },
    ]);
    expect(models.resolve('demo', { demo: ['scripted/demo'] })).toMatchObject([{ provider: 'scripted' }]);
    expect(models.resolve(null, { default: ['scripted/demo'] })).toMatchObject([{ provider: 'scripted' }]);
  }
});

test('no name but its own leads to the scripted provider', () => {
  const models = [modelsOf(nothingConfigured), modelsOf(single('http://127.0.0.1:9/v1')), file()];
  fc.assert(
    fc.property(fc.string(), fc.constantFrom(...models), (name, some) => {
      fc.pre(!name.startsWith('scripted/'));
      try {
        expect(some.resolve(name, {}).every(({ provider }) => provider !== 'scripted')).toBe(true);
      } catch (error) {
        expect(error).toBeInstanceOf(Refusal);
      }
    }),
  );
});

test('with nothing configured the refusal says exactly what to set', () => {
  for (const name of [null, 'fast']) {
    const refusal = refusalOf(() => modelsOf(nothingConfigured).resolve(name, {}));
    expect(refusal.kind).toBe('refused');
    for (const what of [
      'SERVICE_LLM_MODEL',
      'SERVICE_LLM_BASE_URL',
      'SERVICE_LLM_API_KEY',
      'SERVICE_MODELS_FILE',
      'ANTHROPIC_API_KEY',
      'scripted/demo',
    ]) {
      expect(refusal.message).toContain(what);
    }
  }
});

test.each([
  ['openai/gpt-5-mini', 'OPENAI_API_KEY'],
  ['anthropic/claude-sonnet-4-5', 'ANTHROPIC_API_KEY'],
  ['google/gemini-2.5-pro', 'GOOGLE_GENERATIVE_AI_API_KEY'],
])('%s without its key is refused, naming %s', (name, variable) => {
  expect(refusalOf(() => modelsOf(nothingConfigured).resolve(name, {})).message).toContain(
    `model ${name} needs ${variable}; set it, or`,
  );
});

test('an alias whose variable is unset is refused by that variable', () => {
  const models = modelsOfFile(two, {});
  expect(refusalOf(() => models.resolve('strong', {})).message).toContain('model strong needs CLAUDE_KEY');
  expect(ids(models.resolve('fast', {}))).toEqual(['small']);
});

test.each([
  ['anthropc/claude', 'Did you mean `anthropic`?'],
  ['mistral/large', 'known are openai-compatible, openai, anthropic, google, scripted'],
  ['fst', 'Did you mean `fast`?'],
  ['openai-compatible/x', 'needs a base URL'],
  ['openai/', 'write `openai/<model>`'],
  ['constructor', 'is unknown'],
  ['__proto__', 'is unknown'],
])('%s is refused with what is known', (name, words) => {
  expect(refusalOf(() => file().resolve(name, {})).message).toContain(words);
});

test('an unknown name is matched with the aliases of the workspace too', () => {
  expect(refusalOf(() => file().resolve('writr', { writer: ['fast'] })).message).toContain('Did you mean `writer`?');
});

test('a file without a default has SERVICE_LLM_MODEL as one, else says that there is none', () => {
  const text = 'models: { fast: { provider: scripted, model: demo } }';
  const { single: one } = single('http://127.0.0.1:9/v1');
  expect(ids(modelsOfFile(text, {}, { single: one }).resolve(null, {}))).toEqual(['fake-model']);
  expect(refusalOf(() => modelsOfFile(text).resolve(null, {})).message).toContain('no default model is configured');
});

test('a resolved model carries no key and no address', () => {
  const models = modelsOfFile('models: { a: { provider: openai, key: K, model: m, baseUrl: "http://host/v1" } }', {
    K: 'sk-secret-key',
  });
  expect(JSON.stringify(models.resolve('a', {}))).not.toMatch(/sk-secret-key|host/);
});

test('what the operator says of a model holds: its window and its prices in nano-USD a token', () => {
  expect(file().resolve('fast', {})).toMatchObject([
    { contextTokens: 32_768, price: { input: 100, output: 400, cached: 100, source: 'operator' } },
  ]);
  expect(file().resolve('strong', {})).toMatchObject([
    { contextTokens: 1_000_000, price: { input: 3_000, output: 15_000, cached: 300, source: 'table' } },
  ]);
});

test('the same file may be JSON', () => {
  const text = JSON.stringify({ models: { a: { provider: 'scripted', model: 'x' } } });
  expect(modelsOfFile(text).known()).toEqual({ aliases: ['a'], providers: ['scripted'], any: false });
});

test('one error names every fault of the file', () => {
  const bad = `
defalt: fast
default: nonesuch
models:
  a: { provider: openia, model: x }
  b: { provider: openai-compatible, model: x }
  c: { provider: openai, model: x, key: sk-pasted-secret }
  d: { provider: openai, model: x, priceIn: 1 }
  e: { provider: openai, model: x, priceIn: -1, priceOut: 1, window: 5 }
  f: { provider: openai }
  g: { provider: openai, model: x, baseUrl: "ftp://x" }
  "h/i": { provider: openai, model: x }
  j: { provider: openai, model: x, baseUrl: "http://me:hidden@host/v1" }
`;
  const message = (() => {
    try {
      modelsOfFile(bad);
      return 'it was taken';
    } catch (error) {
      return error instanceof Error ? error.message : '';
    }
  })();
  for (const words of [
    'no key `defalt`. Did you mean `default`?',
    'models.a.provider is one of',
    'Did you mean `openai`?',
    'models.b.baseUrl is needed for openai-compatible',
    'models.c.key is the NAME of the environment variable',
    'models.d.priceIn and priceOut come together',
    'models.e.priceIn is USD a million tokens',
    'models.e has no key `window`',
    'models.f.model is missing',
    'models.g.baseUrl is an http or https URL',
    'an alias is letters',
    'models.j.baseUrl carries no credentials',
  ]) {
    expect(message).toContain(words);
  }
  expect(message).not.toMatch(/sk-pasted-secret|hidden/);
});

test.each([
  ['default: x\nmodels: {}', 'default names `x`, which is not under models'],
  ['models: [', 'is not valid YAML'],
  ['', 'is not a valid models file'],
  ['a: &x [1]\nmodels: *y', 'is not valid YAML'],
])('a file of %j is refused', (text, words) => {
  expect(() => modelsOfFile(text)).toThrow(words);
});

test('a file that is not there is named', () => {
  expect(() => modelsOf({ ...nothingConfigured, file: 'no/such/models.yaml' })).toThrow(
    /SERVICE_MODELS_FILE cannot be read/,
  );
});

test('security 16: aliases that name one another over and over are followed once each', () => {
  const chain = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`a${n}`, [`a${n + 1}`, `a${n + 1}`]]));
  let asked = 0;
  const counted = new Proxy<Readonly<Record<string, readonly string[]>>>(
    { ...chain, a60: ['strong', 'fast'] },
    {
      get(aliases, name: string) {
        asked += 1;
        if (asked > 10_000) throw new Error('they are followed over and over');
        return aliases[name];
      },
    },
  );
  expect(ids(file().resolve('a0', counted))).toEqual(['claude-sonnet-4-5', 'small']);
});
