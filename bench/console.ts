// The web console in a real browser beside a real hub process on the same machine: how soon Home is usable, how soon
// another person's decision and a filter are on the screen, how evenly frames come while events arrive, whether memory
// grows, and what many dashboards cost the hub.
import type { Page } from 'playwright-core';
import { minuteMs } from '../src/domain/duration.ts';
import { ask, browser, view } from '../test/dashboard/browser.ts';
import { heapOf } from './console-heap.ts';
import { cpuSeconds, dashboards, pause, pour, seededHub } from './console-hub.ts';
import {
  countWork,
  type FilterTimes,
  filterTimes,
  frames,
  type HomeTimes,
  loadHome,
  whenShown,
} from './console-page.ts';
import { isMet, lineOf, median, percentile, round, type Verdict } from './numbers.ts';
import { readOptions } from './options.ts';

const parts = ['home', 'decision', 'filter', 'frames', 'sockets', 'heap'] as const;
type Part = (typeof parts)[number];

const {
  rows,
  agents,
  post,
  only,
  repeats,
  decisions,
  seconds,
  from: firstLook,
  minutes: lastLook,
  page: lookedAt,
  rate,
  data,
  json,
  say: print,
} = readOptions({
  program: 'console',
  start: 'node --conditions=reeve-source --import tsx bench/console.ts',
  options: {
    rows: { about: 'stored events, over the last day', default: 1_000_000 },
    agents: { about: 'agents that they are of', default: 5000 },
    post: { about: 'events of a post', default: 5 },
    only: {
      about: 'of home, decision, filter, frames, sockets and heap',
      default: parts.join(','),
      value: 'A,B',
    },
    repeats: { about: 'loads of Home, whose median is shown', default: 5 },
    decisions: { about: 'decisions of another person', default: 20 },
    seconds: { about: 'that frames are counted, and of each turn of the sockets', default: 20 },
    from: { about: 'minute of the first look at the heap', default: 2, atLeast: 0 },
    minutes: { about: 'minute of the last look at the heap', default: 12 },
    page: {
      about: 'whose heaps are looked at, side by side: tail, and paths such as /audit',
      default: 'tail',
      value: 'A,B',
    },
    rate: { about: 'events a second while frames are counted and the heap is looked at', default: 1000 },
    data: {
      about: 'keeps the data of the hub there, and takes what is there',
      default: null,
      value: 'FOLDER',
    },
  },
  note: 'Ends with code 1 when a goal is missed.',
});
const wanted = new Set(only.split(','));
const unknown = [...wanted].filter((one) => !parts.includes(one as Part));
if (unknown.length > 0) {
  process.stderr.write(`There is no part ${unknown.join(', ')}: --help lists them.\n`);
  process.exit(2);
}

const socketTurns = 3;
const otherDashboards = 199;

const hub = await seededHub({
  rows,
  agents,
  post,
  folder: data,
});
const { cookie } = hub;
const { url } = hub.hub;
print(hub.fillMs === null ? `The data of ${data}` : `${rows} events filled in ${round(hub.fillMs / 1000)} s`);

const verdicts: Verdict[] = [];
const others: { readonly what: string; readonly value: number; readonly unit: string }[] = [];
const judge = (what: string, value: number, unit: string, atMost: number): void => {
  verdicts.push({ what, value, unit, atMost });
  print(lineOf({ what, value, unit, atMost }));
};
const tell = (what: string, value: number, unit: string): void => {
  others.push({ what, value, unit });
  print(`    ${what}: ${value}${unit}`);
};

