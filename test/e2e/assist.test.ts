// The assistant's stream over the real process: its frames on both paths, and what happens to the provider's call when
// the client goes away.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type FakeProvider, startProvider } from '../ai-provider.ts';
import { SharedHub } from './shared-hub.ts';

let provider: FakeProvider;
const hub = new SharedHub();
let cookie: string;

beforeAll(async () => {
  provider = await startProvider();
  await hub.start();
  cookie = await hub.admin();
  const body = { provider: 'hosted_a', api_key: 'k'.repeat(20), model: 'm', base_url: provider.url };
  expect((await hub.call('PUT', '/api/v1/settings/ai', { cookie, body })).status).toBe(200);
});
afterAll(async () => {
  await provider.close();
  await hub.remove();
});

const ask = (path: string, signal?: AbortSignal) =>
  fetch(`${hub.url}${path}`, {
    method: 'POST',
    headers: { Cookie: cookie, 'X-Requested-With': 'x', 'Content-Type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }] }),
    ...(signal ? { signal } : {}),
  });

it.each(['/api/ai/assist', '/api/v1/contracts/assist'])(
  '%s sends frames and ends with [DONE]',
  async (path) => {
    const call = { id: 't1', name: 'validate_contract', input: '{"yaml_content":"id: a"}' };
    provider.play(
      { text: ['Ein ', 'Wort\n'], calls: [call], usage: { input: 3, output: 4 } },
      { text: ['fertig'] },
    );
    const response = await ask(path);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(response.headers.get('cache-control')).toBe('no-cache');
    const frames = (await response.text()).split('\n\n').slice(0, -1);
    expect(frames.at(-1)).toBe('data: [DONE]');
    const events = frames.slice(0, -1).map((frame) => {
      const [, event, data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(frame) ?? [];
      const parsed = JSON.parse(data);
      expect(parsed.type).toBe(event);
      return parsed;
    });
    expect(events.map(({ type }) => type)).toEqual([
      'content_chunk',
      'content_chunk',
      'tool_call_start',
      'tool_call_result',
      'content_chunk',
      'usage',
    ]);
    expect(events[1]).toEqual({ type: 'content_chunk', content: 'Wort\n' });
    expect(events[2]).toEqual({ type: 'tool_call_start', tool: 'validate_contract', id: 't1' });
    expect(events[3]).toMatchObject({ id: 't1', tool: 'validate_contract', result: { valid: false } });
    expect(events[5]).toMatchObject({ input_tokens: 4, output_tokens: 5, total_tokens: 9, model: 'm' });
  },
);

it('a failure is the last frame, without [DONE]', async () => {
  provider.play({ text: ['half'], then: 'cut' });
  const text = await (await ask('/api/ai/assist')).text();
  expect(text).toContain('event: error\ndata: {"type":"error","error":');
  expect(text).not.toContain('[DONE]');
});

it('a client that goes away ends the call to the provider', async () => {
  provider.play({ text: ['a'], then: 'silence' });
  const leaving = new AbortController();
  const response = await ask('/api/ai/assist', leaving.signal);
  const reader = response.body?.getReader();
  await reader?.read();
  leaving.abort();
  // Resolves once the provider sees its connection closed; the test's time is the bound.
  await provider.requests[0]?.closed;
});

it('needs a login, and the header that pages of others cannot send', async () => {
  const body = { messages: [{ role: 'user', content: 'x' }] };
  expect((await hub.call('POST', '/api/ai/assist', { body })).status).toBe(401);
  const headers = { Cookie: cookie, 'Content-Type': 'application/json' };
  const bare = await fetch(`${hub.url}/api/ai/assist`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  expect(bare.status).toBe(403);
});

it.each([
  { messages: [] },
  { messages: [{ role: 'assistant', content: 'x' }] },
  { messages: [{ role: 'system', content: 'x' }] },
  { messages: [{ role: 'user', content: 'x'.repeat(10_001) }] },
  { messages: Array(51).fill({ role: 'user', content: 'x' }) },
  { messages: [{ role: 'user', content: 'x' }], current_yaml: 'x'.repeat(50_001) },
])('refuses %o', async (body) => {
  expect((await hub.call('POST', '/api/ai/assist', { cookie, body })).status).toBe(422);
});
