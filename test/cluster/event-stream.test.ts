// A follower of decision events on one node receives those that another node stores, and goes on at a third where it
// was.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SseClient } from '../e2e/sse.ts';
import { type Nodes, startNodes } from './nodes.ts';

let nodes: Nodes;
let key = '';
beforeAll(async () => {
  nodes = await startNodes({ count: 2 });
  const cookie = await nodes.at(0).admin();
  ({ key } = await nodes.at(0).key(cookie));
});
afterAll(async () => {
  await nodes?.remove();
});

const headers = (more: { readonly [name: string]: string } = {}) => ({
  Authorization: `Bearer ${key}`,
  ...more,
});

async function post(i: number, ...calls: string[]): Promise<void> {
  const events = calls.map((call_id) => ({ call_id, agent_id: 'a', tool_name: 't', action: 'call_allowed' }));
  const answer = await nodes.at(i).call('POST', '/v1/events', { headers: headers(), body: { events } });
  expect(answer.body).toMatchObject({ accepted: calls.length });
}

/** The frames of a stream have no name: what it sent is read whole. */
async function follow(i: number, wanted: readonly string[], lastEventId = '', ready = async () => {}) {
  const abort = new AbortController();
  const response = await fetch(`${nodes.at(i).url}/v1/events/stream`, {
    headers: headers(lastEventId === '' ? {} : { 'Last-Event-ID': lastEventId }),
    signal: AbortSignal.any([abort.signal, AbortSignal.timeout(20_000)]),
  });
  expect(response.status).toBe(200);
  let text = '';
  let begun = false;
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (!begun) {
      begun = true;
      await ready();
    }
    if (wanted.every((call) => text.includes(`"call_id":"${call}"`))) break;
  }
  abort.abort();
  const frames = [...text.matchAll(/id: (\d+)\ndata: ([^\n]*)\n\n/g)];
  return frames.map(([, id = '', data = '']) => ({ id, call: JSON.parse(data).call_id as string }));
}

it('reaches followers of every node, and goes on at another', async () => {
  const calls = Array.from({ length: 30 }, (_, i) => `c${i}`);
  const heard = await follow(0, calls, '', async () => {
    for (const [i, call] of calls.entries()) await post(i % 2, call);
  });
  expect(heard.map(({ call }) => call).sort()).toEqual([...calls].sort());
  await post(0, 'missed-1');
  await post(1, 'missed-2');
  const last = heard.reduce((highest, { id }) => Math.max(highest, Number(id)), 0);
  const after = await follow(1, ['missed-1', 'missed-2'], String(last));
  const distinct = new Set(after.map(({ call }) => call));
  expect(distinct.size).toBe(after.length);
  expect(distinct).toContain('missed-1');
  expect(distinct).toContain('missed-2');
});

it('tells an agent of its own decisions that the other node stored', async () => {
  const client = await SseClient.open(`${nodes.at(1).url}/v1/stream`, headers({ 'X-Service-Agent-Id': 'x' }));
  const decided = client.next('decision', 0, 15_000);
  const events = [{ call_id: 'own', agent_id: 'x', tool_name: 't', action: 'call_allowed' }];
  await nodes.at(0).call('POST', '/v1/events', { headers: headers(), body: { events } });
  expect((await decided).data.call_id).toBe('own');
  client.close();
});