/** Each load in a browser context of its own, which has nothing in its cache. */
async function home(): Promise<void> {
  const loads: HomeTimes[] = [];
  const cpu: number[] = [];
  for (let n = 0; n <= repeats; n += 1) {
    const { context } = await view(url, { cookie });
    const before = cpuSeconds(hub);
    const times = await loadHome(context);
    await context.close();
    // The first finds nothing warm, in the browser and in the hub.
    if (n === 0) continue;
    loads.push(times);
    cpu.push((cpuSeconds(hub) - before) * 1000);
  }
  const of = (read: (times: HomeTimes) => number): number => round(median(loads.map(read)), 0);
  judge(
    `Home usable, median of ${repeats}`,
    of(({ usable }) => usable),
    ' ms',
    1_000,
  );
  judge('first load', round(median(loads.map(({ bytes }) => bytes)) / 1024), ' KB', 200);
  tell(
    'first paint',
    of(({ firstPaint }) => firstPaint),
    ' ms',
  );
  tell(
    'all scripts there',
    of(({ scripts }) => scripts),
    ' ms',
  );
  tell(
    'charts and ungoverned tools drawn',
    of(({ whole }) => whole),
    ' ms',
  );
  tell(
    "the page's main thread",
    of(({ busy }) => busy),
    ' ms',
  );
  tell('processors of the hub', round(median(cpu), 0), ' ms');
  const last = loads.at(-1);
  for (const { path, from, to } of last?.answers ?? []) print(`      ${path}: ${from} to ${to} ms`);
}

let approvals = 0;

async function decisionMs(page: Page): Promise<number> {
  approvals += 1;
  // Each of another agent: the hub bounds how often one may ask.
  const id = await ask(hub.hub, hub.key, { timeout: 600 }, `asking-${process.pid}-${approvals}`);
  await page.goto(`/dashboard/approvals?id=${id}`);
  await page.getByRole('button', { name: /^Approve/ }).waitFor();
  await page
    .getByRole('status')
    .filter({ hasText: /^Live$/ })
    .waitFor();
  const shown = whenShown(page, 'Approved by admin@example.com');
  await hub.hub.call('PUT', `/api/v1/approvals/${id}`, { cookie, body: { approved: true } });
  const answered = performance.timeOrigin + performance.now();
  return Math.max(0, (await shown) - answered);
}

async function decision(page: Page): Promise<void> {
  const list: number[] = [];
  for (let n = 0; n < decisions; n += 1) list.push(await decisionMs(page));
  judge("another person's decision on the screen, p95", round(percentile(list, 0.95), 0), ' ms', 150);
  tell('median', round(median(list), 0), ' ms');
}

async function filter(page: Page): Promise<void> {
  for (const [facet, column] of [
    ['Tool', 1],
    ['Contract', 4],
    ['Agent', 3],
  ] as const) {
    const list: FilterTimes[] = [];
    for (let n = 0; n < repeats; n += 1)
      list.push(await filterTimes(page, facet, column, n, () => cpuSeconds(hub) * 1000));
    const of = (read: (times: FilterTimes) => number): number => round(median(list.map(read)), 0);
    const what = `from a filter to its rows (${facet}), median of ${repeats}`;
    judge(
      what,
      of(({ ms }) => ms),
      ' ms',
      300,
    );
    tell(
      `${facet}: the page's main thread meanwhile`,
      of(({ busy }) => busy),
      ' ms',
    );
    tell(
      `${facet}: processors of the hub meanwhile`,
      of(({ other }) => other),
      ' ms',
    );
  }
}

/** A page that follows every event. */
async function openTail(page: Page): Promise<void> {
  await page.goto('/dashboard/events?view=tail');
  await page.getByText('Waiting for the next event.').waitFor();
}

/** The head of a table is a row too. */
const rowsOf = async (page: Page): Promise<number> =>
  Number(await page.locator('[role=table][aria-rowcount]').first().getAttribute('aria-rowcount')) - 1;

async function evenness(page: Page): Promise<void> {
  await openTail(page);
  const idle = await frames(page, Math.min(10, seconds) * 1000);
  tell('an idle page: p95 between frames', idle.p95, ' ms');
  tell('an idle page: longest task', idle.longest, ' ms');
  const pouring = pour(hub, rate, 100);
  await page.getByRole('table', { name: 'tail' }).waitFor();
  const work = await countWork(page);
  const found = await frames(page, seconds * 1000);
  const busy = (await work()) / seconds / 10;
  const rows = await rowsOf(page);
  const taken = await pouring.stop();
  judge(`p95 between frames at ${rate} events/s`, found.p95, ' ms', 33);
  judge(`longest task at ${rate} events/s`, found.longest, ' ms', 100);
  tell("the page's main thread is busy", round(busy), ' %');
  tell('the hub took', round(taken, 0), ' events/s');
  tell('rows that the tail holds', rows, '');
}

