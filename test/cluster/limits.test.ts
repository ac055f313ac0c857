// Limits that are counted over all nodes: attempts that are spread over two hubs count together, and what one hub knows
// of a person, the other knows.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Nodes, startNodes } from './nodes.ts';

const [email, password] = ['admin@example.com', 'correct horse battery'];
const home = '198.51.100.9';

let nodes: Nodes;
beforeAll(async () => {
  const env = { RATE_LIMIT_MAX_ATTEMPTS: '10', TRUSTED_PROXIES: '127.0.0.1', APPROVALS_PER_MINUTE: '5' };
  nodes = await startNodes({ count: 2, env });
  await nodes.at(0).call('POST', '/api/v1/setup', { body: { email, password } });
});
afterAll(() => nodes?.remove());

/** Asks the nodes in turns. */
let turn = 0;
const call: Nodes['nodes'][number]['call'] = (...of) => nodes.at(turn++ % 2).call(...of);

const login = (as: string, word: string, ip: string, cookie?: string) =>
  call('POST', '/api/v1/auth/login', {
    body: { email: as, password: word },
    headers: { 'X-Forwarded-For': ip },
    ...(cookie === undefined ? {} : { cookie }),
  });

/** How often each status came. */
async function tally(answers: readonly Promise<{ status: number }>[]) {
  const counts: { [status: number]: number } = {};
  for (const { status } of await Promise.all(answers)) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
const times = <T>(n: number, make: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => make(i));

it('guesses from the addresses of one /64 count together', async () => {
  const guesses = times(24, (i) => login(`x${i}@example.com`, 'not the password', `2001:db8:1:2:${i}::1`));
  expect(await tally(guesses)).toEqual({ 401: 10, 429: 14 });
});

it('guesses at one e-mail, known or not, from as many networks; who signed in before is still tried', async () => {
  const first = await login(email, password, home);
  const cookies = first.headers.getSetCookie().map((line) => line.split(';', 1)[0] ?? '');
  const device = cookies.find((cookie) => /_device=/.test(cookie)) ?? '';
  for (const [n, as] of [email, 'nobody@example.com'].entries()) {
    const guesses = times(25, (i) => login(as, 'not the password', `2001:db8:${n + 7}:${i}::1`));
    expect(await tally(guesses)).toEqual({ 401: 20, 429: 5 });
  }
  for (const _node of nodes.nodes) {
    expect((await login(email, password, '192.0.2.77')).status).toBe(429);
    expect((await login(email, password, home)).status).toBe(200);
    turn++;
  }
  for (const _node of nodes.nodes)
    expect((await login(email, password, '192.0.2.78', device)).status).toBe(200);
}, 90_000);

it('approvals of one agent, in each environment by itself', async () => {
  const signedIn = await login(email, password, home);
  const cookie = signedIn.headers.getSetCookie()[0]?.split(';', 1)[0] ?? '';
  for (const env of ['production', 'staging']) {
    const { body } = await call('POST', '/api/v1/keys', { cookie, body: { env, label: 'test' } });
    const asked = times(12, (i) =>
      call('POST', '/api/v1/approvals', {
        key: body.key,
        agent: 'one',
        body: { agent_id: 'one', tool_name: 'send', message: `May I? ${i}`, timeout: 60 },
      }),
    );
    expect(await tally(asked)).toEqual({ 201: 5, 429: 7 });
  }
});

it('a race to decide one approval over both nodes has one winner, and nobody is told to try again', async () => {
  const signedIn = await login(email, password, home);
  const cookie = signedIn.headers.getSetCookie()[0]?.split(';', 1)[0] ?? '';
  const { body } = await call('POST', '/api/v1/keys', {
    cookie,
    body: { env: 'development', label: 'test' },
  });
  const asked = await call('POST', '/api/v1/approvals', {
    key: body.key,
    agent: 'one',
    body: { agent_id: 'one', tool_name: 'send', message: 'May I?', timeout: 300 },
  });
  const decisions = times(50, (i) =>
    call('PUT', `/api/v1/approvals/${asked.body.id}`, {
      cookie,
      body: { approved: i % 2 === 0, reason: `${i}` },
    }),
  );
  expect(await tally(decisions)).toEqual({ 200: 1, 409: 49 });
});
