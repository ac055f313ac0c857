// Rounds of the web console in a real browser beside a hub process: Home, another person's decision, a filter, the live
// tail while events arrive, and what many dashboards cost the hub.
import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { browser, view } from '../../test/dashboard/browser.ts';
import type { Admin } from '../admin.ts';
import { batchSize } from '../batch.ts';
import { type RunOptions, slowParameter } from '../scenarios/scenario.ts';
import { consoleRequest } from '../suite/console-request.ts';
import { maxOtherCores } from '../suite/figures.ts';
import { HttpCaller } from '../suite/http-call.ts';
import { type Hub, makeTenants, openHub } from '../suite/hub.ts';
import { Loader } from '../suite/loader.ts';
import { machineBusyMs, minus, processorMsOf, residentBytesOf, waitUntilQuiet } from '../suite/machine.ts';
import type { Scenario } from '../suite/results.ts';
import { medianOf } from '../suite/statistics.ts';
import { StreamClient } from '../suite/streams.ts';
import {
  facets,
  figuresOf,
  otherDashboards,
  type Round,
  type Scrolled,
  socketEventsPerSecond,
  tailEventsPerSecond,
} from './figures.ts';
import { heapOf } from './heap.ts';
import { openInbox, requestApprovals } from './inbox.ts';
import { filterTimes, frames, loadHome, whenShown } from './page.ts';
import {
  deployBundles,
  matrixTime,
  pageChangeTime,
  queryTimes,
  scrolledFrames,
  searchedBackTime,
} from './speed.ts';

const connections = 32;
const decisionsOfRound = 4;
const adminEmail = 'bench@example.com';
/** Queries at the end of the ten that read arguments. */
const textQueries = 3;
const scrollMs = 3_000;

interface Setup {
  readonly hub: Hub;
  readonly admin: Admin;
  readonly keys: readonly string[];
  readonly loader: Loader;
  readonly dashboards: StreamClient;
  readonly options: RunOptions;
}

async function measureScrolling(
  page: Page,
  grid: string,
  open: (page: Page) => Promise<unknown>,
): Promise<Scrolled> {
  await open(page);
  await page.getByRole('grid', { name: grid }).waitFor();
  await delay(2_000);
  const rest = await frames(page, scrollMs);
  const scrolled = await scrolledFrames(page, grid, scrollMs);
  return { ratio: scrolled.p95 / rest.p95, longest: scrolled.longest };
}

async function measureSpeed({ options: { report } }: Setup, page: Page) {
  const times = await queryTimes(page);
  report(`queries: ${times.map(Math.round).join(', ')} ms`, 0);
  const speed = {
    pageChangeMs: await pageChangeTime(page),
    matrixMs: await matrixTime(page),
    queryMs: Math.max(...times.slice(0, -textQueries)),
    textQueryMs: Math.max(...times.slice(-textQueries)),
    searchedBackMs: await searchedBackTime(page),
    scrolledEvents: await measureScrolling(page, 'Events', () => page.goto('/dashboard/explore')),
    scrolledAgents: await measureScrolling(page, 'Agents', () => page.goto('/dashboard/fleet?view=agents')),
  };
  report(`pages: ${JSON.stringify(speed)}`, 0);
  return speed;
}

const openView = ({ hub, admin }: Setup) => view(hub.url, { cookie: admin.cookie() });

async function measureHome(setup: Setup) {
  const { context } = await openView(setup);
  try {
    return await loadHome(context);
  } finally {
    await context.close();
  }
}

let approvals = 0;

/** From the answer to another person's decision until the screen shows it. */
async function measureDecision({ hub, admin, keys }: Setup, page: Page): Promise<number> {
  const caller = new HttpCaller(hub.url);
  const text = await caller.call({
    method: 'POST',
    path: '/api/v1/approvals',
    headers: {
      Authorization: `Bearer ${keys[0]}`,
      'Content-Type': 'application/json',
      // Each by another agent: the hub limits the requests of one.
      'X-Service-Agent-Id': `asking-${approvals++}`,
    },
    body: JSON.stringify({ tool_name: 'deploy', message: 'May I?', timeout: 600 }),
  });
  caller.close();
  const { id } = JSON.parse(text) as { readonly id: string };
  await page.goto(`/dashboard/approvals/${id}`);
  await page.getByRole('button', { name: /^Approve/ }).waitFor();
  await page
    .getByRole('status')
    .filter({ hasText: /^Live$/ })
    .waitFor();
  const appeared = whenShown(page, `Approved by ${adminEmail}`);
  await admin.call('PUT', `/api/v1/approvals/${id}`, { approved: true });
  const answered = performance.timeOrigin + performance.now();
  return Math.max(0, (await appeared) - answered);
}

const pour = ({ hub, keys, loader, options }: Setup, perSecond: number, seconds: number, seed: number) =>
  loader.load({
    type: 'open',
    origin: hub.url,
    keys,
    seed: options.seed + seed,
    batchesPerSecond: perSecond / batchSize,
    seconds,
  });

async function measureTail(setup: Setup, page: Page, n: number) {
  const { seconds } = setup.options;
  await page.goto('/dashboard/explore?view=tail');
  await page.getByText(/Events appear here when agents report calls|since the tail opened/).waitFor();
  const pouring = pour(setup, tailEventsPerSecond, seconds, 1000 + n);
  const evenness = await frames(page, seconds * 1000);
  await pouring;
  return { ...evenness, objects: (await heapOf(page)).objects };
}

