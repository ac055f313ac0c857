// The hub that the pictures show, its pages, and what makes a picture the same each time: events of one past day, a
// browser with a fixed clock, and fixed words in place of times that pass and ids that the hub makes.
import { createHash } from 'node:crypto';
import type { Page } from 'playwright-core';
import type { HubProcess } from '../../e2e/process.ts';
import { AgentStreams } from '../agent-streams.ts';
import { ask, browser, view } from '../browser.ts';
import { library } from '../seed.ts';

const day = '2026-01-15T';
/** The range of every page. */
const range = `from=${day}00:00:00.000Z&to=2026-01-16T00:00:00.000Z`;
const browserTime = new Date(`${day}18:00:00.000Z`);

const themes = ['light', 'dark'] as const;
const sizes = [
  [1440, 900],
  [360, 740],
] as const;

interface Scene {
  readonly name: string;
  /** Below /dashboard. */
  readonly path: string;
  /** Resolves when the page is complete. */
  readonly isComplete: (page: Page) => Promise<unknown>;
}

// biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
async function post(hub: HubProcess, path: string, options: object): Promise<any> {
  const { status, body } = await hub.call('POST', path, options);
  if (status >= 300) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
  return body;
}

/** Calls of five tools over the day, with more denials in the afternoon. */
const calls = (policyVersion: string): object[] =>
  Array.from({ length: 480 }, (_, n) => {
    const minute = n * 3;
    const isLate = minute > 840 && minute < 960;
    const isDenied = n % 11 === 0 || (isLate && n % 2 === 0);
    const tool = isDenied ? 'read_file' : (['search_docs', 'refund', 'deploy', 'send_mail'][n % 4] ?? '');
    const verdict = isDenied
      ? 'call_denied'
      : tool === 'deploy' && n % 3 === 0
        ? 'call_asked'
        : tool === 'refund' && n % 5 === 0
          ? 'call_would_deny'
          : 'call_allowed';
    const toolArgs: { readonly [tool: string]: object } = {
      read_file: { path: `/srv/shop/${n % 4}/.env` },
      refund: { amount: 120 + n, currency: 'EUR', order: `A-${1000 + n}` },
      deploy: { service: 'checkout', command: 'kubectl rollout restart deploy/checkout' },
      search_docs: { text: `how to return order ${n}` },
      send_mail: { to: `customer-${n % 7}@example.com` },
    };
    return {
      ...{ call_id: `call-${n}`, agent_id: `checkout-0${n % 6}`, tool_name: tool, verdict },
      mode: verdict === 'call_would_deny' ? 'observe' : 'enforce',
      timestamp: new Date(
        Date.parse(`${day}00:00:00.000Z`) + minute * 60_000 + (n % 60) * 1000,
      ).toISOString(),
      payload: {
        tool_args: toolArgs[tool],
        session_id: `session-${n % 9}`,
        policy_version: policyVersion,
        ...(isDenied
          ? {
              ...{ decision_source: 'pre', decision_name: 'no-secrets' },
              reason: 'Secrets stay where they are',
            }
          : {}),
      },
    };
  });

/** Fills a hub. @returns the scenes, and what ends the streams of agents */
export async function arrange(
  hub: HubProcess,
  cookie: string,
): Promise<{ readonly scenes: readonly Scene[]; readonly close: () => void }> {
  const hashes: string[] = [];
  for (const text of [library, library.replace('gt: 500', 'gt: 250')]) {
    hashes.push((await post(hub, '/api/v1/bundles', { cookie, body: { yaml_content: text } })).revision_hash);
  }
  for (const env of ['staging', 'production'])
    await post(hub, '/api/v1/bundles/shop/1/deploy', { cookie, body: { env } });
  const { key } = await hub.key(cookie);
  const { key: stagingKey } = await hub.key(cookie, 'staging');
  const expires_at = new Date(Date.now() + 10 * 86_400_000).toISOString();
  await post(hub, '/api/v1/keys', { cookie, body: { label: 'nightly jobs', env: 'production', expires_at } });
  const [first = ''] = hashes;
  await post(hub, '/api/v1/events', { key, agent: 'checkout-00', body: { events: calls(first) } });
  const refunds = Array.from({ length: 40 }, (_, n) => ({
    ...{ call_id: `refund-${n}`, agent_id: 'returns-01', tool_name: 'refund', verdict: 'call_allowed' },
    payload: { tool_args: { amount: 100 + n * 8, currency: 'EUR', order: `B-${n}` } },
  }));
  await post(hub, '/api/v1/events', { key: stagingKey, agent: 'returns-01', body: { events: refunds } });
  const agents = new AgentStreams(hub, key);
  const running = `&bundle_name=shop&policy_version=${first}`;
  for (let n = 0; n < 6; n += 1) await agents.open(`checkout-0${n}`, running);
  await agents.open('fulfilment-01', '&bundle_name=shop');
  for (let n = 0; n < 3; n += 1) {
    const toolArgs = { amount: 900 + n * 50, currency: 'EUR', order: `A-${1001 + n}` };
    const question = { tool_name: 'refund', contract_name: 'large-refunds', message: 'A large refund' };
    await ask(hub, key, { ...question, timeout: 3_000 + n * 60, tool_args: toolArgs }, `checkout-0${n}`);
  }
  await ask(hub, key, { timeout: 2_400, contract_name: 'ask-before-deploy' }, 'checkout-04');
  const query = `limit=1&q=verdict:denied&since=${day}00:00:00Z&until=2026-01-16T00:00:00Z`;
  const [event] = (await hub.call('GET', `/api/v1/events?${query}`, { cookie })).body;
  const text = (words: string | RegExp) => (page: Page) =>
    page.getByRole('main').getByText(words).first().waitFor();
  const chart = (page: Page) => page.locator('.chart-place canvas').waitFor();
  const scenes: readonly Scene[] = [
    {
      name: 'overview',
      path: `/?${range}`,
      isComplete: async (page) => {
        await chart(page);
        await page.getByRole('region', { name: 'Needs attention 1' }).waitFor();
        await text(/6 of 7 agents/)(page);
        await page.locator('.top-rows .sparkline').nth(2).waitFor({ state: 'attached' });
      },
    },
    { name: 'inbox', path: '/inbox', isComplete: text('kubectl') },
    {
      name: 'explore',
      path: `/explore?q=verdict:denied&${range}`,
      isComplete: async (page) => {
        await chart(page);
        await page.locator('.facet-value').first().waitFor();
      },
    },
    { name: 'event', path: `/events/${event.id}?${range}`, isComplete: text('recomputed') },
    {
      name: 'fleet',
      path: '/fleet',
      isComplete: (page) => page.getByRole('button', { name: 'v1 6 of 7 agents' }).waitFor(),
    },
    {
      name: 'change',
      path: '/changes/new?bundle=shop&version=2&env=staging',
      isComplete: async (page) => {
        await text(/^1 \w+, 2 unchanged\.$/)(page);
        await page
          .getByRole('region', { name: /^Replay/ })
          .getByText(/unchanged/)
          .first()
          .waitFor();
      },
    },
  ];
  return { scenes, close: () => void agents.close() };
}

