// The two wire formats against a server that speaks them, with what goes wrong in practice.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAiModels } from '../../../adapters/ai/index.ts';
import { systemClock } from '../../../adapters/node/clock.ts';
import { createOutbound } from '../../../adapters/node/outbound/outbound.ts';
import type { AiEvent, AiRequest } from '../../../src/assistant/port/model.ts';
import { type AiFailure, type AiProvider, aiProviders } from '../../../src/assistant/record.ts';
import { type FakeProvider, type Played, startProvider } from '../../ai-provider.ts';

let provider: FakeProvider;
beforeAll(async () => {
  provider = await startProvider();
});
afterAll(() => provider.close());

const outbound = createOutbound({ clock: systemClock, allowPrivate: true, allow: [] });
const tool = {
  name: 'validate_contract',
  description: 'Checks YAML.',
  parameters: { type: 'object', properties: { yaml_content: { type: 'string' } } },
};

const requestOf = (name: AiProvider, more: Partial<AiRequest> = {}): AiRequest => ({
  target: { provider: name, apiKey: 'key-of-the-tenant', model: 'model-1', baseUrl: null },
  system: 'Be brief.',
  messages: [{ role: 'user', content: 'Hello' }],
  tools: [],
  maxTokens: 100,
  timeoutMs: 5_000,
  signal: new AbortController().signal,
  ...more,
});

function ask(request: AiRequest): AsyncIterable<AiEvent> {
  const { url } = provider;
  return createAiModels(outbound, { hosted_a: url, hosted_b: url, router: url, local: url }).ask(request);
}

async function all(request: AiRequest): Promise<readonly AiEvent[]> {
  const events: AiEvent[] = [];
  for await (const event of ask(request)) events.push(event);
  return events;
}

const textIn = (events: readonly AiEvent[]) =>
  events.flatMap((event) => (event.kind === 'text' ? [event.text] : [])).join('');
const failureOf = (request: AiRequest): Promise<AiFailure> =>
  all(request).then(
    () => Promise.reject(new Error('it was answered')),
    (error: { readonly failure: AiFailure; readonly message: string }) => {
      expect(error.message).not.toContain('secret');
      return error.failure;
    },
  );

