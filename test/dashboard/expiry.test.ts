// A session that ends under every form of the console, before the page hears of it: what was typed stays, the password
// is asked for over it, and the same press succeeds then.
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FakeProvider, startProvider } from '../ai-provider.ts';
import { ask, noFaults, type View, view } from './browser.ts';
import { hubWithKey } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie, key } = await hubWithKey({
  RATE_LIMIT_MAX_ATTEMPTS: '1000',
  ALLOW_PRIVATE_OUTBOUND: 'true',
});
const first = 'correct horse battery';
const second = 'another horse battery';
let password = first;

interface Form {
  readonly path: string;
  /** The button that opens it, where it does not stand on the page. */
  readonly opens?: string;
  /** The dialog or region that it stands in. */
  readonly in?: readonly ['dialog' | 'region' | 'article', string | RegExp];
  /** What is typed, by the label of the field. */
  readonly fields?: { readonly [label: string]: string };
  /** What is added to the document in its editor, as one line. */
  readonly document?: string;
  readonly press: string | RegExp;
  /** Changes nothing: what it asks for is asked for again by itself. */
  readonly reads?: true;
  /** What is on the page only once it is done. */
  readonly done: (page: Page) => Locator;
  readonly ready?: (page: Page, form: Locator) => Promise<void>;
}

const text = (says: string | RegExp) => (page: Page) => page.getByText(says).first();
const heading = (name: string) => (page: Page) => page.getByRole('heading', { name, exact: true });