/** Replaces words and shapes that differ from run to run. Source text, because it runs in the page. */
const steadyWords = `(() => {
  const words = [
    [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '00000000-0000-4000-8000-000000000000'],
    // Times of the hub; those of events are of the fixed day.
    [/^(?!1[56] Jan )(\\d\\d \\w{3} )?\\d\\d:\\d\\d:\\d\\d\\.\\d{3}$/, '12:00:00.000'],
    [/just now|\\d+ (ms|s|min|h|d) ago/g, '5 min ago'],
    [/\\d+ (s|min|h)( \\d+ (s|min))? left/g, '4 min left'],
    [/(in|oldest|since|for) \\d+ (ms|s|min|h|d)( \\d+ (s|min))?\\b/g, '$1 5 min'],
  ];
  for (const { firstChild } of document.querySelectorAll('.change-row > time')) firstChild.data = '12:00';
  for (const { firstChild } of document.querySelectorAll('.countdown > span')) firstChild.data = '4 min';
  // The ring of a countdown is its time left.
  for (const ring of document.querySelectorAll('.countdown-left')) ring.style.strokeDasharray = 'none';
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = words.reduce((all, [from, to]) => all.replace(from, to), node.data);
    if (text !== node.data) node.data = text;
  }
})()`;

/** Two pictures in a row are the same when nothing loads or moves. */
const maxTries = 40;

async function steadyPicture(page: Page): Promise<Buffer> {
  let before: Buffer | null = null;
  for (let n = 0; n < maxTries; n += 1) {
    await page.evaluate(steadyWords);
    const png = await page.screenshot({ animations: 'disabled', caret: 'hide' });
    if (before?.equals(png)) return png;
    before = png;
    await page.evaluate('new Promise((done) => setTimeout(done, 150))');
  }
  throw new Error(`${page.url()} does not come to rest`);
}

export interface Picture {
  readonly name: string;
  readonly png: Buffer;
}

/** All pictures, one after the other. */
/** @param isWanted which of them, by name. Default: all */
export async function* takePictures(
  hub: HubProcess,
  cookie: string,
  scenes: readonly Scene[],
  isWanted: (name: string) => boolean = () => true,
): AsyncGenerator<Picture> {
  for (const [width, height] of sizes) {
    const { page, context, faults } = await view(hub.url, { cookie, width, height, touch: width < 640 });
    await page.clock.setFixedTime(browserTime);
    for (const { name, path, isComplete } of scenes) {
      const schemes = themes.filter((theme) => isWanted(`${name}-${width}-${theme}`));
      if (schemes.length === 0) continue;
      await page.goto(`/dashboard${path}`);
      await page.getByRole('status').filter({ hasText: /^Live/ }).waitFor();
      await isComplete(page);
      for (const colorScheme of schemes) {
        await page.emulateMedia({ colorScheme });
        const png = await steadyPicture(page);
        yield { name: `${name}-${width}-${colorScheme}`, png };
      }
    }
    await context.close();
    if (faults.length > 0) throw new Error(faults.join('\n'));
  }
}

/** Dependencies of pictures beside the console: the browser's version, and how this machine draws letters and edges. */
export interface Drawing {
  readonly chromium: string;
  readonly probe: string;
}

const probeHtml = `<body style="margin: 8px; font: 13px system-ui; background: #fff">
  <p>Reeve: ✓ ⊘ ◆ ◌ ↶ ✕ Σ EUR 1,045.00 <b>bold</b> <code>args.path</code></p>
  <svg width="64" height="24"><circle cx="12" cy="12" r="9.5" fill="none" stroke="#0a6a86" stroke-width="1.7"/></svg>
  <div style="width: 80px; height: 20px; border: 1px solid #7a8792; border-radius: 6px"></div>`;

export async function drawing(): Promise<Drawing> {
  const shared = await browser();
  const context = await shared.newContext({ viewport: { width: 400, height: 120 } });
  const page = await context.newPage();
  await page.setContent(probeHtml);
  const png = await page.screenshot({ animations: 'disabled' });
  await context.close();
  return { chromium: shared.version(), probe: createHash('sha256').update(png).digest('hex') };
}
