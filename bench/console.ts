// The web console in a real browser beside a real hub process on the same machine: how soon Home is usable, how soon
// another person's decision and a filter are on the screen, how evenly frames come while events arrive, and whether
// memory grows. Usage: npm run build && node --conditions=reeve-source --import tsx bench/console.ts [--rows 1000000]
// [--agents 5000] [--seconds 20] [--minutes 0]
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { systemClock } from '../adapters/node/clock.ts';
import { ask, browser, startedHub, view } from '../test/dashboard/browser.ts';
import { isMet, lineOf, median, percentile, round, type Verdict } from './numbers.ts';

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    agents: { type: 'string', default: '5000' },
    /** Of the arriving events, and of the idle page before them. */
    seconds: { type: 'string', default: '20' },
    /** The heap is measured after 2 minutes and after so many; 0: not at all. */
    minutes: { type: 'string', default: '0' },
  },
});
const rows = Number(values.rows);
const agents = Number(values.agents);
const seconds = Number(values.seconds);
const minutes = Number(values.minutes);

const batch = 10_000;
const repeats = 5;
const decisions = 20;
const pause = (ms: number): Promise<void> => new Promise((resolve) => void systemClock.after(ms, resolve));
const print = (text: string): void => void process.stdout.write(`${text}\n`);

const { hub, cookie } = await startedHub();
const { key } = await hub.key(cookie);
let sent = 0;
let approvals = 0;

async function send(count: number, spreadSeconds: number): Promise<void> {
  const events = Array.from({ length: count }, () => {
    sent += 1;
    return {
      call_id: `bench-${sent}`,
      agent_id: `agent-${sent % agents}`,
      tool_name: `tool_${sent % 40}`,
      verdict: sent % 9 === 0 ? 'call_denied' : 'call_allowed',
      mode: 'enforce',
      timestamp: new Date(systemClock.now() - (sent % Math.max(1, spreadSeconds)) * 1000).toISOString(),
      payload: {
        tool_args: { path: `/srv/file-${sent}` },
        decision_name: sent % 9 === 0 ? 'no-secrets' : null,
      },
    };
  });
  const { status } = await hub.call('POST', '/api/v1/events', { key, agent: 'bench', body: { events } });
  if (status !== 200) throw new Error(`the events were refused: ${status}`);
}

/** How long the work takes, in milliseconds. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const before = performance.now();
  await work();
  return performance.now() - before;
}

const firstFigure = (page: Page) =>
  page.locator('.figure', { hasText: 'Events in 24 h' }).locator('.figure-value', { hasText: /\d/ });

async function homeMs(): Promise<number> {
  const seen = await view(hub.url, { cookie });
  const ms = await timed(async () => {
    await seen.page.goto('/dashboard/', { waitUntil: 'commit' });
    await firstFigure(seen.page).waitFor();
  });
  await seen.context.close();
  return ms;
}

async function decisionMs(page: Page): Promise<number> {
  approvals += 1;
  // Each of another agent: the hub bounds how often one may ask.
  const id = await ask(hub, key, { timeout: 600 }, `asking-${approvals}`);
  await page.goto(`/dashboard/approvals?id=${id}`);
  await page.getByRole('button', { name: /^Approve/ }).waitFor();
  await page
    .getByRole('status')
    .filter({ hasText: /^Live$/ })
    .waitFor();
  await hub.call('PUT', `/api/v1/approvals/${id}`, { cookie, body: { approved: true } });
  return timed(() => page.getByText('Approved by admin@example.com').first().waitFor());
}

async function filterMs(page: Page, tool: string): Promise<number> {
  await page.goto('/dashboard/events');
  const facet = page.locator('.facets').getByRole('button', { name: new RegExp(`^${tool} `) });
  const more = page.locator('.facet', { hasText: 'Tool' }).getByRole('button', { name: /more$/ });
  await more.click();
  await facet.click({ trial: true });
  await page.evaluate(
    `window.pressedAt = 0; addEventListener('click', () => { window.pressedAt = performance.now(); }, { capture: true, once: true })`,
  );
  await facet.click();
  // Until every row that is drawn is of this tool.
  return Number(
    await page.evaluate(`new Promise((done) => {
      const look = () => {
        const cells = [...document.querySelectorAll('.events-list .cell-link')];
        const fits = cells.length > 0 && cells.every((cell) => cell.textContent === '${tool}');
        if (fits) done(performance.now() - window.pressedAt);
        else requestAnimationFrame(look);
      };
      look();
    })`),
  );
}

interface Evenness {
  readonly p95: number;
  readonly longest: number;
}

/** Frames of the page for so long, while `work` goes on. */
async function frames(page: Page, ms: number): Promise<Evenness> {
  const found = (await page.evaluate(`new Promise((done) => {
    const gaps = []; let longest = 0; let last = performance.now(); const end = last + ${ms};
    new PerformanceObserver((list) => { for (const one of list.getEntries()) longest = Math.max(longest, one.duration); }).observe({ entryTypes: ['longtask'] });
    const turn = (at) => { gaps.push(at - last); last = at; at < end ? requestAnimationFrame(turn) : done({ gaps: gaps.slice(1), longest }); };
    requestAnimationFrame(turn);
  })`)) as { readonly gaps: readonly number[]; readonly longest: number };
  return { p95: round(percentile(found.gaps, 0.95)), longest: round(found.longest) };
}

