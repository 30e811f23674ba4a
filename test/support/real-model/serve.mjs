// @ts-nocheck: it leans on a package that lives in the scratch folder and is no dependency of ours.
// Serves a GGUF of the scratch folder as an OpenAI-compatible endpoint. See README.md beside this file.
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const CONTEXT = 8_192;
const MOST_OUTPUT = 256;

const [scratch = '/tmp/real-model', port = '8089'] = process.argv.slice(2);
const folder = resolve(scratch);
// The engine lives in the scratch folder, so that the product does not depend on it.
const { getLlama, LlamaCompletion } = await import(
  pathToFileURL(join(folder, 'node_modules/node-llama-cpp/dist/index.js')).href
);

const gguf = readdirSync(folder, { recursive: true }).find((name) => String(name).endsWith('.gguf'));
if (!gguf) throw new Error(`no .gguf in ${folder}: prepare it as README.md says`);
const llama = await getLlama({ build: 'never', gpu: false, skipDownload: true, maxThreads: 2, logLevel: 'error' });
const model = await llama.loadModel({ modelPath: join(folder, String(gguf)) });
const context = await model.createContext({ contextSize: CONTEXT });
const sequence = context.getSequence();

let queue = Promise.resolve();

const server = createServer(async (request, response) => {
  try {
    if (request.method !== 'POST' || !request.url?.endsWith('/chat/completions'))
      return fail(response, 404, 'not found');
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    const next = () => answer(JSON.parse(text), response);
    queue = queue.then(next, next);
    await queue;
  } catch (error) {
    fail(response, 500, error instanceof Error ? error.message : String(error));
  }
});
server.listen(Number(port), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}/v1 serves ${gguf}`);
});

/** One answer: a chat completion, streamed when asked to. */
async function answer(body, response) {
  const prompt = model.tokenize(toChatMl(body.messages), true);
  const promptTokens = prompt.length;
  const maxTokens = Math.min(body.max_tokens ?? MOST_OUTPUT, MOST_OUTPUT);
  if (promptTokens + maxTokens > CONTEXT) {
    const words = `This model's maximum context length is ${CONTEXT} tokens, but ${promptTokens} were given.`;
    return fail(response, 400, words, 'context_length_exceeded');
  }
  const stop = new AbortController();
  response.on('close', () => stop.abort());
  const send = body.stream ? openStream(response, body.model) : () => undefined;
  let completionTokens = 0;
  const completion = new LlamaCompletion({ contextSequence: sequence, autoDisposeSequence: false });
  const result = await completion.generateCompletionWithMeta(prompt, {
    maxTokens,
    temperature: body.temperature ?? 0,
    customStopTriggers: ['<|im_end|>'],
    repeatPenalty: { penalty: 1.15, lastTokens: 128 },
    signal: stop.signal,
    onTextChunk: (content) => send({ content }),
    onToken: (tokens) => {
      completionTokens += tokens.length;
    },
  });
  completion.dispose();
  const { response: text } = result;
  const finish = result.metadata.stopReason === 'maxTokens' ? 'length' : 'stop';
  const usage = {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
  if (!body.stream) {
    const message = { role: 'assistant', content: text };
    return void json(response, 200, {
      id: 'chatcmpl',
      object: 'chat.completion',
      model: body.model,
      choices: [{ index: 0, message, finish_reason: finish }],
      usage,
    });
  }
  send({}, finish);
  if (body.stream_options?.include_usage)
    response.write(event({ id: 'chatcmpl', object: 'chat.completion.chunk', model: body.model, choices: [], usage }));
  response.end('data: [DONE]\n\n');
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 8);
  console.log(`${promptTokens} tokens in, ${completionTokens} out, ${finish}, text ${digest}`);
}

function openStream(response, name) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  return (delta, finish = null) => {
    response.write(
      event({
        id: 'chatcmpl',
        object: 'chat.completion.chunk',
        model: name,
        choices: [{ index: 0, delta, finish_reason: finish }],
      }),
    );
  };
}

/** ChatML, the model's own template. It knows three roles; what a tool said is told to it as the user. */
function toChatMl(messages) {
  const turns = messages.map(({ role, content }) => {
    const text = typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join('');
    return role === 'tool' ? turn('user', `Result: ${text}`) : turn(role, text);
  });
  return `${turns.join('')}<|im_start|>assistant\n`;
}

function turn(role, text) {
  return `<|im_start|>${role}\n${text}<|im_end|>\n`;
}

function event(value) {
  return `data: ${JSON.stringify(value)}\n\n`;
}

function fail(response, status, message, code) {
  if (response.headersSent) return void response.destroy();
  json(response, status, { error: { message, code } });
}

function json(response, status, value) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
