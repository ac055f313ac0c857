// Notifications of the real process: no kill loses one, and an idle hub tells a receiver at once.
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type Receiver, startReceiver, status } from '../receiver.ts';
import { HubProcess } from './process.ts';

const hub = new HubProcess({
  ALLOW_PRIVATE_OUTBOUND: 'true',
  APPROVALS_PER_MINUTE: '100000',
  LOG_LEVEL: 'warn',
});
let cookie = '';
let key = '';
let receiver: Receiver;

beforeAll(async () => {
  await hub.start();
  cookie = await hub.admin();
  key = (await hub.key(cookie)).key;
  receiver = await startReceiver();
  const channel = await hub.call('POST', '/api/v1/notifications/channels', {
    cookie,
    body: { name: 'hook', channel_type: 'webhook', config: { url: `${receiver.url}/hook`, secret: 's' } },
  });
  expect(channel.status).toBe(201);
});
afterEach(() => {
  receiver.answer = () => undefined;
  receiver.received.length = 0;
});
afterAll(async () => {
  await receiver?.close();
  await hub.remove();
});

const ask = async (n: number): Promise<string> => {
  const answer = await hub.call('POST', '/api/v1/approvals', {
    key,
    agent: `agent-${n}`,
    body: { tool_name: 'rm', message: 'may I?', timeout: 3600 },
  });
  expect(answer.status).toBe(201);
  return answer.body.id;
};
const told = (event: string): Set<string> =>
  new Set(receiver.received.filter(({ body }) => body.event === event).map(({ body }) => body.approval_id));

it('tells a receiver of a request at once', async () => {
  await ask(0);
  await receiver.atLeast(1);
  const took: number[] = [];
  for (let n = 1; n <= 20; n++) {
    const begun = performance.now();
    await ask(n);
    await receiver.atLeast(n + 1);
    took.push(performance.now() - begun);
  }
  took.sort((a, b) => a - b);
  // A bound for a busy machine; docs/notifications.md promises no time.
  expect(took[10]).toBeLessThan(500);
});

it('loses none to kills, wherever they fall', async () => {
  // While the receiver is down, then while it is up: what is acknowledged must arrive, whatever died in between.
  receiver.answer = status(503);
  const asked: string[] = [];
  for (let round = 0; round < 4; round++) {
    for (let n = 0; n < 5; n++) asked.push(await ask(100 + n));
    if (round === 2) receiver.answer = () => undefined;
    await hub.kill();
    await hub.start();
    cookie = await hub.login();
  }
  await expect
    .poll(() => asked.filter((id) => !told('approval_requested').has(id)), { timeout: 75_000, interval: 250 })
    .toEqual([]);
  await Promise.all(
    asked.map((id) => hub.call('PUT', `/api/v1/approvals/${id}`, { cookie, body: { approved: true } })),
  );
  await hub.kill();
  await hub.start();
  cookie = await hub.login();
  await expect
    .poll(() => asked.filter((id) => !told('approval_decided').has(id)), { timeout: 75_000, interval: 250 })
    .toEqual([]);
}, 180_000);
