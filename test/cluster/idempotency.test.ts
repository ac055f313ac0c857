// An Idempotency-Key holds over all nodes: of requests at once on several nodes one is carried out, and a repeat on
// another node is answered as the first, also when the first node is gone.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Nodes, startNodes } from './nodes.ts';

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

const ask = (i: number, message = 'May I?') =>
  nodes.at(i).call('POST', '/v1/approvals', {
    headers: { Authorization: `Bearer ${key}`, 'Idempotency-Key': 'one' },
    body: { agent_id: 'asker', tool_name: 't', message },
  });

it('makes one approval of many requests at once, and answers a repeat on the node that is left', async () => {
  const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => ask(i % 2)));
  const first = answers.filter(
    ({ status, headers }) => status === 201 && headers.get('idempotency-replayed') === null,
  );
  expect(first).toHaveLength(1);
  for (const { status, body } of answers) {
    if (status === 201) expect(body).toEqual(first[0]?.body);
    else expect([status, body.code]).toEqual([409, 'idempotency_in_progress']);
  }
  await nodes.at(0).kill();
  const again = await ask(1);
  expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
  expect(again.body).toEqual(first[0]?.body);
  expect((await ask(1, 'Really?')).body.code).toBe('idempotency_key_reused');
  const listed = await nodes.at(1).call('GET', '/v1/approvals?agent_id=asker', {
    headers: { Authorization: `Bearer ${key}` },
  });
  expect(listed.body).toMatchObject({ total: 1 });
});
