// Messages on pages with lists in trouble: the hub asks to wait (its own limit, or an answer of
// something in between), or is gone and comes back.
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startReceiver } from '../receiver.ts';
import { itAtNight, rowsOfRun } from '../runs.ts';
import { accessible, ask, noFaults, type View, view } from './browser.ts';
import { hubOfFile } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie } = await hubOfFile({ ALLOW_PRIVATE_OUTBOUND: 'true' });
let receiver: Awaited<ReturnType<typeof startReceiver>>;

interface Listed {
  /** In the navigation. */
  readonly link: string;
  readonly tab?: string;
  /** Text on the page when all is well. */
  readonly text: RegExp;
  /** The control that opens the part in question. */
  readonly row?: string;
}

const listed: { readonly [page: string]: Listed } = {
  runs: { link: 'Runs', text: /sample-session/ },
  rulesets: { link: 'Policies', tab: 'Documents', text: /^shop$/ },
  audit: { link: 'Audit', text: /ruleset deployed/ },
  users: { link: 'People', text: /^second@example\.com$/ },
  deliveries: { link: 'Channels', text: /^delivered, status 200$/, row: 'on call' },
  coverage: { link: 'Fleet', tab: 'Agents', text: /^refund$/, row: 'shop-agent' },
};

beforeAll(async () => {
  receiver = await startReceiver();
  const post = async (path: string, body: object, who: object = { cookie }) =>
    expect((await hub.call('POST', path, { ...who, body })).status).toBeLessThan(300);
  await post('/api/v1/contracts/import', { yaml_content: library });
  await post('/api/v1/compositions/shop/deploy', { env: 'production' });
  await post('/api/v1/sample-run', {});
  await post('/api/v1/users', { email: 'second@example.com', password: 'correct horse battery' });
  await post('/api/v1/notifications/channels', {
    name: 'on call',
    channel_type: 'webhook',
    config: { url: `${receiver.url}/hook`, secret: 'a secret of ours' },
  });
  const { key } = await hub.key(cookie);
  const event = { call_id: 'c', agent_id: 'shop-agent', tool_name: 'refund', verdict: 'call_allowed' };
  await post('/api/v1/events', { events: [event] }, { key, agent: 'shop-agent' });
  await ask(hub, key, {}, 'shop-agent');
  await receiver.atLeast(1);
});
afterAll(async () => {
  await receiver.close();
});

async function go(page: Page, link: string): Promise<void> {
  const rail = page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: link, exact: true });
  if ((await rail.count()) > 0) return rail.click();
  await page.getByRole('button', { name: /^Account/ }).click();
  await page.getByRole('menuitem', { name: link, exact: true }).click();
}

const opened = async (): Promise<View> => {
  const visit = await view(hub.url, { cookie });
  await visit.page.goto('/dashboard/');
  await visit.page.locator('.live-live').waitFor();
  return visit;
};

async function look(page: Page, { link, tab, row }: Listed): Promise<void> {
  await go(page, link);
  // The page before may hold the same words.
  await page.getByRole('heading', { name: link, level: 1 }).waitFor();
  if (tab) await page.getByRole('tab', { name: tab }).click();
  if (row) await page.locator('.cell-link').filter({ hasText: row }).click();
}

const waits = /The console tries again automatically in \d+ s\./;

it('an answer that takes long is awaited while events go on coming', { timeout: 60_000 }, async () => {
  const visit = await opened();
  const { page } = visit;
  const { key } = await hub.key(cookie);
  await go(page, 'Runs');
  await page
    .getByText(/sample-session/)
    .first()
    .waitFor();
  let held: (() => void) | null = null;
  let asked = 0;
  let givenUp = 0;
  page.on('requestfailed', (request) => {
    if (request.url().includes('/v1/runs?')) givenUp += 1;
  });
  await page.route(/\/v1\/runs\?/, async (route) => {
    asked += 1;
    if (asked === 1) await new Promise<void>((resolve) => (held = resolve));
    await route.continue().catch(() => undefined);
  });
  const agent = 'slow-agent';
  const post = async (n: number): Promise<void> => {
    const event = { call_id: `slow-${n}`, agent_id: agent, tool_name: 'refund', verdict: 'call_allowed' };
    const events = [{ ...event, payload: { run_id: 'slow-run' } }];
    expect((await hub.call('POST', '/api/v1/events', { key, agent, body: { events } })).status).toBe(200);
  };
  // Twice as long as the time between two looks at what events made old.
  let n = 0;
  for (let began = 0; began === 0 || performance.now() - began < 2_500; n += 1) {
    await post(n);
    // Some events a second: more would meet the hub's limit on a quick machine.
    await page.evaluate(`(async () => {
      for (let frame = 0; frame < 12; frame += 1) await new Promise((done) => requestAnimationFrame(done));
    })()`);
    if (held !== null && began === 0) began = performance.now();
  }
  expect([asked, givenUp]).toEqual([1, 0]);
  (held as (() => void) | null)?.();
  await page.getByText('slow-run').first().waitFor();
  noFaults(visit);
  await visit.context.close();
});