describe.each(aiProviders)('%s', (name) => {
  it('answers with text, calls of tools and what it used', async () => {
    const input = '{"yaml_content":"a: \\"ü🦄\\""}';
    provider.play({
      text: ['Hä', 'llo 🦄', ''],
      calls: [
        { id: 'one', name: 'validate_contract', input },
        { id: 'two', name: 'other', input: '' },
      ],
      usage: { input: 12, output: 34 },
    });
    const events = await all(requestOf(name, { tools: [tool] }));
    expect(textIn(events)).toBe('Hällo 🦄');
    expect(events.filter(({ kind }) => kind === 'call')).toEqual([
      { kind: 'call', call: { id: 'one', name: 'validate_contract', input } },
      { kind: 'call', call: { id: 'two', name: 'other', input: '{}' } },
    ]);
    expect(events.findLast(({ kind }) => kind === 'usage')).toEqual({
      kind: 'usage',
      inputTokens: 12,
      outputTokens: 34,
      cost: null,
    });
  });

  it('gets the key, the model, the tools and the whole conversation', async () => {
    provider.play({});
    const call = { id: 'c1', name: 'validate_contract', input: '{"yaml_content":"x"}' };
    await all(
      requestOf(name, {
        tools: [tool],
        messages: [
          { role: 'user', content: 'Hello' },
          { role: 'user', content: 'Again' },
          { role: 'assistant', content: '', calls: [call] },
          { role: 'tools', results: [{ id: 'c1', content: '{"valid":true}' }] },
        ],
      }),
    );
    const [seen] = provider.requests;
    expect(seen?.body).toMatchObject({ model: 'model-1', stream: true });
    expect(JSON.stringify(seen?.body)).not.toContain('key-of-the-tenant');
    if (name === 'hosted_a') {
      expect(seen?.path).toBe('/v1/messages');
      expect(seen?.headers).toMatchObject({
        'x-api-key': 'key-of-the-tenant',
        'anthropic-version': '2023-06-01',
      });
      expect(seen?.body.system).toBe('Be brief.');
      expect(seen?.body.tools[0]).toMatchObject({ name: tool.name, input_schema: tool.parameters });
      expect(seen?.body.messages).toEqual([
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Hello' },
            { type: 'text', text: 'Again' },
          ],
        },
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 'c1', name: call.name, input: { yaml_content: 'x' } }],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: '{"valid":true}' }] },
      ]);
    } else {
      expect(seen?.path).toBe('/v1/chat/completions');
      expect(seen?.headers.authorization).toBe('Bearer key-of-the-tenant');
      expect(seen?.body.tools[0]).toEqual({ type: 'function', function: tool });
      expect(seen?.body.messages[0]).toEqual({ role: 'system', content: 'Be brief.' });
      expect(seen?.body.messages.slice(3)).toEqual([
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c1', type: 'function', function: { name: call.name, arguments: call.input } }],
        },
        { role: 'tool', tool_call_id: 'c1', content: '{"valid":true}' },
      ]);
    }
  });

  it.each([
    ['a wrong key', { status: 401 }, 'unauthorized'],
    ['a wrong model', { status: 404 }, 'rejected'],
    ['too many requests', { status: 429 }, 'rate_limited'],
    ['a failure', { status: 500 }, 'unavailable'],
    ['a redirect', { status: 302 }, 'rejected'],
    ['an error in the middle', { text: ['a'], then: 'error' }, 'unavailable'],
    ['a limit in the middle', { text: ['a'], then: 'rate_limited' }, 'rate_limited'],
    ['a cut connection', { text: ['a'], then: 'cut' }, 'connection'],
    ['an end too early', { text: ['a'], then: 'short' }, 'connection'],
    ['a page instead', { raw: { type: 'text/html', body: '<p>secret</p>' } }, 'malformed'],
    ['no JSON', { raw: { type: 'text/event-stream', body: 'data: {"a\n\n' } }, 'malformed'],
    [
      'an endless line',
      { raw: { type: 'text/event-stream', body: `data: ${'x'.repeat(1_100_000)}` } },
      'malformed',
    ],
  ] as const)('tells of %s', async (_what, played, failure) => {
    provider.play(played);
    expect(await failureOf(requestOf(name))).toBe(failure);
  });

  const endings: readonly (readonly [Pick<Played, 'ending' | 'refusal'>, AiFailure])[] =
    name === 'hosted_a'
      ? [
          [{ ending: 'max_tokens' }, 'cut_off'],
          [{ ending: 'model_context_window_exceeded' }, 'cut_off'],
          [{ ending: 'refusal' }, 'declined'],
        ]
      : [
          [{ ending: 'length' }, 'cut_off'],
          [{ ending: 'content_filter' }, 'filtered'],
          [{ refusal: 'secret words' }, 'declined'],
        ];
  it.each(endings)('has no complete answer that ends with %o', async (ending, failure) => {
    provider.play({ text: ['half'], usage: { input: 1, output: 7 }, ...ending });
    const events: AiEvent[] = [];
    const reading = async () => {
      for await (const event of ask(requestOf(name))) events.push(event);
    };
    await expect(reading()).rejects.toMatchObject({ failure });
    expect(textIn(events)).toBe('half');
    expect(events.at(-1)).toMatchObject({ kind: 'usage', outputTokens: 7 });
  });

  it('gets the tools also where it may call none', async () => {
    provider.play({});
    await all(requestOf(name, { tools: [tool], toolChoice: 'none' }));
    await all(requestOf(name, { tools: [tool] }));
    await all(requestOf(name, { toolChoice: 'none' }));
    const [none, free, without] = provider.requests.map(({ body }) => body);
    expect(none.tools).toHaveLength(1);
    expect(none.tool_choice).toEqual(name === 'hosted_a' ? { type: 'none' } : 'none');
    expect(free).not.toHaveProperty('tool_choice');
    expect([without.tools, without.tool_choice]).toEqual([undefined, undefined]);
  });

  it('gives the text that came before an error', async () => {
    provider.play({ text: ['one', 'two'], then: 'error' });
    let text = '';
    const reading = async () => {
      for await (const event of ask(requestOf(name))) if (event.kind === 'text') text += event.text;
    };
    await expect(reading()).rejects.toMatchObject({ failure: 'unavailable' });
    expect(text).toBe('onetwo');
  });

  it('is not asked any more when nobody reads on, or who asked left', async () => {
    provider.play({ text: ['a'], then: 'silence' });
    for await (const event of ask(requestOf(name))) if (event.kind === 'text') break;
    await provider.requests[0]?.closed;
    const gone = new AbortController();
    const reading = failureOf(requestOf(name, { signal: gone.signal }));
    for (; provider.requests.length < 2; ) await new Promise((resolve) => setImmediate(resolve));
    gone.abort();
    expect(await reading).toBe('aborted');
    await provider.requests[1]?.closed;
  });

  it('is given up when it says nothing', async () => {
    provider.play({ text: ['a'], then: 'silence' });
    expect(await failureOf(requestOf(name, { timeoutMs: 100 }))).toBe('timeout');
  });
});

it('the router says what it cost, and is asked to', async () => {
  provider.play({ usage: { input: 1, output: 2, cost: 0.0042 } });
  const events = await all(requestOf('router'));
  expect(events.at(-1)).toMatchObject({ kind: 'usage', cost: 0.0042 });
  expect(provider.requests[0]?.body).toMatchObject({ usage: { include: true }, max_tokens: 100 });
  await all(requestOf('hosted_b'));
  expect(provider.requests[1]?.body).toMatchObject({ max_completion_tokens: 100 });
  expect(provider.requests[1]?.body).not.toHaveProperty('max_tokens');
});

it.each([
  ['', '/v1/messages'],
  ['/', '/v1/messages'],
  ['/v1', '/v1/messages'],
  ['/team/v2/', '/team/v2/messages'],
])('a base address that ends in "%s" is asked at %s', async (path, expected) => {
  provider.play({});
  const target = { ...requestOf('hosted_a').target, baseUrl: `${provider.url}${path}` };
  await all(requestOf('hosted_a', { target }));
  expect(provider.requests[0]?.path).toBe(expected);
});

it('an address that may not be called is refused by the guard', async () => {
  const guarded = createOutbound({ clock: systemClock, allowPrivate: false, allow: [] });
  const { url } = provider;
  const models = createAiModels(guarded, { hosted_a: url, hosted_b: url, router: url, local: url });
  const asking = async () => {
    for await (const _event of models.ask(requestOf('local')));
  };
  await expect(asking()).rejects.toMatchObject({ failure: 'refused' });
});
