// Notifications from several nodes: a receiver gets every request and decision, whichever node takes the call and
// whichever dies. Per commit no node dies here, and test/e2e/notifications.test.ts kills the one hub.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Receiver, startReceiver, status } from '../receiver.ts';
import { isNightly, itAtNight } from '../runs.ts';
import { eventually, type Nodes, startNodes } from './nodes.ts';

let nodes: Nodes;
let receiver: Receiver;
let cookie = '';
let key = '';
let channel = '';
beforeAll(async () => {
  nodes = await startNodes({
    count: isNightly ? 3 : 2,
    env: { ALLOW_PRIVATE_OUTBOUND: 'true', APPROVALS_PER_MINUTE: '100000' },
  });
  for (const node of nodes.nodes)
    await eventually('the node is ready', async () =>
      (await node.call('GET', '/api/v1/health/ready')).status === 200 ? true : undefined,
    );
  receiver = await startReceiver();
  cookie = await nodes.at(0).admin();
  key = (await nodes.at(0).key(cookie)).key;
  const body = { name: 'hook', channel_type: 'webhook', config: { url: `${receiver.url}/hook` } };
  const made = await nodes.at(1).call('POST', '/api/v1/notifications/channels', { cookie, body });
  expect(made.status).toBe(201);
  channel = made.body.id;
}, 120_000);
afterAll(async () => {
  await receiver?.close();
  await nodes?.remove();
});

/** Requests that the receiver took: of a request that it refused, it receives no decision. */
const taken = new Set<string>();
const idsNotTaken = (event: string, ids: readonly string[]) =>
  ids.filter((id) => !taken.has(`${event}/${id}`));

const ask = async (n: number): Promise<string> => {
  const body = { tool_name: 'rm', message: 'may I?', timeout: 3600 };
  const answer = await nodes
    .at(n % nodes.nodes.length)
    .call('POST', '/api/v1/approvals', { key, agent: `agent-${n}`, body });
  expect(answer.status).toBe(201);
  return answer.body.id;
};
/** A node that just lost another may refuse a while; a call whose answer was lost has decided. */
const decide = (i: number, id: string): Promise<void> =>
  expect
    .poll(
      async () =>
        (await nodes.at(i).call('PUT', `/api/v1/approvals/${id}`, { cookie, body: { approved: true } }))
          .status,
      { timeout: 20_000, interval: 250 },
    )
    .toSatisfy((code: number) => code === 200 || code === 409);

it('tell a receiver of each request and decision once, whichever node takes it', async () => {
  const requestIds = await Promise.all([0, 1, 2].map(ask));
  const idsReceivedOf = (event: string) =>
    receiver.received.flatMap(({ body }) => (body.event === event ? [body.approval_id] : [])).sort();
  await expect.poll(() => idsReceivedOf('approval_requested')).toEqual(requestIds.toSorted());
  await Promise.all(requestIds.map((id, i) => decide((i + 1) % nodes.nodes.length, id)));
  await expect.poll(() => idsReceivedOf('approval_decided')).toEqual(requestIds.toSorted());
  expect(idsReceivedOf('approval_requested')).toEqual(requestIds.toSorted());
});

itAtNight(
  'lose none when a node dies',
  async () => {
    receiver.received.length = 0;
    receiver.answer = (received, response, count) => {
      // Half of the first dozen.
      if (count < 12 && count % 2 === 0) return status(503)(received, response, count);
      taken.add(`${received.body.event}/${received.body.approval_id}`);
      return undefined;
    };
    const requestIds: string[] = [];
    for (let n = 0; n < 12; n++) requestIds.push(await ask(n));
    await nodes.kill(2);
    await expect
      .poll(() => idsNotTaken('approval_requested', requestIds), { timeout: 170_000, interval: 250 })
      .toEqual([]);
    const path = `/api/v1/notifications/channels/${channel}/deliveries?status=waiting`;
    await expect
      .poll(async () => (await nodes.at(0).call('GET', path, { cookie })).body, {
        timeout: 90_000,
        interval: 250,
      })
      .toEqual([]);
    for (const id of requestIds) await decide(0, id);
    await expect
      .poll(() => idsNotTaken('approval_decided', requestIds), { timeout: 170_000, interval: 250 })
      .toEqual([]);
  },
  600_000,
);
