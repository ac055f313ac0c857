// A session that ends under every form of the console, before the page hears of it: what was typed stays, the password
// is asked for over it, and the same press succeeds then.
import type { Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FakeProvider, startProvider } from '../ai-provider.ts';
import { itAtNight, rowsOfCommit } from '../runs.ts';
import { ask, noFaults, type View, view } from './browser.ts';
import { tenantWithKey } from './file-hub.ts';
import { first, forms, second } from './forms.ts';
import { library } from './seed.ts';

const { hub, cookie, key } = await tenantWithKey();
let password = first;

let visit: View;
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
  await post('/api/v1/sample-run', {});
  const broken = library.replace('name: shop', 'name: broken').replace('args.path:', 'argz.path:');
  await post('/api/v1/bundles', { yaml_content: broken });
  const config = { url: 'https://127.0.0.1/first', secret: 'a secret of ours' };
  const asMade = { name: 'to be changed', channel_type: 'webhook', config };
  ({ id: channel } = await post('/api/v1/notifications/channels', asMade));
  const events = [{ call_id: 'c', agent_id: 'shop-agent', tool_name: 'refund', verdict: 'call_allowed' }];
  await post('/api/v1/events', { events }, { key, agent: 'shop-agent' });
  for (const tool of ['together_1', 'together_2', 'alone_1']) {
    await ask(hub, key, { tool_name: tool, timeout: 3_600 }, `agent-${tool}`);
  }
  provider = await startProvider();
  provider.play({ text: ['This is the answer.'] });
  const ai = { provider: 'hosted_a', api_key: 'k'.repeat(20), model: 'm', base_url: provider.url };
  expect((await hub.call('PUT', '/api/v1/settings/ai', { cookie, body: ai })).status).toBe(200);
  visit = await view(hub.url, { cookie: await hub.login() });
  visit.page.on('request', (asked) => {
    if (/\/(api\/)?v1\//.test(asked.url()) && !asked.url().includes('/stream')) underWay.add(asked);
  });
  for (const end of ['requestfinished', 'requestfailed'] as const) {
    visit.page.on(end as 'requestfinished', (asked) => underWay.delete(asked));
  }
  // A socket that tells nothing of the end of a session: the press is what meets it.
  await visit.page.addInitScript('delete globalThis.SharedWorker');
  await visit.page.routeWebSocket(/stream\/dashboard/, (socket) => {
    const server = socket.connectToServer();
    server.onMessage((message) => {
      if (!isDeaf) socket.send(message);
    });
    server.onClose(() => undefined);
  });
});
afterAll(async () => {
  await visit?.context.close();
  await provider?.close();
});

let isDeaf = false;
/** The page's requests without an answer yet. */
const underWay = new Set<Request>();

async function ownCookie(): Promise<string> {
  const cookies = await visit.context.cookies(hub.url);
  return cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
}

/** As an admin who ends it, or its age: the hub knows it no more. */
async function endSession(): Promise<void> {
  // An answer that comes later would meet the end before the press does.
  await expect.poll(() => underWay.size).toBe(0);
  isDeaf = true;
  const cookie = await ownCookie();
  expect((await hub.call('POST', '/api/v1/auth/logout', { cookie })).status).toBeLessThan(300);
  expect((await hub.call('GET', '/api/v1/auth/me', { cookie })).status).toBe(401);
}

/** The session of the form before goes on, or there is a new one where that form failed. */
async function signIn(): Promise<void> {
  isDeaf = false;
  if ((await hub.call('GET', '/api/v1/auth/me', { cookie: await ownCookie() })).status === 200) return;
  const [name = '', value = ''] = (await hub.login(undefined, password)).split('=');
  await visit.context.addCookies([{ name, value, url: hub.url, httpOnly: true }]);
}

/** In the dialog over the page. @param onAsked when it is there and can be sent */
async function signInAgain(onAsked: () => void = () => undefined): Promise<void> {
  const again = visit.page.getByRole('dialog', { name: 'Sign in again' });
  await again.getByLabel('Password').fill(password);
  onAsked();
  isDeaf = false;
  await again.getByRole('button', { name: 'Sign in' }).click();
  await again.waitFor({ state: 'hidden' });
}

const choice = rowsOfCommit(Object.entries(forms), 1);

describe(`a session that ends (SEED=${choice.seed})`, () => {
  it.each(choice.rows)('under the form of %s', async (_, form) => {
    const { page } = visit;
    await signIn();
    await page.goto(`/dashboard${form.path === '/admin/channels/' ? `${form.path}${channel}` : form.path}`);
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
    // A plan is off until its impact is known.
    await expect.poll(() => button.isEnabled()).toBe(true);
    await endSession();
    let isPressed = false;
    // By key: a list of the editor may lie over it.
    const press = button.press('Enter').then(() => (isPressed = true));
    // Awaited below, where nothing fails before.
    press.catch(() => undefined);
    // The page's pending request may have met the end before: then the press waits until the form can be reached again.
    let hadPressed = false;
    await signInAgain(() => {
      hadPressed = isPressed;
    });
    if (hadPressed) {
      for (const [label, value] of fields) {
        expect(await place.getByLabel(label, { exact: true }).inputValue()).toBe(value);
      }
      if (form.document) await line.first().waitFor();
      if (!form.reads) await button.press('Enter');
    }
    await press;
    await form.done(page).waitFor();
    if (form.fields?.['New password']) password = second;
    noFaults(visit);
  });

  itAtNight('under the playground, whose document, call and case stay', async () => {
    const { page } = visit;
    await signIn();
    await page.goto('/dashboard/test');
    const cases = page.getByRole('region', { name: 'Cases' });
    await cases.getByLabel('Case name').fill('typed case');
    await page.getByText(/same result, \w+/).waitFor();
    await endSession();
    // The hub is asked of what is typed, a moment after the last key.
    await page.locator('.cm-content').first().click();
    await page.keyboard.press('ControlOrMeta+End');
    await page.keyboard.insertText('\n# typed into the playground');
    await signInAgain();
    await page.getByRole('button', { name: 'Retry comparison' }).click();
    await page.getByText(/same result, \w+/).waitFor();
    await page.locator('.cm-line').filter({ hasText: '# typed into the playground' }).first().waitFor();
    await cases.getByRole('button', { name: 'Save case' }).click();
    await cases.getByRole('table').getByText('typed case').waitFor();
    noFaults(visit);
  });

  it('under the live tail, which opens again', async () => {
    const { page } = visit;
    await signIn();
    await page.goto('/dashboard/explore?view=tail');
    await page.getByText(/^No events since the tail opened/).waitFor();
    await endSession();
    await page.getByText('The hub rejected the live tail').waitFor();
    await signInAgain();
    await page.getByText(/^No events since the tail opened/).waitFor();
    noFaults(visit);
  });
});