const forms: { readonly [name: string]: Form } = {
  'a key': {
    path: '/keys',
    opens: 'Create key',
    in: ['dialog', 'Create key'],
    fields: { Label: 'typed before', 'Only for agents': 'shop-*', 'Ends after days': '3' },
    press: 'Create key',
    done: text(/^svk_production_[^…]*$/),
  },
  'a new channel': {
    path: '/channels',
    opens: 'Add channel',
    in: ['dialog', 'Add channel'],
    fields: {
      Name: 'typed before',
      Address: 'https://127.0.0.1/hook',
      Secret: 'typed too',
      Agents: 'shop-*',
    },
    press: 'Add channel',
    done: heading('typed before'),
  },
  'a channel that is changed': {
    path: '/channels?id=',
    in: ['dialog', 'Channel'],
    fields: { Name: 'changed before', Secret: 'a new secret' },
    press: 'Save channel',
    done: heading('changed before'),
  },
  'a composition': {
    path: '/compositions',
    opens: 'New composition',
    in: ['dialog', 'New composition'],
    fields: { Name: 'typed-before', Description: 'All of this stays' },
    press: 'Make composition',
    done: text('typed-before was made.'),
  },
  'a bundle': {
    path: '/bundles',
    opens: 'Upload bundle',
    in: ['dialog', 'Upload bundle'],
    document: '# typed into a bundle',
    press: 'Upload bundle',
    done: text(/ v1 is stored\./),
  },
  'a contract': {
    path: '/contracts',
    opens: 'New contract',
    in: ['dialog', 'New contract'],
    fields: { Id: 'typed-before', Name: 'Typed before', Tags: 'one, two', Description: 'All of this stays' },
    document: '# typed into a contract',
    press: 'Add contract',
    done: (page) => page.getByRole('dialog', { name: 'Contract typed-before' }),
  },
  'a next version of a contract': {
    path: '/contracts?id=watch-refunds',
    opens: 'Edit contract',
    in: ['dialog', 'Contract watch-refunds'],
    fields: { Description: 'Changed before' },
    document: '# typed into a version',
    press: 'Save as new version',
    done: text(/version 2,/),
  },
  'an import': {
    path: '/contracts',
    opens: 'Import bundle',
    in: ['dialog', 'Import bundle'],
    document: '# typed into an import',
    press: 'Import bundle',
    done: text(/contracts? added/),
  },
  'a rule of assignment': {
    path: '/agents?view=rules',
    opens: 'New rule',
    in: ['dialog', 'New rule'],
    fields: { Agents: 'typed-*', 'Tags that they must have': 'tier=gold', Priority: '7' },
    press: 'Add rule',
    done: (page) => page.getByRole('table').getByText('tier=gold'),
  },
  'an agent': {
    path: '/agents?id=shop-agent',
    in: ['dialog', 'Agent'],
    fields: { 'Display name': 'Typed before', Tags: 'tier=silver' },
    press: 'Save agent',
    done: text('The agent is changed.'),
  },
  'the question which bundle an agent gets': {
    path: '/agents?view=rules',
    fields: { 'Which bundle would this agent get?': 'asked-agent' },
    press: 'Find out',
    reads: true,
    done: text(/nothing assigns it/),
  },
  'a ruleset': {
    path: '/rulesets',
    opens: 'New ruleset',
    in: ['dialog', 'New ruleset'],
    document: '# typed into a ruleset',
    press: 'Save ruleset',
    done: text(/^v\d is saved/),
  },
  'a ruleset that is forced': {
    path: '/rulesets',
    opens: 'New ruleset',
    in: ['dialog', 'New ruleset'],
    // Its form is there once the document was refused.
    ready: async (page, form) => {
      await form.locator('.cm-content').click();
      await page.keyboard.press('ControlOrMeta+End');
      await page.keyboard.insertText(
        '\n  - {id: broken, type: pre, tool: refund, when: {argz.path: {equals: 1}}, then: {action: block, message: no}}',
      );
      await form.getByRole('button', { name: 'Save ruleset' }).press('Enter');
      await form.getByLabel('Reason').waitFor();
    },
    fields: { Reason: 'it must be' },
    press: 'Save it all the same',
    done: text(/^v\d is saved/),
  },
  'a question to the assistant': {
    path: '/contracts?id=watch-refunds',
    opens: 'Edit contract',
    in: ['dialog', 'Contract watch-refunds'],
    ready: (_, form) => form.getByRole('button', { name: 'Ask the assistant' }).click(),
    fields: { 'Question to the assistant': 'What was typed before?' },
    press: 'Ask',
    done: text('This is the answer.'),
  },
  'a value of a session': {
    path: '/runs?agent=sample-agent&session=sample-session',
    fields: { 'Another value, by its key': 'typed-key' },
    press: 'Look it up',
    reads: true,
    done: text('There is no value under'),
  },
  'a search in the audit': {
    path: '/audit',
    fields: { 'Who, by id': 'nobody-known' },
    press: 'Find',
    reads: true,
    done: text('No entry fits'),
  },
  'many decisions': {
    path: '/approvals?search=together_',
    in: ['region', 'Bulk decision'],
    fields: { 'Reason for all': 'looked at all' },
    press: 'Deny 2',
    done: text('2 calls denied.'),
    ready: (page) => page.getByRole('checkbox', { name: 'Select all 2' }).check(),
  },
  'one decision': {
    path: '/approvals?search=alone_',
    in: ['article', /^Approval of alone_/],
    fields: { Reason: 'looked at it' },
    press: /^Approve/,
    done: text('Approved by admin@example.com'),
  },
  'a forced deployment': {
    path: '/bundles?id=broken',
    opens: 'Deploy v1',
    in: ['dialog', 'Deploy broken'],
    fields: { Reason: 'it must be', 'Type production to force it': 'production' },
    press: 'Force it into production',
    done: text(/broken v1 is deployed to production/),
    ready: (_, form) => form.getByRole('button', { name: 'Deploy v1 to production' }).click(),
  },
  'a user': {
    path: '/settings',
    opens: 'Add user',
    in: ['dialog', 'Add user'],
    fields: { 'E-mail': 'typed@example.com', 'First password': 'typed horse battery' },
    press: 'Add user',
    done: text('typed@example.com can sign in now.'),
  },
  'the assistant': {
    path: '/settings',
    in: ['region', 'Assistant'],
    fields: { Model: 'a-model', 'API key of the provider': 'typed-key-of-a-provider' },
    press: 'Save assistant',
    done: text('The assistant is saved.'),
  },
  'a new signing key': {
    path: '/settings',
    opens: 'Rotate signing key',
    in: ['dialog', 'Rotate signing key'],
    fields: { 'Type rotate to go on': 'rotate' },
    press: 'Rotate signing key',
    done: text(/signed with the new key/),
  },
  'a purge': {
    path: '/settings',
    opens: 'Purge events',
    in: ['dialog', 'Purge events'],
    fields: { 'Type purge to go on': 'purge' },
    press: 'Purge events',
    done: text(/^no events removed/),
  },
  // Last: the next sign-in is with the new one.
  'the own password': {
    path: '/settings',
    in: ['region', 'Your password'],
    fields: { 'Present password': first, 'New password': second },
    press: 'Change password',
    done: text('Your password is changed.'),
  },
};

let seen: View;
let channel: string;
let provider: FakeProvider;

beforeAll(async () => {
  const post = async (path: string, body: object, who: object = { cookie }) => {
    const answer = await hub.call('POST', path, { ...who, body });
    expect(answer.status, path).toBeLessThan(300);
    return answer.body;
  };
  await post('/api/v1/contracts/import', { yaml_content: library });
  await post('/api/v1/compositions/shop/deploy', { env: 'production' });
  const { token } = (await hub.call('POST', '/api/v1/auth/operator-token', { cookie })).body;
  const Authorization = `Bearer ${token}`;
  expect((await fetch(`${hub.url}/v1/sample-run`, { method: 'POST', headers: { Authorization } })).ok).toBe(
    true,
  );
  await post('/api/v1/bundles', {
    yaml_content: library.replace('name: shop', 'name: broken').replace('args.path:', 'argz.path:'),
  });
  const config = { url: 'https://127.0.0.1/first', secret: 'a secret of ours' };
  ({ id: channel } = await post('/api/v1/notifications/channels', {
    name: 'to be changed',
    channel_type: 'webhook',
    config,
  }));
  const events = [{ call_id: 'c', agent_id: 'shop-agent', tool_name: 'refund', verdict: 'call_allowed' }];
  await post('/api/v1/events', { events }, { key, agent: 'shop-agent' });
  for (const tool of ['together_1', 'together_2', 'alone_1']) {
    await ask(hub, key, { tool_name: tool, timeout: 3_600 }, `agent-${tool}`);
  }
  provider = await startProvider();
  provider.play({ text: ['This is the answer.'] });
  const ai = { provider: 'hosted_a', api_key: 'k'.repeat(20), model: 'm', base_url: provider.url };
  expect((await hub.call('PUT', '/api/v1/settings/ai', { cookie, body: ai })).status).toBe(200);
  seen = await view(hub.url, { cookie: await hub.login() });
  // A socket that tells nothing of the end of a session: the press is what meets it.
  await seen.page.addInitScript('delete globalThis.SharedWorker');
  await seen.page.routeWebSocket(/stream\/dashboard/, (socket) => {
    const server = socket.connectToServer();
    server.onMessage((message) => {
      if (!isDeaf) socket.send(message);
    });
    server.onClose(() => undefined);
  });
});
afterAll(async () => {
  await seen?.context.close();
  await provider?.close();
});

