// What two nodes keep as one hub, on one fleet: decision events and their followers, the master secret, and an
// Idempotency-Key. A follower of decision events on one node receives those that another node stores, and goes on where
// it was at another. Of requests with one key at once on several nodes one is carried out, and a repeat on another node
// is answered as the first, also when the first node is gone.
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { HubProcess } from '../e2e/process.ts';
import { SseClient } from '../e2e/sse.ts';
import { Nodes, startNodes } from './nodes.ts';

let nodes: Nodes;
let key = '';
beforeAll(async () => {
  nodes = await startNodes({ count: 2, env: { APPROVALS_PER_MINUTE: '100' } });
  const cookie = await nodes.at(0).admin();
  ({ key } = await nodes.at(0).key(cookie));
});
afterAll(async () => {
  await nodes?.remove();
});

it('leaves no process behind when a node does not start', async () => {
  const broken = new Nodes({ count: 2 });
  onTestFinished(() => broken.remove());
  broken.at(1).start = () => Promise.reject(new Error('the hub ended with 1'));
  await expect(broken.start()).rejects.toThrow('the hub ended with 1');
  expect(broken.at(0).child?.signalCode).toBe('SIGKILL');
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

it('refuses a node with another SECRET_KEY at its start, in one line, and the others go on', async () => {
  const stranger = new HubProcess({ ...nodes.at(0).settings, SECRET_KEY: 'x'.repeat(40) });
  onTestFinished(() => stranger.remove());
  await expect(stranger.start()).rejects.toThrow(
    'The secrets in this store are sealed with another SECRET_KEY.',
  );
  expect((await nodes.at(1).call('GET', '/api/v1/health/ready')).status).toBe(200);
});

// The last one: a node dies.
const askOnce = (i: number, message = 'May I?') =>
  nodes.at(i).call('POST', '/v1/approvals', {
    headers: { Authorization: `Bearer ${key}`, 'Idempotency-Key': 'one' },
    body: { agent_id: 'asker', tool_name: 't', message },
  });

it('makes one approval of many requests at once, and answers a repeat on the node that is left', async () => {
  const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => askOnce(i % 2)));
  const first = answers.filter(
    ({ status, headers }) => status === 201 && headers.get('idempotency-replayed') === null,
  );
  expect(first).toHaveLength(1);
  for (const { status, body } of answers) {
    if (status === 201) expect(body).toEqual(first[0]?.body);
    else expect([status, body.code]).toEqual([409, 'idempotency_in_progress']);
  }
  await nodes.at(0).kill();
  const again = await askOnce(1);
  expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
  expect(again.body).toEqual(first[0]?.body);
  expect((await askOnce(1, 'Really?')).body.code).toBe('idempotency_key_reused');
  const listed = await nodes.at(1).call('GET', '/v1/approvals?agent_id=asker', {
    headers: { Authorization: `Bearer ${key}` },
  });
  expect(listed.body).toMatchObject({ total: 1 });
});
