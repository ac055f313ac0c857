// Bad days of what people do: the main action of every page, asked to wait, refused by a busy hub or for a role, met
// by somebody who was faster, and pressed while the hub is away. Each says what happened, and keeps what was typed.
// The faster one acts in the real hub where that can be; a proxy before it gives the other answers.
import type { Locator, Page, Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { adminPages, ownPages, pageAt, pages } from '../../src/dashboard/pages/registry.ts';
import { rowsOfCommit } from '../runs.ts';
import { ask, noFaults, type View, view } from './browser.ts';
import { tenantWithKey } from './file-hub.ts';
import { proxyOf } from './proxy.ts';
import { library } from './seed.ts';

const { hub, cookie, key } = await tenantWithKey();
const proxy = await proxyOf(hub);
let event = '';
let approval = '';

interface Act {
  readonly path: () => string;
  /** The button that opens the form, where it does not stand on the page. */
  readonly opens?: string;
  readonly in: readonly ['dialog' | 'region' | 'article', string | RegExp];
  /** Text to type, by the label of the field. */
  readonly fields?: { readonly [label: string]: string };
  /** Text added to the document in its editor, as one line. */
  readonly document?: string;
  readonly ready?: (place: Locator) => Promise<unknown>;
  readonly press: string | RegExp;
  /** Method and path of what it sends. */
  readonly sends: RegExp;
  /** It is sent by itself as soon as the page is there, and pressed again then. */
  readonly begins?: true;
  /** Somebody else acts first, and what the hub says of it; absent: the proxy says it. */
  readonly other?: readonly [act: () => Promise<unknown>, says: string | RegExp];
}

const post = async (path: string, body: object, method = 'POST', who: object = { cookie }) => {
  const answer = await hub.call(method, path, { ...who, body });
  expect(answer.status, path).toBeLessThan(300);
  return answer.body;
};
const contract = {
  name: 'of somebody else',
  type: 'pre',
  definition: {
    tool: 'refund',
    when: { 'args.amount': { gt: 1 } },
    then: { effect: 'deny', message: 'no' },
  },
};
const decideFirst = async (tool: string): Promise<unknown> => {
  const [one] = (await hub.call('GET', `/api/v1/approvals?status=pending&search=${tool}`, { cookie })).body;
  return post(`/api/v1/approvals/${one.id}`, { approved: false, reason: 'I was here before' }, 'PUT');
};

const acts: { readonly [name: string]: Act } = {
  'Approvals: a decision': {
    path: () => `/approvals/${approval}`,
    in: ['article', 'Approval of queue_one'],
    fields: { Reason: 'typed in the queue' },
    press: /^Deny/,
    sends: /^PUT .*\/approvals\//,
    other: [() => decideFirst('queue_one'), 'Another user decided first.'],
  },
  'Events: a contract made of one': {
    path: () => `/events/${event}`,
    opens: 'Create contract from event',
    in: ['dialog', 'New contract'],
    fields: { ID: 'from-an-event', Description: 'All of this stays' },
    press: 'Add contract',
    sends: /^POST .*\/contracts$/,
    other: [
      () => post('/api/v1/contracts', { contract_id: 'from-an-event', ...contract }),
      /from-an-event.* exists/,
    ],
  },
  'Explore: a saved view': {
    path: () => '/explore?q=tool%3Arefund',
    opens: 'Save view',
    in: ['dialog', 'Save view'],
    fields: { Name: 'typed before' },
    press: 'Save view',
    sends: /^POST .*\/views$/,
  },
  'Contracts: a new one': {
    path: () => '/policies',
    opens: 'New contract',
    in: ['dialog', 'New contract'],
    fields: { ID: 'typed-before', Tags: 'one, two' },
    document: '# typed into a contract',
    press: 'Add contract',
    sends: /^POST .*\/contracts$/,
    other: [
      () => post('/api/v1/contracts', { contract_id: 'typed-before', ...contract }),
      /typed-before.* exists/,
    ],
  },
  'Contracts: the editor': {
    path: () => '/contracts/watch-refunds',
    opens: 'Edit contract',
    in: ['region', 'Contract watch-refunds'],
    fields: { Description: 'Changed before' },
    document: '# typed into a version',
    press: 'Save as new version',
    sends: /^PUT .*\/contracts\//,
  },
  'Compositions: a new one': {
    path: () => '/policies?view=compositions',
    opens: 'New composition',
    in: ['dialog', 'New composition'],
    fields: { Name: 'typed-before', Description: 'All of this stays' },
    press: 'Create composition',
    sends: /^POST .*\/compositions$/,
    other: [() => post('/api/v1/compositions', { name: 'typed-before' }), /already exists/],
  },
  'Compositions: its contracts': {
    path: () => '/compositions/shop',
    in: ['region', 'Composition shop'],
    ready: (place) => place.getByLabel('Default mode').selectOption('observe'),
    press: 'Save composition',
    sends: /^PUT .*\/compositions\//,
    other: [
      () => post('/api/v1/compositions/shop', { description: 'Of somebody else' }, 'PUT'),
      /has changed since you read it/,
    ],
  },
  'Bundles: an upload': {
    path: () => '/policies?view=documents',
    opens: 'Upload bundle',
    in: ['dialog', 'Upload bundle'],
    document: '# typed into a bundle',
    press: 'Upload bundle',
    sends: /^POST .*\/bundles$/,
  },
  'Bundles: a deployment': {
    path: () => '/bundles/shop',
    opens: 'Deploy v1',
    in: ['region', /^(Change|Deployment of) shop/],
    press: 'Deploy v1 to production',
    sends: /^POST .*\/deploy/,
  },
  'Agents: one of them': {
    path: () => '/agents/shop-agent',
    in: ['region', /^Agent /],
    fields: { 'Display name': 'Typed before', Tags: 'tier=silver' },
    press: 'Save agent',
    sends: /^PATCH .*\/agent-registrations\//,
  },
  'Agents: many at once': {
    path: () => '/fleet?view=agents',
    in: ['region', 'Assign the selected agents'],
    ready: (place) => place.page().getByRole('checkbox', { name: 'Select all loaded rows' }).check(),
    press: 'Assign 1',
    sends: /^POST .*\/bulk-assign/,
  },
  'Agents: a rule': {
    path: () => '/fleet?view=assignment',
    opens: 'New rule',
    in: ['dialog', 'New rule'],
    fields: { Agents: 'typed-*', 'Required tags': 'tier=gold', Priority: '7' },
    press: 'Add rule',
    sends: /^POST .*\/assignment-rules$/,
    other: [
      () =>
        post('/api/v1/assignment-rules', {
          pattern: 'theirs-*',
          priority: 7,
          bundle_name: 'shop',
          env: 'production',
        }),
      /priority/i,
    ],
  },
  "Playground: the hub's word": {
    path: () => '/test',
    in: ['region', 'Result'],
    press: 'Retry comparison',
    sends: /^POST .*\/evaluate/,
    begins: true,
  },
  'Runs: the sample run': {
    path: () => '/runs',
    in: ['region', 'content'],
    press: 'Load sample run',
    sends: /^POST .*\/sample-run/,
  },
  'Rulesets: a new one': {
    path: () => '/policies?view=documents',
    opens: 'New ruleset',
    in: ['dialog', 'New ruleset'],
    document: '# typed into a ruleset',
    press: 'Save ruleset',
    sends: /^PUT .*\/rulesets\//,
  },
  'Audit: the chain': {
    path: () => '/audit',
    in: ['region', 'Audit chain'],
    press: 'Verify chain',
    sends: /^GET .*\/audit\/export/,
  },
  'Keys: a new one': {
    path: () => '/admin/keys',
    opens: 'Create key',
    in: ['dialog', 'Create key'],
    fields: { Label: 'typed before', 'Agent pattern': 'shop-*', 'Expires after days': '3' },
    press: 'Create key',
    sends: /^POST .*\/keys$/,
  },
  'Channels: a new one': {
    path: () => '/admin/channels',
    opens: 'Add channel',
    in: ['dialog', 'Add channel'],
    fields: { Name: 'typed before', Address: 'https://127.0.0.1/hook', Agents: 'shop-*' },
    press: 'Add channel',
    sends: /^POST .*\/channels$/,
  },
  'Channels: a test': {
    path: () => '/admin/channels',
    in: ['region', /^Channel /],
    ready: (place) => place.page().getByRole('table').getByRole('link', { name: 'on call' }).click(),
    press: 'Send test',
    sends: /^POST .*\/test$/,
  },
  'Settings: a user': {
    path: () => '/admin/people',
    opens: 'Add user',
    in: ['dialog', 'Add user'],
    fields: { 'E-mail': 'typed@example.com', 'Initial password': 'typed horse battery' },
    press: 'Add user',
    sends: /^POST .*\/users$/,
    other: [
      () => post('/api/v1/users', { email: 'typed@example.com', password: 'another horse battery' }),
      'A user with this e-mail address already exists. Use another address.',
    ],
  },
  'Settings: the own password': {
    path: () => '/me/security',
    in: ['region', 'Your password'],
    fields: { 'Current password': 'correct horse battery', 'New password': 'another horse battery' },
    press: 'Change password',
    sends: /^POST .*\/password/,
  },
  'Settings: the assistant': {
    path: () => '/admin/assistant',
    in: ['region', 'Assistant'],
    fields: { Model: 'a-model', 'Provider API key': 'typed-key-of-a-provider' },
    press: 'Save assistant',
    sends: /^PUT .*\/settings\/ai/,
  },
};

let visit: View;
let page: Page;
/** The page hears nothing: what it knows is old when somebody else was faster. */
let isDeaf = false;
/** The page's requests without an answer yet. */
const underWay = new Set<Request>();

beforeAll(async () => {
  await post('/api/v1/contracts/import', { yaml_content: library });
  await post('/api/v1/compositions/shop/deploy', { env: 'production' });
  const config = { url: 'https://127.0.0.1/first', secret: 'a secret of ours' };
  await post('/api/v1/notifications/channels', {
    name: 'on call',
    channel_type: 'webhook',
    config,
    enabled: false,
  });
  const events = [{ call_id: 'c', agent_id: 'shop-agent', tool_name: 'refund', verdict: 'call_allowed' }];
  await post('/api/v1/events', { events }, 'POST', { key, agent: 'shop-agent' });
  [{ id: event }] = (await hub.call('GET', '/api/v1/events?limit=1', { cookie })).body;
  approval = await ask(hub, key, { tool_name: 'queue_one', timeout: 3_600 }, 'shop-agent');
  visit = await view(proxy.url, { cookie });
  ({ page } = visit);
  await page.addInitScript('delete globalThis.SharedWorker');
  page.on('request', (request) => {
    if (/\/v1\//.test(request.url()) && !request.url().includes('/stream')) underWay.add(request);
  });
  page.on('requestfinished', (request) => underWay.delete(request));
  page.on('requestfailed', (request) => underWay.delete(request));
  await page.routeWebSocket(/stream\/dashboard/, (socket) => {
    const server = socket.connectToServer();
    server.onMessage((message) => {
      if (!isDeaf) socket.send(message);
    });
  });
});
afterAll(async () => {
  noFaults(visit);
  await visit.context.close();
});

const refuse = ({ sends }: Act, status: number, retryAfter?: number): void => {
  proxy.rule = (method, path) =>
    sends.test(`${method} ${path.replace(/\?.*/, '')}`)
      ? { status, ...(retryAfter === undefined ? {} : { retryAfter }) }
      : null;
};

/** Pages on which nothing is done, or where a choice needs no button; what is changed has its plan on another page. */
const withoutAct = new Set(
  ['/', '/tools', '/changes', '/evidence', '/me', '/admin/system', '/admin/environments'].concat([
    '/admin/retention',
    '/admin/service-accounts',
  ]),
);

it('no page is without a row but those where nothing is done', () => {
  const paths = Object.values(acts).map(({ path }) => pageAt(path().replace(/\?.*/, '')).path);
  const expected = [...pages, ...adminPages, ...ownPages]
    .map(({ path }) => path)
    .filter((path) => !withoutAct.has(path));
  expect([...new Set(paths)].sort()).toEqual(expected.sort());
});

const choice = rowsOfCommit(Object.entries(acts), 3);

describe(`what is done (SEED=${choice.seed})`, { timeout: 30_000 }, () => {
  it.each(choice.rows)('%s', async (_, act) => {
    isDeaf = false;
    proxy.isShut = false;
    proxy.rule = null;
    if (act.begins) refuse(act, 503, 2);
    await page.goto(`/dashboard${act.path()}`);
    await page.locator('.live-live').waitFor();
    if (act.opens) await page.getByRole('button', { name: act.opens, exact: true }).first().click();
    const place =
      act.in[1] === 'content'
        ? page.getByRole('main')
        : page.getByRole(act.in[0], { name: act.in[1], exact: typeof act.in[1] === 'string' });
    await act.ready?.(place);
    const fields = Object.entries(act.fields ?? {});
    for (const [label, value] of fields) await place.getByLabel(label, { exact: true }).fill(value);
    const line = place.locator('.cm-line').filter({ hasText: act.document ?? '' });
    if (act.document) {
      await place.locator('.cm-content').click();
      await page.keyboard.press('ControlOrMeta+End');
      await page.keyboard.insertText(`\n${act.document}`);
      await line.first().waitFor();
    }
    const button = place.getByRole('button', { name: act.press, exact: typeof act.press === 'string' });
    const alert = place.getByRole('alert');
    /** Presses, and looks whether it says so, with what was typed still there. */
    const pressed = async (...says: readonly [string | RegExp, ...(string | RegExp)[]]): Promise<void> => {
      // A dialog that still reads what it needs takes no press: it is pressed again then.
      const answered = async (): Promise<boolean> => {
        // By key: a list of the editor may lie over it.
        if (await button.isEnabled()) await button.press('Enter');
        const said = alert.getByText(says[0]).first().waitFor({ timeout: 3_000 });
        return said.then(
          () => true,
          () => false,
        );
      };
      await expect.poll(answered).toBe(true);
      for (const text of says) await alert.getByText(text).first().waitFor();
      for (const [label, value] of fields) {
        const field = place.getByLabel(label, { exact: true });
        if ((await field.count()) > 0) expect(await field.inputValue()).toBe(value);
      }
      if (act.document) expect(await line.count()).toBeGreaterThan(0);
    };
    refuse(act, 429, 7);
    await pressed('Too many requests. Wait a little.', /^Try again in \d+ s\.$/);
    refuse(act, 503, 2);
    await pressed('The hub cannot take this now.', /^Try again (in \d+ s|now)\.$/);
    refuse(act, 403);
    await pressed('Permission denied.', /^Ask an admin to do this/);
    proxy.isShut = true;
    await pressed(
      /^The hub did not respond(?:\. Check that|, so your action may have taken effect\. Check the result)/,
    );
    proxy.isShut = false;
    isDeaf = true;
    if (act.other) {
      proxy.rule = null;
      // An answer that is still on its way would tell of who was faster.
      await expect.poll(() => underWay.size).toBe(0);
      await act.other[0]();
      await pressed(act.other[1]);
    } else {
      refuse(act, 409);
      await pressed('The composition changed during the rollout.');
    }
  });
});
