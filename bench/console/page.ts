// Measurements inside the page, by its own clock: times until something is on the screen, evenness of frames, bytes of
// the load.
import type { BrowserContext, Page } from 'playwright-core';

/** @param share 0 to 1 */
function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

const round = (value: number, digits = 1): number => Number(value.toFixed(digits));

/** Conditions of a loaded Home, as expressions for the page. */
const shows = {
  /** The figures: somebody sees how many calls wait, were made and were denied. */
  usable:
    "['Pending approvals', 'Calls', 'Denied'].every((name) => [...document.querySelectorAll('.figure')].some((one) => " +
    "one.querySelector('.figure-name')?.textContent === name && " +
    "/\\d/.test(one.querySelector('.figure-value').textContent)))",
  /** The lanes and the lists of most denials too. */
  whole:
    'document.querySelector(\'section[aria-label="Calls over time"] figure\') !== null && ' +
    "document.querySelector('.top-rows .sparkline') !== null",
};

/** Milliseconds since the navigation began. */
export interface HomeTimes {
  readonly usable: number;
  readonly whole: number;
  readonly firstPaint: number;
  /** When the last script of the first page was there. */
  readonly scripts: number;
  /** Of the processor, on the page's main thread. */
  readonly busy: number;
  /** Each answer of the API: when it was asked for, and when it was there. */
  readonly answers: readonly { readonly path: string; readonly from: number; readonly to: number }[];
  /** Bytes over the wire until Home was usable. */
  readonly bytes: number;
}

/** A busy machine may refuse the counts: then the charts never come. */
const patienceMs = 30_000;

const until = (page: Page, what: keyof typeof shows): Promise<unknown> =>
  page.evaluate(`new Promise((done) => {
    const look = () => window.marks?.${what} || performance.now() > ${patienceMs} ? done() : setTimeout(look, 10);
    look();
  })`);

/** Loads Home in a browser context that has nothing in its cache. */
export async function loadHome(context: BrowserContext): Promise<HomeTimes> {
  const page = await context.newPage();
  await page.addInitScript(`window.marks = {};
    const look = () => {
      if (!marks.usable && ${shows.usable}) marks.usable = performance.now();
      if (!marks.whole && ${shows.whole}) marks.whole = performance.now();
      if (!marks.usable || !marks.whole) requestAnimationFrame(look);
    };
    requestAnimationFrame(look);`);
  const session = await context.newCDPSession(page);
  await session.send('Network.enable');
  const work = await countWork(page);
  let bytes = 0;
  session.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  await page.goto('/dashboard/', { waitUntil: 'commit' });
  await until(page, 'usable');
  const bytesThen = bytes;
  await until(page, 'whole');
  const busy = await work();
  const times = (await page.evaluate(`({
    usable: marks.usable ?? 1e9,
    whole: marks.whole ?? 1e9,
    firstPaint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0,
    resources: performance.getEntriesByType('resource').map(({ name, startTime, responseEnd }) => ({
      path: new URL(name).pathname, from: Math.round(startTime), to: Math.round(responseEnd) })),
  })`)) as {
    readonly usable: number;
    readonly whole: number;
    readonly firstPaint: number;
    readonly resources: HomeTimes['answers'];
  };
  await page.close();
  const scripts = times.resources.filter(({ path, from }) => path.endsWith('.js') && from < times.usable);
  return {
    usable: times.usable,
    whole: times.whole,
    firstPaint: times.firstPaint,
    scripts: Math.max(...scripts.map(({ to }) => to)),
    busy,
    answers: times.resources.filter(({ path }) => path.startsWith('/api/')),
    bytes: bytesThen,
  };
}

/** When a text is on the screen, in epoch milliseconds; ask before what brings it. */
export const whenShown = (page: Page, text: string): Promise<number> =>
  page.evaluate(`new Promise((done) => {
    const look = () => document.body.textContent.includes(${JSON.stringify(text)}) ? done(Date.now()) : requestAnimationFrame(look);
    look();
  })`) as Promise<number>;

export interface FilterTimes {
  /** From a press on a facet's value until every row that is drawn has it. */
  readonly ms: number;
  /** Of the processor meanwhile: on the page's main thread, and what `other` counts. */
  readonly busy: number;
  readonly other: number;
}

/**
 * @param facet label of the facet and of its column
 * @param nth of the facet's values, from 0
 * @param other milliseconds of processors that somebody else has used
 */
export async function filterTimes(
  page: Page,
  facet: string,
  nth: number,
  other: () => number,
): Promise<FilterTimes> {
  await page.goto('/dashboard/explore');
  const values = page
    .locator('.facet', { has: page.locator('summary', { hasText: facet }) })
    .locator('.facet-value');
  // A busy machine may end the counting before the facets are known.
  const again = page.locator('.facets').getByRole('button', { name: 'Retry' });
  while ((await values.count()) <= nth) {
    await values.nth(nth).or(again).first().waitFor({ timeout: 60_000 });
    if ((await again.count()) > 0) await again.click();
  }
  await page.locator('.events-list [role=row]').nth(5).waitFor();
  await page.evaluate(`window.pressedAt = 0;
    addEventListener('click', () => { window.pressedAt = performance.now(); }, { capture: true, once: true })`);
  const value = (await values.nth(nth).locator(':scope > :first-child').textContent()) ?? '';
  const work = await countWork(page);
  const before = other();
  await values.nth(nth).click();
  const ms = Number(
    await page.evaluate(`new Promise((done) => {
      const value = ${JSON.stringify(value)};
      const look = () => {
        const heads = [...document.querySelectorAll('.events-list [role=columnheader]')];
        const column = heads.findIndex((head) => head.textContent.startsWith(${JSON.stringify(facet)}));
        const rows = [...document.querySelectorAll('.events-list [role=row]')].slice(1);
        const fits = rows.length > 0 && rows.every((row) => row.children[column]?.textContent === value);
        if (fits) done(performance.now() - window.pressedAt);
        else requestAnimationFrame(look);
      };
      look();
    })`),
  );
  return { ms, other: other() - before, busy: await work() };
}

export interface Evenness {
  readonly p95: number;
  readonly longest: number;
}

/**
 * Frames of the page for so long.
 * @param prepare statements of the page that run before the first frame
 * @param move statements that run in each frame
 */
export async function frames(page: Page, ms: number, prepare = '', move = ''): Promise<Evenness> {
  const evenness = (await page.evaluate(`new Promise((done) => {
    ${prepare}
    const gaps = []; let longest = 0; let last = performance.now(); const end = last + ${ms};
    const observer = new PerformanceObserver((list) => {
      for (const one of list.getEntries()) longest = Math.max(longest, one.duration);
    });
    observer.observe({ entryTypes: ['longtask'] });
    const turn = (at) => {
      gaps.push(at - last);
      last = at;
      ${move}
      if (at < end) requestAnimationFrame(turn);
      else { observer.disconnect(); done({ gaps: gaps.slice(1), longest }); }
    };
    requestAnimationFrame(turn);
  })`)) as { readonly gaps: readonly number[]; readonly longest: number };
  return { p95: round(percentile(evenness.gaps, 0.95)), longest: round(evenness.longest, 0) };
}

/** Begins to count. The returned function gives the milliseconds of work by the page's main thread since then. */
export async function countWork(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  const read = async (): Promise<number> => {
    const { metrics } = await session.send('Performance.getMetrics');
    return (metrics.find(({ name }) => name === 'ThreadTime')?.value ?? 0) * 1000;
  };
  const before = await read();
  return async () => (await read()) - before;
}