/** Cores of the hub with many dashboards − without them, one after the other. */
async function measureSockets(setup: Setup, page: Page, n: number): Promise<number | null> {
  const { hub, admin, dashboards, options } = setup;
  await page.goto('/dashboard/');
  await page
    .getByRole('status')
    .filter({ hasText: /^Live$/ })
    .waitFor();
  const readCores = async (seed: number): Promise<number | null> => {
    const [before, began] = [processorMsOf(hub.pid), performance.now()];
    await pour(setup, socketEventsPerSecond, options.seconds, seed);
    const spent = minus(processorMsOf(hub.pid), before);
    return spent === null ? null : spent / (performance.now() - began);
  };
  const alone = await readCores(2000 + n);
  const request = consoleRequest(admin.cookie(), hub.url);
  await dashboards.open({ port: hub.port, count: otherDashboards, request, marker: '\r\n\r\n' });
  const together = await readCores(3000 + n);
  await dashboards.close();
  return minus(together, alone);
}

/** After the rounds, because nothing else is measured beside thousands of approvals. */
async function measureInbox(setup: Setup, count: number): Promise<Scrolled[]> {
  await requestApprovals(setup.hub, setup.keys[0] ?? '');
  const { page, context } = await openView(setup);
  const scrolled: Scrolled[] = [];
  for (let n = 0; n < count; n++) {
    scrolled.push(await measureScrolling(page, 'Approvals', openInbox));
  }
  await context.close();
  return scrolled;
}

async function measureRound(setup: Setup, n: number): Promise<Omit<Round, 'scrolledInbox'>> {
  const { hub } = setup;
  const { report } = setup.options;
  const home = await measureHome(setup);
  report(`Home: ${Math.round(home.usable)} ms`, 0);
  const { page, context } = await openView(setup);
  try {
    const decisions: number[] = [];
    for (let i = 0; i < decisionsOfRound; i++) decisions.push(await measureDecision(setup, page));
    report(`decisions: ${decisions.map(Math.round).join(', ')} ms`, 0);
    const filterMs: number[] = [];
    for (const facet of facets) {
      filterMs.push((await filterTimes(page, facet, n % 2, () => processorMsOf(hub.pid) ?? 0)).ms);
    }
    report(`filters: ${filterMs.map(Math.round).join(', ')} ms`, 0);
    const speed = await measureSpeed(setup, page);
    const tail = await measureTail(setup, page, n);
    const socketCores = await measureSockets(setup, page, n);
    return {
      homeMs: home.usable,
      homeWholeMs: home.whole,
      firstLoadKb: home.bytes / 1024,
      decisionMs: medianOf(decisions),
      filterMs,
      ...speed,
      frameGapMs: tail.p95,
      longestTaskMs: tail.longest,
      tailObjectsMib: tail.objects / 2 ** 20,
      socketCores: socketCores === null ? null : Math.max(0, socketCores),
    };
  } finally {
    await context.close();
  }
}

/** Cores that work outside of the suite uses, while the browser rests. */
async function readOtherCores(): Promise<number> {
  const [busy, own, began] = [machineBusyMs(), processorMsOf(process.pid), performance.now()];
  await delay(1000);
  const ownMs = minus(processorMsOf(process.pid), own) ?? 0;
  return Math.max(0, machineBusyMs() - busy - ownMs) / (performance.now() - began);
}

export async function runConsole(options: RunOptions): Promise<Scenario> {
  const { rounds: count, rows, seconds, quiet, report } = options;
  const otherCores = await readOtherCores();
  const hub = await openHub(options, { settings: { APPROVALS_PER_MINUTE: '1000000' } });
  const [loader, dashboards] = [new Loader(), new StreamClient()];
  const rounds: Omit<Round, 'scrolledInbox'>[] = [];
  try {
    const { admin, keys } = await makeTenants(hub, 1);
    await deployBundles(admin);
    const setup: Setup = { hub, admin, keys, loader, dashboards, options };
    report(`storing ${rows} events`, 0);
    const maxBatches = Math.max(1, Math.ceil(rows / batchSize));
    const { url: origin } = hub;
    await loader.load({
      type: 'closed',
      origin,
      keys,
      seed: options.seed,
      connections,
      seconds: 36_000,
      maxBatches,
    });
    // The first load finds nothing warm, in the browser and in the hub.
    await measureHome(setup);
    for (let n = 0; n < count; n++) {
      await waitUntilQuiet(quiet);
      rounds.push(await measureRound(setup, n));
      report(
        `round ${n + 1} of ${count}: Home ${Math.round(rounds.at(-1)?.homeMs ?? 0)} ms`,
        (n + 1) / count,
      );
    }
    report('5,000 approvals wait', 1);
    const inboxes = await measureInbox(setup, count);
    const wholeRounds = rounds.flatMap((round, n) => {
      const scrolledInbox = inboxes[n];
      return scrolledInbox ? { ...round, scrolledInbox } : [];
    });
    const isDisturbed = otherCores > maxOtherCores;
    return {
      name: 'console',
      parameters: { rows, seconds, ...slowParameter(options) },
      skipped: null,
      limited_by: isDisturbed ? 'others' : 'none',
      load: {
        hub_cores: null,
        client_cores: null,
        other_cores: otherCores,
        hub_rss_bytes: residentBytesOf(hub.pid),
      },
      figures: figuresOf(wholeRounds, isDisturbed),
      rivals: [],
    };
  } finally {
    loader.stop();
    dashboards.stop();
    await (await browser()).close();
    await hub.stop();
  }
}