/** In turns, so that other work on the machine falls on both alike. */
async function sockets(page: Page): Promise<void> {
  await page.goto('/dashboard/');
  await page
    .getByRole('status')
    .filter({ hasText: /^Live$/ })
    .waitFor();
  const pouring = pour(hub, 200, 50);
  const coresOf = async (): Promise<number> => {
    await pause(1_000);
    const before = cpuSeconds(hub);
    const began = performance.now();
    await pause(seconds * 1000);
    return (cpuSeconds(hub) - before) / ((performance.now() - began) / 1000);
  };
  const [alone, together]: [number[], number[]] = [[], []];
  for (let n = 0; n < socketTurns; n += 1) {
    alone.push(await coresOf());
    const close = await dashboards(hub, otherDashboards);
    together.push(await coresOf());
    close();
  }
  await pouring.stop();
  judge(
    `${otherDashboards} sockets more at 200 events/s cost the hub, median of ${socketTurns} turns`,
    round(median(together) - median(alone), 3),
    ' core',
    0.05,
  );
  tell('one browser alone', round(median(alone), 3), ' core');
}

const mebibytes = (bytes: number): number => round(bytes / 1024 / 1024, 2);
const growth = (from: number, to: number): number => round((to / from - 1) * 100);

/** All pages under the same events, each in a browser context of its own, which has a heap of its own. */
async function heap(): Promise<void> {
  const views = await Promise.all(
    lookedAt.split(',').map(async (name) => ({ name, ...(await view(url, { cookie })) })),
  );
  for (const { name, page } of views) {
    if (name === 'tail') await openTail(page);
    else await page.goto(`/dashboard${name}`);
  }
  const began = performance.now();
  const pouring = pour(hub, rate, 100);
  const lookAt = async (minute: number) => {
    await pause(Math.max(0, began + minute * minuteMs - performance.now()));
    return await Promise.all(views.map(({ page }) => heapOf(page)));
  };
  const early = await lookAt(firstLook);
  const late = await lookAt(lastLook);
  const taken = await pouring.stop();
  for (const [n, { name, page, context }] of views.entries()) {
    const [from, to] = [early[n], late[n]];
    if (from === undefined || to === undefined) continue;
    const what = `heap of ${name} at ${rate} events/s, minute ${lastLook} against ${firstLook}`;
    judge(what, growth(from.whole, to.whole), ' %', 10);
    for (const part of ['whole', 'objects', 'engine'] as const) {
      tell(`${name}, ${part}, minute ${firstLook}`, mebibytes(from[part]), ' MiB');
      tell(`${name}, ${part}, minute ${lastLook}`, mebibytes(to[part]), ' MiB');
    }
    tell(`${name}, objects, growth`, growth(from.objects, to.objects), ' %');
    tell(`${name}, nodes of the document, minute ${firstLook}`, from.nodes, '');
    tell(`${name}, nodes of the document, minute ${lastLook}`, to.nodes, '');
    if (name === 'tail') tell('rows that the tail holds', await rowsOf(page), '');
    await context.close();
  }
  tell('the hub took', round(taken, 0), ' events/s');
}

const work: { readonly [P in Part]: (page: Page) => Promise<void> } = {
  home,
  decision,
  filter,
  frames: evenness,
  sockets,
  heap,
};
try {
  for (const part of parts.filter((one) => wanted.has(one))) {
    const seen = await view(url, { cookie });
    await work[part](seen.page);
    await seen.context.close();
  }
} finally {
  await (await browser()).close();
  await hub.hub.remove();
}
if (json) process.stdout.write(`${JSON.stringify({ rows, verdicts, others })}\n`);
process.exitCode = verdicts.every(isMet) ? 0 : 1;
