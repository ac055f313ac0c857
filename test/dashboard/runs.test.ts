// Runs in the console: one as a timeline, and its signed evidence verified in the browser by keys that the reader
// pinned.
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha256 } from '@noble/hashes/sha2.js';
import { afterAll, describe, expect, it } from 'vitest';
import { RunCounters } from '../../packages/agent/src/guard/counters.ts';
import type { SessionStore } from '../../packages/agent/src/sessions.ts';
import { itAtNight } from '../runs.ts';
import { accessible, go, noFaults, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';

const { hub, cookie } = await tenantOfFile();
const folder = mkdtempSync(join(tmpdir(), 'reeve-downloads-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The hub's values, as far as counting needs them. */
const hubStore = (key: string): SessionStore => {
  const path = (name: string): string => `/api/v1/sessions/${encodeURIComponent(name)}`;
  return {
    get: async (name) => (await hub.call('GET', path(name), { key })).body.value ?? null,
    set: async (name, value) => void (await hub.call('PUT', path(name), { key, body: { value } })),
    delete: async (name) => void (await hub.call('DELETE', path(name), { key })),
    increment: async (name, amount = 1) =>
      (await hub.call('POST', `${path(name)}/increment`, { key, body: { amount } })).body.value,
    batch: async (keys) =>
      new Map(
        Object.entries<string | null>(
          (await hub.call('POST', '/api/v1/sessions/batch', { key, body: { keys } })).body.values,
        ),
      ),
  };
};

describe('the runs page', () => {
  it('loads the sample run, explains its calls beside its history, and verifies its evidence by a pinned key', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/runs');
    await page.getByText('No runs yet').waitFor();
    await accessible(page);
    await page.getByRole('button', { name: 'Load sample run' }).click();
    await page.getByRole('table').getByRole('link', { name: 'sample-session' }).press('Enter');
    // The title counts no run of other environments and times.
    await go(page, '/runs?env=staging');
    await page.getByText('No runs match these filters').waitFor();
    expect(await page.locator('.page-head').textContent()).toBe('Runs');
    await page.goBack();
    const panel = page.getByRole('region', { name: /^Run / });
    const history = panel.getByRole('region', { name: 'History' });
    await history.getByText('denied', { exact: true }).first().waitFor();
    await history.getByRole('listitem').filter({ hasText: 'denied' }).getByText('.env').waitFor();
    await history.getByRole('listitem').filter({ hasText: 'denied' }).getByRole('button').click();
    const explain = panel.getByRole('region', { name: 'Explain' });
    await explain.getByText('block-env-files').first().waitFor();
    // A line and its number stand beside each other, as on the page of an event.
    const display = "getComputedStyle(document.querySelector('.explain-lines > li')).display";
    await expect.poll(() => page.evaluate(display)).toBe('flex');
    // The chosen step differs by its colours alone.
    const stepStyle = (step: string) =>
      page.evaluate(`(({ display }, { color }) => [display, color])(...['.step-what', '.step-time'].map((part) =>
        getComputedStyle(document.querySelector('.run-step' + ${JSON.stringify(step)} + ' ' + part))))`);
    const [chosen, other] = [await stepStyle('[aria-current]'), await stepStyle(':not([aria-current])')];
    expect([chosen, other]).toEqual([
      ['flex', expect.any(String)],
      ['flex', expect.any(String)],
    ]);
    expect(chosen).not.toEqual(other);
    await panel.getByRole('region', { name: 'Workflow' }).getByText('running').waitFor();
    await accessible(page);
    const evidence = panel.getByRole('region', { name: 'Seal' });
    await evidence.getByRole('button', { name: 'Verify run' }).click();
    await evidence.getByText('Intact, signer unknown.').waitFor();
    await evidence.getByRole('button', { name: 'Pin hub key' }).click();
    await evidence.getByText(/intact and signed by your pinned key .*verified with Web Crypto/).waitFor();
    await accessible(page);
    const download = page.waitForEvent('download');
    await evidence.getByRole('button', { name: 'Download bundle' }).click();
    const saved = await download;
    expect(saved.suggestedFilename()).toBe('decision-bundle-sample-agent-sample-session.json');
    // A file that somebody kept: as it was saved, changed by a letter, of another run, and of something else.
    const file = join(folder, 'bundle.json');
    await saved.saveAs(file);
    const take = () => evidence.getByLabel('Verify file').setInputFiles(file);
    await take();
    await evidence.getByText(/^Verified\./).waitFor();
    const whole = JSON.parse(readFileSync(file, 'utf8'));
    const payload = Buffer.from(whole.payload, 'base64').toString('utf8');
    const changed = Buffer.from(payload.replace('read_file', 'read_fire')).toString('base64');
    writeFileSync(file, JSON.stringify({ ...whole, payload: changed }));
    await take();
    await evidence.getByText(/Verification failed:.*the payload was changed/).waitFor();
    await accessible(page);
    writeFileSync(file, 'no JSON');
    await take();
    await evidence.getByText(/Verification failed:/).waitFor();
    // Whole, and not what the page is about.
    await hub.call('POST', '/api/v1/events', {
      key: (await hub.key(cookie)).key,
      agent: 'elsewhere',
      body: {
        events: [
          {
            call_id: 'elsewhere-1',
            agent_id: 'elsewhere',
            tool_name: 'search',
            verdict: 'call_allowed',
            payload: { session_id: 'run 2' },
          },
        ],
      },
    });
    writeFileSync(file, JSON.stringify(whole));
    await page.goto('/dashboard/runs/elsewhere/run%202?event=00000000-0000-4000-8000-000000000000');
    await page.getByRole('link', { name: 'The call of this address' }).waitFor();
    await take();
    await evidence.getByText('This bundle belongs to another run').waitFor();
    await accessible(page);
    noFaults(visit);
    await visit.context.close();
  });

  it('refuses a bundle that no pinned key signed, and checks with tweetnacl where Web Crypto is hidden', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    // As it is on plain http beyond this machine.
    await visit.context.addInitScript(
      `Object.defineProperty(Crypto.prototype, 'subtle', { value: undefined });`,
    );
    await page.goto('/dashboard/runs/sample-agent/sample-session');
    const evidence = page.getByRole('region', { name: 'Seal' });
    await evidence.getByText('no pinned keys').click();
    await evidence.getByLabel('Public key to pin').fill('58'.padEnd(64, '6'));
    await evidence.getByRole('button', { name: 'Pin key' }).click();
    await evidence.getByRole('button', { name: 'Verify run' }).click();
    await evidence.getByText(/Verification failed:.*not signed by a trusted key/).waitFor();
    await evidence.getByRole('button', { name: 'Pin hub key' }).click();
    await evidence.getByText(/intact and signed by your pinned key .*verified with tweetnacl/).waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it('shows the values that a session keeps in the hub, and any other by its key', async () => {
    const { key } = await hub.key(cookie);
    const events = ['search', 'mail it'].map((tool, n) => ({
      call_id: `valued-${n}`,
      agent_id: 'valued',
      tool_name: tool,
      verdict: 'call_allowed',
      payload: { session_id: 'run 1' },
    }));
    await hub.call('POST', '/api/v1/events', { key, agent: 'valued', body: { events } });
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/agents/valued/runs');
    const sessions = page.getByRole('region', { name: 'Runs' }).getByRole('table');
    await sessions.getByRole('button', { name: 'Session', exact: true }).click();
    await sessions
      .getByRole('columnheader', { name: 'Session' })
      .and(page.locator('[aria-sort=ascending]'))
      .waitFor();
    await page.getByRole('tab', { name: 'Values' }).click();
    const values = page.getByRole('region', { name: 'Session values' });
    await values.getByText(/No session counters in the hub/).waitFor();
    // As the agent's library counts.
    const counters = new RunCounters(hubStore(key), 'run 1', 'mail it');
    for (let n = 0; n < 3; n += 1) await counters.attempt();
    await counters.execution();
    await hub.call('PUT', '/api/v1/sessions/mine/1', { key, body: { value: 'a value of its own' } });
    // Told by the next event, not by asking.
    await hub.call('POST', '/api/v1/events', {
      key,
      agent: 'valued',
      body: { events: [{ ...events[0], call_id: 'valued-2' }] },
    });
    const row = (name: string) => values.locator('.fact').filter({ hasText: name });
    await row('Attempts').getByText('3').waitFor();
    await row('Executions of mail it').getByText('1').waitFor();
    expect(await row('search').count()).toBe(0);
    await values.getByLabel('Value key').fill('mine/1');
    await values.getByRole('button', { name: 'Find value' }).click();
    await values.getByText('a value of its own').waitFor();
    await accessible(page);
    await values.getByLabel('Value key').fill('not-there');
    await values.getByRole('button', { name: 'Find value' }).click();
    await values.getByText('No value found for the key not-there.').waitFor();
    await page.goto('/dashboard/runs/valued/run%201');
    await row('Attempts').getByText('3').waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight(
    'has a lane for each child run, and lists runs with their verdicts and the mark of a verified seal',
    async () => {
      const { key } = await hub.key(cookie);
      const started = Date.now() - 600_000;
      const call = (n: number, session: string, more: object) => ({
        ...{ call_id: `${session}-${n}`, agent_id: 'mother', tool_name: 'search', verdict: 'call_allowed' },
        timestamp: new Date(started + n * 1000).toISOString(),
        ...more,
      });
      const calls = Array.from({ length: 8 }, (_, n) =>
        call(n * 60, 'parent', {
          verdict: n === 3 ? 'call_denied' : 'call_allowed',
          payload: { session_id: 'parent', ...(n === 3 ? {} : { tool_success: true, duration_ms: 40 }) },
        }),
      );
      const children = Array.from({ length: 3 }, (_, n) =>
        call(60 + n, `child-${n}`, {
          ...(n === 2 ? { agent_id: 'helper' } : {}),
          payload: { session_id: `child-${n}`, parent_session_id: 'parent' },
        }),
      );
      await hub.call('POST', '/api/v1/events', {
        key,
        agent: 'mother',
        body: { events: [...calls, ...children] },
      });
      const visit = await view(hub.url, { cookie });
      const { page } = visit;
      // Pages of the timeline that are shorter than the run.
      await page.route(/\/timeline\?/, (route) =>
        route.continue({ url: route.request().url().replace('limit=1000', 'limit=3') }),
      );
      await page.goto('/dashboard/runs/mother/parent');
      const lanes = page.getByRole('region', { name: 'Timeline' });
      await lanes.getByText('8 calls', { exact: true }).waitFor();
      await lanes.getByText('search denied, +3 min').waitFor({ state: 'attached' });
      await lanes.getByText('search allowed, +1 min, took 40 ms').waitFor({ state: 'attached' });
      await expect
        .poll(() => lanes.getByRole('term').allTextContents())
        .toEqual(['8 calls', 'child-0', 'child-1', 'child-2helper']);
      await lanes.getByText('1 call, +1 min to +1 min').first().waitFor({ state: 'attached' });
      await page.getByRole('main').getByRole('img', { name: '1 denied, 7 allowed' }).waitFor();
      await page
        .getByText('Choose a call in the history to see why it was allowed, denied or asked.')
        .waitFor();
      await page.getByRole('button', { name: 'Verify run' }).click();
      await page.getByRole('status', { name: 'Verification result' }).waitFor();
      await accessible(page);
      await page.getByRole('link', { name: 'View all runs' }).click();
      const row = (name: RegExp) => page.getByRole('row').filter({ has: page.getByRole('link', { name }) });
      const parent = row(/: parent$/);
      await parent.getByRole('link', { name: 'Intact, signer unknown: parent' }).waitFor();
      await parent.getByRole('img', { name: '1 denied, 7 allowed' }).waitFor();
      await parent.getByText('7 min', { exact: true }).waitFor();
      await row(/^Not verified yet: child-0/).waitFor();
      await accessible(page);
      await page.goto('/dashboard/runs/mother/parent');
      await lanes.getByRole('link', { name: 'child-2' }).click();
      await page.waitForURL(/runs\/helper\/child-2/);
      // A chosen event is part of the address.
      await page.getByRole('region', { name: 'History' }).getByRole('button').first().click();
      await page.waitForURL(/event=/);
      await page.reload();
      await page
        .getByRole('region', { name: 'Explain' })
        .getByText('No contract decided this call.')
        .waitFor();
      noFaults(visit);
      await visit.context.close();
    },
  );

  itAtNight('reads 2,000 runs of a busy range by itself, and further ones at a press', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    // Pages of 500 runs, each of which has a next one.
    let first: Promise<{ runs: readonly object[] }> | null = null;
    await page.route(/\/v1\/runs\?/, async (route) => {
      first ??= route.fetch().then((response) => response.json());
      const { runs, ...reply } = await first;
      const number = Number(/cursor=page-(\d+)/.exec(route.request().url())?.[1] ?? 0);
      const many = Array.from({ length: 500 }, (_, n) => ({
        ...runs[0],
        session_id: `busy-${number}-${n}`,
        last_activity_at: new Date().toISOString(),
      }));
      await route.fulfill({ json: { ...reply, runs: many, next_cursor: `page-${number + 1}` } });
    });
    // A sort reads all pages.
    await page.goto('/dashboard/runs?sort=agent');
    await page.getByText('2,000 runs of this range among the newest 2,000').waitFor();
    await page.getByRole('button', { name: 'Search further' }).click();
    await page.getByText('7,000 runs of this range among the newest 7,000').waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it('says what is not there, and filters by status in the address', async () => {
    const visit = await view(hub.url, { cookie, width: 360, height: 740 });
    const { page } = visit;
    await page.goto('/dashboard/runs/nobody/nothing');
    await page.getByText('This run does not exist.').waitFor();
    await page.goto('/dashboard/runs?status=stale');
    await page.getByText('No runs match these filters').waitFor();
    await accessible(page);
    noFaults(visit);
    await visit.context.close();
  });

  it('hashes as Node does where Web Crypto is hidden', () => {
    for (const length of [0, 1, 55, 56, 63, 64, 65, 119, 120, 1_000]) {
      const bytes = Uint8Array.from({ length }, (_, i) => (i * 31) % 256);
      expect(Buffer.from(sha256(bytes)).toString('hex')).toBe(
        createHash('sha256').update(bytes).digest('hex'),
      );
    }
  });
});