let isDeaf = false;

/** As an admin who ends it, or its age: the hub knows it no more. */
async function endSession(): Promise<void> {
  isDeaf = true;
  const cookies = await seen.context.cookies(hub.url);
  const own = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  expect((await hub.call('POST', '/api/v1/auth/logout', { cookie: own })).status).toBeLessThan(300);
  expect((await hub.call('GET', '/api/v1/auth/me', { cookie: own })).status).toBe(401);
}

/** A session of its own, whatever became of the one before. */
async function begin(): Promise<void> {
  isDeaf = false;
  const [name = '', value = ''] = (await hub.login(undefined, password)).split('=');
  await seen.context.addCookies([{ name, value, url: hub.url, httpOnly: true }]);
}

async function signInAgain(): Promise<void> {
  const again = seen.page.getByRole('dialog', { name: 'Sign in again' });
  await again.getByLabel('Password').fill(password);
  isDeaf = false;
  await again.getByRole('button', { name: 'Sign in' }).click();
  await again.waitFor({ state: 'hidden' });
}

describe('a session that ends', () => {
  it.each(Object.entries(forms))('under the form of %s', async (_, form) => {
    const { page } = seen;
    await begin();
    await page.goto(`/dashboard${form.path === '/channels?id=' ? `${form.path}${channel}` : form.path}`);
    await page.locator('.live-live').waitFor();
    if (form.opens) await page.getByRole('button', { name: form.opens, exact: true }).first().click();
    const place = form.in
      ? page.getByRole(form.in[0], { name: form.in[1], exact: typeof form.in[1] === 'string' })
      : page.locator('body');
    await form.ready?.(page, place);
    const fields = Object.entries(form.fields ?? {});
    for (const [label, value] of fields) await place.getByLabel(label, { exact: true }).fill(value);
    const line = place.locator('.cm-line').filter({ hasText: form.document ?? '' });
    if (form.document) {
      await place.locator('.cm-content').click();
      await page.keyboard.press('ControlOrMeta+End');
      await page.keyboard.insertText(`\n${form.document}`);
      await line.first().waitFor();
    }
    const button = place.getByRole('button', { name: form.press, exact: typeof form.press === 'string' });
    await endSession();
    // By key: a list of the editor may lie over it.
    await button.press('Enter');
    await signInAgain();
    for (const [label, value] of fields) {
      expect(await place.getByLabel(label, { exact: true }).inputValue()).toBe(value);
    }
    if (form.document) await line.first().waitFor();
    if (!form.reads) await button.press('Enter');
    await form.done(page).waitFor();
    if (form.fields?.['New password']) password = second;
    noFaults(seen);
  });

  it('under the playground, whose document, call and case stay', async () => {
    const { page } = seen;
    await begin();
    await page.goto('/dashboard/playground');
    const cases = page.getByRole('region', { name: 'Cases' });
    await cases.getByLabel('Keep this call as').fill('typed case');
    await page.getByText(/The hub says \w+ too/).waitFor();
    await endSession();
    // The hub is asked of what is typed, a moment after the last key.
    await page.locator('.cm-content').first().click();
    await page.keyboard.press('ControlOrMeta+End');
    await page.keyboard.insertText('\n# typed into the playground');
    await signInAgain();
    await page.getByRole('button', { name: 'Ask the hub again' }).click();
    await page.getByText(/The hub says \w+ too/).waitFor();
    await page.locator('.cm-line').filter({ hasText: '# typed into the playground' }).first().waitFor();
    await cases.getByRole('button', { name: 'Keep' }).click();
    await cases.getByRole('table').getByText('typed case').waitFor();
    noFaults(seen);
  });

  it('under the live tail, which opens again', async () => {
    const { page } = seen;
    await begin();
    await page.goto('/dashboard/events?view=tail');
    await page.getByText('Waiting for the next event.').waitFor();
    await endSession();
    await page.getByText('The hub refused the tail.').waitFor();
    await signInAgain();
    await page.getByText('Waiting for the next event.').waitFor();
    noFaults(seen);
  });
});
