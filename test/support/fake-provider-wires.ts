import type { FakeAnswer } from './fake-provider.js';

/** How one API puts an answer on the wire: server-sent events, in order. */
export type Wire = (answer: FakeAnswer, model: string) => string[];

const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const event = (value: { readonly type: string; readonly [key: string]: unknown }) =>
  `event: ${value.type}\n${data(value)}`;
const words = (text: string) => text.match(/\s*\S+\s*$|\s*\S+/g) ?? [];
const argsOf = (call: { args?: unknown; raw?: string }) => call.raw ?? JSON.stringify(call.args ?? {});

/** OpenAI chat completions, as vLLM, Ollama and OpenRouter stream them. */
const chat: Wire = (answer, model) => {
  const { text = '', calls = [], usage = { input: 10, output: 5 } } = answer;
  const chunk = (delta: object, finish: string | null = null) =>
    data({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1,
      model,
      choices: [{ index: 0, delta, finish_reason: finish }],
    });
  const finish = answer.finish ?? (calls.length > 0 ? 'tool_calls' : 'stop');
  const told = usage && {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cached ?? 0 },
    ...(usage.costUsd === undefined ? {} : { cost: usage.costUsd }),
  };
  return [
    chunk({ role: 'assistant', content: '' }),
    ...words(answer.reasoning ?? '').map((word) => chunk({ reasoning_content: word })),
    ...words(text).map((word) => chunk({ content: word })),
    ...calls.flatMap((call, index) => {
      const raw = argsOf(call);
      const half = Math.ceil(raw.length / 2);
      const named = { index, id: call.id ?? `call_${index + 1}`, type: 'function' };
      return [
        chunk({ tool_calls: [{ ...named, function: { name: call.name, arguments: raw.slice(0, half) } }] }),
        chunk({ tool_calls: [{ index, function: { arguments: raw.slice(half) } }] }),
      ];
    }),
    chunk({}, finish),
    ...(told
      ? [data({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model, choices: [], usage: told })]
      : []),
    'data: [DONE]\n\n',
  ];
};

/** Anthropic's Messages API: thinking with its signature, text, tool use, usage in two places. */
const messages: Wire = (answer, model) => {
  const { text = '', calls = [], usage } = answer;
  const told = usage ?? { input: 10, output: 5 };
  const cached = told.cached ?? 0;
  const blocks = [
    ...(answer.reasoning === undefined
      ? []
      : [
          {
            start: { type: 'thinking', thinking: '', signature: '' },
            deltas: [
              { type: 'thinking_delta', thinking: answer.reasoning },
              { type: 'signature_delta', signature: 'sig-of-thinking' },
            ],
          },
        ]),
    ...(text === ''
      ? []
      : [
          {
            start: { type: 'text', text: '' },
            deltas: words(text).map((word) => ({ type: 'text_delta', text: word })),
          },
        ]),
    ...calls.map((call, index) => ({
      start: { type: 'tool_use', id: call.id ?? `toolu_${index + 1}`, name: call.name, input: {} },
      deltas: [{ type: 'input_json_delta', partial_json: argsOf(call) }],
    })),
  ];
  return [
    event({
      type: 'message_start',
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: {
          input_tokens: told.input - cached,
          cache_read_input_tokens: cached,
          cache_creation_input_tokens: 0,
          output_tokens: 1,
        },
      },
    }),
    'event: ping\ndata: {"type":"ping"}\n\n',
    ...blocks.flatMap(({ start, deltas }, index) => [
      event({ type: 'content_block_start', index, content_block: start }),
      ...deltas.map((delta) => event({ type: 'content_block_delta', index, delta })),
      event({ type: 'content_block_stop', index }),
    ]),
    event({
      type: 'message_delta',
      delta: { stop_reason: answer.finish ?? (calls.length > 0 ? 'tool_use' : 'end_turn'), stop_sequence: null },
      usage: { output_tokens: told.output },
    }),
    event({ type: 'message_stop' }),
  ];
};

/** Gemini's streamGenerateContent: parts with their thought signatures. */
const gemini: Wire = (answer, model) => {
  const { text = '', calls = [], usage } = answer;
  const told = usage ?? { input: 10, output: 5 };
  const chunk = (parts: object[], rest: object = {}) =>
    data({
      candidates: [{ content: { role: 'model', parts }, index: 0, ...rest }],
      modelVersion: model,
      responseId: 'r1',
    });
  const end = {
    candidates: [
      { content: { role: 'model', parts: [{ text: '' }] }, index: 0, finishReason: answer.finish ?? 'STOP' },
    ],
    usageMetadata: {
      promptTokenCount: told.input,
      candidatesTokenCount: told.output,
      totalTokenCount: told.input + told.output,
      cachedContentTokenCount: told.cached ?? 0,
    },
    modelVersion: model,
    responseId: 'r1',
  };
  return [
    ...(answer.reasoning === undefined ? [] : [chunk([{ text: answer.reasoning, thought: true }])]),
    ...words(text).map((word) => chunk([{ text: word }])),
    ...calls.map((call) =>
      chunk([{ functionCall: { name: call.name, args: call.args ?? {} }, thoughtSignature: `sig-of-${call.name}` }]),
    ),
    data(end),
  ];
};

/** OpenAI's Responses API: reasoning encrypted, message, function calls. */
const responses: Wire = (answer, model) => {
  const { text = '', calls = [], usage } = answer;
  const told = usage ?? { input: 10, output: 5 };
  const items = [
    ...(answer.reasoning === undefined
      ? []
      : [{ item: { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'enc-of-reasoning' }, deltas: [] }]),
    ...(text === ''
      ? []
      : [
          {
            item: {
              type: 'message',
              id: 'msg_1',
              role: 'assistant',
              status: 'completed',
              content: [{ type: 'output_text', text, annotations: [] }],
            },
            deltas: words(text).map((word) => ({
              type: 'response.output_text.delta',
              item_id: 'msg_1',
              content_index: 0,
              delta: word,
            })),
          },
        ]),
    ...calls.map((call, index) => ({
      item: {
        type: 'function_call',
        id: `fc_${index + 1}`,
        call_id: call.id ?? `call_${index + 1}`,
        name: call.name,
        arguments: argsOf(call),
        status: 'completed',
      },
      deltas: [{ type: 'response.function_call_arguments.delta', item_id: `fc_${index + 1}`, delta: argsOf(call) }],
    })),
  ];
  const response = { id: 'resp_1', object: 'response', created_at: 1, model, status: 'completed', output: [] };
  const counts = {
    input_tokens: told.input,
    input_tokens_details: { cached_tokens: told.cached ?? 0 },
    output_tokens: told.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: told.input + told.output,
  };
  return [
    event({ type: 'response.created', response: { ...response, status: 'in_progress' } }),
    ...items.flatMap(({ item, deltas }, index) => [
      event({
        type: 'response.output_item.added',
        output_index: index,
        item: { ...item, arguments: '', content: [] },
      }),
      ...deltas.map((delta) => event({ ...delta, output_index: index })),
      event({ type: 'response.output_item.done', output_index: index, item }),
    ]),
    event({ type: 'response.completed', response: { ...response, usage: counts } }),
  ];
};

/** The wire by the path that was asked. */
export const WIRES: readonly { readonly path: RegExp; readonly wire: Wire }[] = [
  { path: /\/chat\/completions$/, wire: chat },
  { path: /\/messages$/, wire: messages },
  { path: /:streamGenerateContent/, wire: gemini },
  { path: /\/responses$/, wire: responses },
];
