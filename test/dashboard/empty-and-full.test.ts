// Every list with nothing in it, and with 5,000 things: an empty one says what would be here, and offers an act; a full
// one says how many there are, draws those in sight, and fits the screen.
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { isNightly, rowsOfCommit } from '../runs.ts';
import { ask, go, noFaults, view } from './browser.ts';
import { tenantOfFile, tenantWithKey } from './file-hub.ts';

const empty = await tenantOfFile();
const { hub, cookie, key } = await tenantWithKey();

/** The words of a list without a record, and the button or link that leads on; null: what fills it is elsewhere. */
const emptyWords: { readonly [path: string]: readonly (readonly [words: string, act: string | null])[] } = {
  '/': [
    ['Govern your first agent in three steps', 'Load sample run'],
    ['Nothing needs attention', null],
  ],
  '/inbox': [['No pending approvals', null]],
  '/inbox?view=mine': [['No approvals taken', null]],
  '/inbox?view=snoozed': [['No snoozed approvals', null]],
  '/inbox?view=decided': [['No decisions yet', null]],
  '/explore': [['No events match these filters', 'Show last 7 days']],
  '/explore?view=tail': [['No new events yet', null]],
  '/fleet': [['No documents yet', null]],
  '/fleet?view=agents': [['No agents yet', null]],
  '/fleet?view=assignment': [['No assignment rules', 'New rule']],
  '/policies': [['No contracts yet', 'New contract']],
  '/policies?view=compositions': [['No compositions yet', 'New composition']],
  '/policies?view=documents': [
    ['No bundles yet', 'Upload bundle'],
    ['No rulesets yet', 'New ruleset'],
  ],
  '/tools': [['No MCP servers yet', null]],
  '/tools?view=all': [['No MCP servers yet', null]],
  '/changes': [['No deployments in this range', 'Show last 7 days']],
  '/runs': [['No runs yet', 'Load sample run']],
  '/admin/keys': [['No API keys yet', 'Create key']],
  '/admin/channels': [['No channels yet', 'Add channel']],
  '/admin/service-accounts': [['No service accounts yet', 'Add service account']],
};

const emptyChoice = rowsOfCommit(Object.keys(emptyWords), 4);

it(`says what would be in an empty list, and what to do (SEED=${emptyChoice.seed})`, {
  timeout: 60_000,
}, async () => {
  const visit = await view(empty.hub.url, { cookie: empty.cookie });
  const { page } = visit;
  const main = page.getByRole('main');
  const missing: string[] = [];
  await page.goto('/dashboard/test');
  for (const path of emptyChoice.rows) {
    await go(page, path);
    for (const [words, act] of emptyWords[path] ?? []) {
      const line = main.getByText(words, { exact: true }).first();
      await line.waitFor({ timeout: 5_000 }).catch(() => missing.push(`${path}: ${words}`));
      if (act !== null && (await main.getByRole('button', { name: act }).count()) === 0)
        missing.push(`${path}: no button ${act}`);
    }
    await expect.poll(() => main.locator('.skeleton').count(), { message: path }).toBe(0);
    if ((await main.getByRole('alert').count()) > 0) missing.push(`${path}: an error`);
  }
  expect(missing).toEqual([]);
  noFaults(visit);
  await visit.context.close();
});

const size = 5_000;
/** Rows in the document: what is seen and a little around it. */
const maxDrawn = 80;

interface FullList {
  readonly path: string;
  /** Words that count the things. */
  readonly says: RegExp;
  /** The list that scrolls. */
  readonly list: (page: Page) => ReturnType<Page['locator']>;
  readonly rows: string;
}
const region = (name: string) => (page: Page) => page.getByRole('region', { name, exact: true });

const fullLists: { readonly [name: string]: FullList } = {
  agents: {
    path: '/fleet?view=agents',
    says: /^500\+ agents; scroll for more$/,
    list: region('agents'),
    rows: '[role=row]',
  },
  events: {
    path: '/explore',
    says: /^100 newest events loaded; scroll for more/,
    list: region('events'),
    rows: '[role=row]',
  },
  runs: { path: '/runs', says: /^[\d,]+\+ runs; scroll for more/, list: region('runs'), rows: '[role=row]' },
  contracts: {
    path: '/policies',
    says: /^1,000\+ contracts in the library\.$/,
    list: region('contracts'),
    rows: '[role=row]',
  },
  approvals: {
    path: '/inbox',
    says: /^5,000 pending calls\.$/,
    list: (page) => page.locator('.queue-list'),
    rows: '.queue-item',
  },
};
/** What takes long to store is for the night. */
const lists = isNightly ? Object.keys(fullLists) : rowsOfCommit(['agents', 'events', 'runs'], 1).rows;

async function inParallel(calls: number, one: (n: number) => Promise<unknown>): Promise<void> {
  for (let n = 0; n < calls; n += 20)
    await Promise.all(Array.from({ length: Math.min(20, calls - n) }, (_, at) => one(n + at)));
}

describe('5,000 things', { timeout: 120_000 }, () => {
  beforeAll(async () => {
    const post = async (path: string, body: object, by: object): Promise<void> => {
      expect((await hub.call('POST', path, { ...by, body })).status, path).toBeLessThan(300);
    };
    const events = Array.from({ length: size }, (_, n) => ({
      ...{ call_id: `c${n}`, agent_id: `agent-${n}`, tool_name: `tool-${n % 50}`, verdict: 'call_allowed' },
      timestamp: new Date(Date.now() - n * 1_000).toISOString(),
      payload: { session_id: `session-${n}` },
    }));
    for (let at = 0; at < size; at += 1_000)
      await post('/api/v1/events', { events: events.slice(at, at + 1_000) }, { key });
    if (!isNightly) return;
    for (let at = 0; at < size; at += 100) {
      const rules = Array.from(
        { length: 100 },
        (_, n) => `  - { id: rule-${at + n}, type: session, limits: { max_tool_calls: 9 } }`,
      );
      const head = `apiVersion: service/v1\nkind: ContractBundle\nmetadata: { name: many-${at} }\ndefaults: { mode: enforce }`;
      await post(
        '/api/v1/contracts/import',
        { yaml_content: `${head}\ncontracts:\n${rules.join('\n')}\n` },
        { cookie },
      );
    }
    // The hub takes 600 approvals of a key in a minute.
    for (let at = 0; at < size; at += 500) {
      const { key: own } = await hub.key(cookie);
      await inParallel(500, (n) =>
        ask(hub, own, { tool_name: `tool-${n}`, timeout: 10_000 + at + n }, `agent-${at + n}`),
      );
    }
  }, 300_000);

  it.each(lists)('of %s are counted, drawn where they are seen, and fit the screen', async (name) => {
    const { path, says, list, rows } = fullLists[name] as FullList;
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto(`/dashboard${path}`);
    await page.getByRole('main').getByText(says).first().waitFor();
    const drawn = list(page).locator(rows);
    const last = async () => Number(await drawn.last().getAttribute('aria-rowindex'));
    await expect.poll(() => drawn.count()).toBeGreaterThan(10);
    const before = await last();
    for (let step = 1; step <= 5; step += 1) {
      await list(page).hover();
      await page.mouse.wheel(0, 2_000);
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
      expect(await drawn.count()).toBeLessThan(maxDrawn);
    }
    await expect.poll(last).toBeGreaterThan(before);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    noFaults(visit);
    await visit.context.close();
  });
});