/** 1,000 events a second until it is told to stop. */
function pour(): () => Promise<void> {
  let on = true;
  const done = (async () => {
    while (on) {
      const took = await timed(() => send(100, 1));
      await pause(Math.max(0, 100 - took));
    }
  })();
  return async () => {
    on = false;
    await done;
  };
}

async function heapBytes(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize;
}

const verdicts: Verdict[] = [];
try {
  print(`Storing ${rows} events of ${agents} agents…`);
  for (let left = rows; left > 0; left -= batch) await send(Math.min(batch, left), 86_000);
  await homeMs();
  const home: number[] = [];
  for (let n = 0; n < repeats; n += 1) home.push(await homeMs());
  verdicts.push({
    what: 'Home usable, median of five',
    value: round(median(home), 0),
    unit: ' ms',
    atMost: 1_000,
  });
  const seen = await view(hub.url, { cookie });
  const { page } = seen;
  const decided: number[] = [];
  for (let n = 0; n < decisions; n += 1) decided.push(await decisionMs(page));
  verdicts.push({
    what: "another person's decision on the screen, p95",
    value: round(percentile(decided, 0.95), 0),
    unit: ' ms',
    atMost: 150,
  });
  const filtered: number[] = [];
  for (let n = 0; n < repeats; n += 1) filtered.push(await filterMs(page, `tool_${n + 7}`));
  verdicts.push({
    what: 'from a filter to its rows, median of five',
    value: round(median(filtered), 0),
    unit: ' ms',
    atMost: 300,
  });
  await page.goto('/dashboard/events?view=tail');
  await page.getByText('Waiting for the next event.').waitFor();
  const idle = await frames(page, Math.min(10, seconds) * 1000);
  print(`  an idle page: p95 between frames ${idle.p95} ms, longest task ${idle.longest} ms`);
  const stop = pour();
  await page.getByRole('table', { name: 'tail' }).waitFor();
  const busy = await frames(page, seconds * 1000);
  verdicts.push({ what: 'p95 between frames at 1,000 events/s', value: busy.p95, unit: ' ms', atMost: 33 });
  verdicts.push({ what: 'longest task at 1,000 events/s', value: busy.longest, unit: ' ms', atMost: 100 });
  if (minutes > 2) {
    await pause(2 * 60_000);
    const early = await heapBytes(page);
    await pause((minutes - 2) * 60_000);
    const growth = (await heapBytes(page)) / early - 1;
    verdicts.push({
      what: `heap, minute ${minutes} against 2`,
      value: round(growth * 100),
      unit: ' %',
      atMost: 10,
    });
  }
  await stop();
  await seen.context.close();
} finally {
  await (await browser()).close();
  await hub.remove();
}
for (const verdict of verdicts) print(lineOf(verdict));
process.exitCode = verdicts.every(isMet) ? 0 : 1;
