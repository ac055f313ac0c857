// A hub that stands still keeps its connections open and sends nothing: the console calls itself stale, an action says
// that its outcome is unknown, and both end when the hub goes on.
import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { SilenceTimer } from '../../src/dashboard/live/silence.ts';
import { ManualClock } from '../clock.ts';
import { itAtNight } from '../runs.ts';
import { accessible, ask, go, noFaults, view } from './browser.ts';
import { hubWithKey } from './file-hub.ts';

const { hub, cookie, key } = await hubWithKey();

const stopHub = (): boolean | undefined => hub.child?.kill('SIGSTOP');
const continueHub = (): boolean | undefined => hub.child?.kill('SIGCONT');

/** A page whose clock the test moves: the connection is the page's own, because a worker keeps the browser's time. */
async function opened(path: string) {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.addInitScript('delete globalThis.SharedWorker');
  await page.clock.install();
  await page.goto(path);
  await page.locator('.live-live').waitFor();
  return { visit, page };
}

const reason = 'The hub is not responding. Wait until the connection returns.';

const status = (page: Page, text: RegExp) => page.getByRole('status').filter({ hasText: text });

describe('a hub that stands still', { timeout: 60_000 }, () => {
  it('makes the console stale after two keepalives, and live again within 5 s of its return', async () => {
    const { visit, page } = await opened('/dashboard/admin/keys');
    const create = page.getByRole('button', { name: 'Create key' });
    await create.waitFor();
    stopHub();
    await page.clock.fastForward(31_000);
    await status(page, /^Stale since \d\d:\d\d$/).waitFor();
    await page.getByText(/^The hub has not responded since/).waitFor();
    await accessible(page);
    await expect.poll(() => create.getAttribute('title')).toBe(reason);
    // The time of another day has its day.
    await page.clock.fastForward('25:00:00');
    await status(page, /^Stale since \d\d [A-Z][a-z]+ \d\d:\d\d$/).waitFor();
    await page.getByText(/^The hub has not responded since \d\d [A-Z][a-z]+ \d\d:\d\d\./).waitFor();
    // The tries that failed meanwhile make the next one no later.
    for (let n = 0; n < 12; n += 1) await page.clock.fastForward(10_000);
    continueHub();
    const returnedAt = Date.now();
    await page.locator('.live-live').waitFor();
    expect(Date.now() - returnedAt).toBeLessThan(5_000);
    await expect.poll(() => create.getAttribute('title')).toBeNull();
    noFaults(visit);
    await visit.context.close();
  });

  it('leaves off each control that changes something, and no reading of evidence', async () => {
    const listing = { agent_id: 'silent-agent', server: 'silent-server', tools: [] };
    await hub.call('POST', '/api/v1/tool-observations', { key, agent: 'silent-agent', body: listing });
    const body = { page: 'explore', name: 'Silent', query: 'tool:silent' };
    expect((await hub.call('POST', '/api/v1/views', { cookie, body })).status).toBe(201);
    const { visit, page } = await opened('/dashboard/admin/environments');
    const off: { readonly [path: string]: () => Locator } = {
      '/tools?view=settings': () => page.getByLabel('Mode of production'),
      '/explore?q=tool%3Asilent': () => page.getByRole('button', { name: 'Delete view Silent' }),
      '/admin/environments': () => page.getByLabel('Protect production'),
    };
    const open = async (path: string): Promise<void> => {
      await go(page, path);
      if (path.startsWith('/explore')) await page.getByRole('button', { name: 'Save view' }).click();
    };
    const evidence = () => page.getByRole('button', { name: 'Download range' });
    for (const [path, control] of Object.entries(off)) {
      await open(path);
      await expect.poll(() => control().isEnabled()).toBe(true);
      await page.keyboard.press('Escape');
    }
    await go(page, '/evidence');
    await evidence().waitFor();
    stopHub();
    await page.clock.fastForward(31_000);
    await status(page, /^Stale since \d\d:\d\d$/).waitFor();
    expect(await evidence().isEnabled()).toBe(true);
    for (const [path, control] of Object.entries(off)) {
      await open(path);
      await expect.poll(() => control().isDisabled()).toBe(true);
      expect(await control().getAttribute('title')).toBe(reason);
      await page.keyboard.press('Escape');
    }
    continueHub();
    await page.locator('.live-live').waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it('leaves an action without an answer, which says after 10 s that it may have been done', async () => {
    const id = await ask(hub, key, { tool_name: 'stands_still', timeout: 3_600 });
    const { visit, page } = await opened(`/dashboard/approvals/${id}`);
    const card = page.getByRole('article');
    await card.getByRole('button', { name: /^Approve/ }).waitFor();
    stopHub();
    await card.getByRole('button', { name: /^Approve/ }).click();
    const words = card.getByText(/has not answered for 10 s\. Your decision may have taken effect\./);
    await page.clock.fastForward(9_000);
    expect(await words.count()).toBe(0);
    await page.clock.fastForward(2_000);
    await words.waitFor();
    await accessible(page);
    continueHub();
    await card.getByText('Approved by admin@example.com').waitFor();
    expect(await words.count()).toBe(0);
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight('says the same of every other action, and gives its answer up after a minute', async () => {
    const { visit, page } = await opened('/dashboard/admin/keys');
    await page.getByRole('button', { name: 'Create key' }).click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Label').fill('while it stands still');
    stopHub();
    await form.getByRole('button', { name: 'Create key' }).click();
    await page.clock.fastForward(11_000);
    const words = page.getByText(/has not answered for 10 s\. Your action may have taken effect/);
    await words.waitFor();
    await page.clock.fastForward(50_000);
    await form.getByText(/so your action may have taken effect/).waitFor();
    expect(await words.count()).toBe(0);
    continueHub();
    await page.locator('.live-live').waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight('breaks the live tail off, which goes on afterwards', async () => {
    const { visit, page } = await opened('/dashboard/explore?view=tail');
    await page.getByText('No new events yet').waitFor();
    stopHub();
    await page.clock.fastForward(31_000);
    await page.getByText(/Connection lost, reconnecting/).waitFor();
    continueHub();
    await page.getByText('No new events yet').waitFor();
    noFaults(visit);
    await visit.context.close();
  });
});

describe('the timer of silences', () => {
  it('ends what is not open in time, and what hears nothing for two keepalives', () => {
    const clock = new ManualClock();
    const ends: number[] = [];
    const begin = (): SilenceTimer => new SilenceTimer(clock, (lastHeardAt) => ends.push(lastHeardAt));
    const start = clock.now();
    begin();
    clock.advance(8_000);
    expect(ends).toEqual([start]);
    const silence = begin();
    clock.advance(7_999);
    silence.open();
    for (let n = 0; n < 20; n += 1) {
      clock.advance(29_999);
      silence.hear();
    }
    expect(ends).toHaveLength(1);
    const lastHeardAt = clock.now();
    clock.advance(30_000);
    expect(ends).toEqual([start, lastHeardAt]);
    begin().stop();
    clock.advance(60_000);
    expect(ends).toHaveLength(2);
  });
});