/**
 * Asks so often that the hub's limit of a minute strikes, and goes on so that it stays.
 * @returns how to end it
 */
async function strike(
  headers: { readonly [name: string]: string },
  path: string,
): Promise<() => Promise<void>> {
  let struck = false;
  let ended = false;
  const calls = async (until: () => boolean): Promise<void> => {
    while (!until()) {
      const { status } = await hub.call('GET', path, { headers });
      if (status === 429) struck = true;
    }
  };
  await Promise.all(Array.from({ length: 32 }, () => calls(() => struck)));
  const kept = calls(() => ended);
  return () => {
    ended = true;
    return kept;
  };
}

/** Both limits of the person: of the login, and of the tokens for the API under /v1 that come with it. */
async function strikeBoth(): Promise<() => Promise<void>> {
  const { body } = await hub.call('POST', '/api/v1/auth/operator-token', { cookie });
  const ends = [
    await strike({ Authorization: `Bearer ${body.token}` }, '/v1/rulesets?limit=1'),
    await strike({ Cookie: cookie }, '/api/v1/auth/me'),
  ];
  return async () => {
    await Promise.all(ends.map((end) => end()));
  };
}

itAtNight(
  'the lists say what they know while the hub is gone, and go on when it is back',
  {
    timeout: 120_000,
  },
  async () => {
    const visit = await opened();
    const { page } = visit;
    const { runs, ...rest } = listed;
    const others = rowsOfRun(Object.values(rest), 3);
    for (const its of others) {
      await look(page, its);
      await page.getByText(its.text).first().waitFor();
      await page.keyboard.press('Escape');
    }
    await hub.kill();
    // The rows stay, with a bar that says how old it is.
    for (const its of others) {
      await look(page, its);
      await page.getByText(its.text).first().waitFor();
      await page.getByText(/The hub has not responded since/).waitFor();
      await page.keyboard.press('Escape');
    }
    // A page that was never opened cannot be loaded, and comes when the hub does.
    await go(page, 'Runs');
    await page.getByText(/The page loads automatically when the hub is available again/).waitFor();
    await accessible(page);
    await hub.start();
    await page
      .getByText(runs?.text ?? '')
      .first()
      .waitFor({ timeout: 40_000 });
    await page.locator('.live-live').waitFor();
    for (const its of others) {
      await look(page, its);
      await page.getByText(its.text).first().waitFor();
      await page.keyboard.press('Escape');
    }
    noFaults(visit);
    await visit.context.close();
  },
);

itAtNight(
  'the lists say how long to wait when the limit of the hub strikes',
  { timeout: 120_000 },
  async () => {
    const visit = await opened();
    const { page } = visit;
    // Parts that open from a list: the list is there before.
    const parts = Object.values(listed).filter(({ row }) => row !== undefined);
    for (const { link, tab, row } of parts) {
      await go(page, link);
      if (tab) await page.getByRole('tab', { name: tab }).click();
      await page
        .locator('.cell-link')
        .filter({ hasText: row ?? '' })
        .waitFor();
    }
    const end = await strikeBoth();
    for (const its of Object.values(listed)) {
      await look(page, its);
      await page
        .getByText(/Too many requests/)
        .first()
        .waitFor();
      await page.getByText(waits).first().waitFor();
      await page.keyboard.press('Escape');
    }
    await end();
    noFaults(visit);
    await visit.context.close();
  },
);
