// Rounds of the web console in a real browser beside a hub process: Home, another person's decision, a filter, the live
// tail while events arrive, and what many dashboards cost the hub.
import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { browser, view } from '../../test/dashboard/browser.ts';
import type { Admin } from '../admin.ts';
import { batchSize } from '../batch.ts';
import { type RunOptions, slowParameter } from '../scenarios/scenario.ts';
import { consoleRequest } from '../suite/console-request.ts';
import { figureOf, maxOtherCores } from '../suite/figures.ts';
import { HttpCaller } from '../suite/http-call.ts';
import { type Hub, makeTenants, openHub } from '../suite/hub.ts';
import { Loader } from '../suite/loader.ts';
import { machineBusyMs, minus, processorMsOf, residentBytesOf, waitUntilQuiet } from '../suite/machine.ts';
import type { Figure, Scenario, Target } from '../suite/results.ts';
import { medianOf } from '../suite/statistics.ts';
import { StreamClient } from '../suite/streams.ts';
import { heapOf } from './heap.ts';
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
const otherDashboards = 199;
const tailEventsPerSecond = 1000;
const socketEventsPerSecond = 200;
const adminEmail = 'bench@example.com';
/** Queries at the end of the ten that read arguments. */
const textQueries = 3;
const scrollMs = 3_000;
const facets = ['Tool', 'Contract', 'Agent'] as const;

interface Setup {
  readonly hub: Hub;
  readonly admin: Admin;
  readonly keys: readonly string[];
  readonly loader: Loader;
  readonly dashboards: StreamClient;
  readonly options: RunOptions;
}

interface Round {
  readonly homeMs: number;
  readonly homeWholeMs: number;
  readonly firstLoadKb: number;
  readonly decisionMs: number;
  readonly filterMs: readonly number[];
  readonly pageChangeMs: number;
  readonly matrixMs: number;
  /** Of ten queries: the slowest of those that read no arguments, and of those that do. */
  readonly queryMs: number;
  readonly textQueryMs: number;
  readonly searchedBackMs: number;
  readonly scrolledEvents: Scrolled;
  readonly scrolledAgents: Scrolled;
  readonly frameGapMs: number;
  readonly longestTaskMs: number;
  readonly tailObjectsMib: number;
  readonly socketCores: number | null;
}

/** Frames while a list scrolls: the p95 of their gaps ÷ that of the page at rest, and the longest task. */
interface Scrolled {
  readonly ratio: number;
  readonly longest: number;
}

async function measureScrolling(page: Page, path: string, grid: string): Promise<Scrolled> {
  await page.goto(path);
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
    scrolledEvents: await measureScrolling(page, '/dashboard/explore', 'Events'),
    scrolledAgents: await measureScrolling(page, '/dashboard/fleet?view=agents', 'Agents'),
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
  const shown = whenShown(page, `Approved by ${adminEmail}`);
  await admin.call('PUT', `/api/v1/approvals/${id}`, { approved: true });
  const answered = performance.timeOrigin + performance.now();
  return Math.max(0, (await shown) - answered);
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
  await page.getByText('Events appear here when agents report calls.').waitFor();
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

async function measureRound(setup: Setup, n: number): Promise<Round> {
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

interface Form {
  readonly id: string;
  readonly what: string;
  readonly unit: string;
  readonly atMost?: number;
  readonly value: (round: Round) => number | null;
}

const forms: readonly Form[] = [
  { id: 'home', what: 'Home usable, empty cache', unit: 'ms', atMost: 1000, value: ({ homeMs }) => homeMs },
  { id: 'home_charts', what: 'charts of Home', unit: 'ms', value: ({ homeWholeMs }) => homeWholeMs },
  { id: 'first_load', what: 'first load', unit: 'KB', atMost: 200, value: ({ firstLoadKb }) => firstLoadKb },
  {
    id: 'decision',
    what: "another person's decision on the screen, median of a round",
    unit: 'ms',
    atMost: 150,
    value: ({ decisionMs }) => decisionMs,
  },
  ...facets.map((facet, n) => ({
    id: `filter_${facet.toLowerCase()}`,
    what: `from a filter to its rows (${facet})`,
    unit: 'ms',
    atMost: 300,
    value: ({ filterMs }: Round) => filterMs[n] ?? null,
  })),
  {
    id: 'page_change',
    what: 'from a link to the heading of its page, slowest of six',
    unit: 'ms',
    atMost: 150,
    value: ({ pageChangeMs }) => pageChangeMs,
  },
  {
    id: 'matrix',
    what: 'from a link to the matrix',
    unit: 'ms',
    atMost: 300,
    value: ({ matrixMs }) => matrixMs,
  },
  {
    id: 'query',
    what: 'from a query to its rows, slowest of seven',
    unit: 'ms',
    atMost: 300,
    value: ({ queryMs }) => queryMs,
  },
  {
    id: 'text_query',
    what: 'from a verdict with a text to its rows, slowest of three',
    unit: 'ms',
    atMost: 300,
    value: ({ textQueryMs }) => textQueryMs,
  },
  {
    id: 'searched_back',
    what: 'from a rare text to "Searched back to"',
    unit: 'ms',
    atMost: 300,
    value: ({ searchedBackMs }) => searchedBackMs,
  },
  ...(['scrolledEvents', 'scrolledAgents'] as const).flatMap((list): Form[] => {
    const noun = list === 'scrolledEvents' ? 'events' : 'agents';
    return [
      {
        id: `scrolled_${noun}`,
        what: `time between frames of scrolling ${noun} ÷ of the page at rest, p95`,
        unit: 'x',
        atMost: 1.1,
        value: (round) => round[list].ratio,
      },
      {
        id: `scrolled_${noun}_task`,
        what: `longest task of scrolling ${noun}`,
        unit: 'ms',
        atMost: 50,
        value: (round) => round[list].longest,
      },
    ];
  }),
  {
    id: 'frame_gap',
    what: `time between frames of the live tail at ${tailEventsPerSecond} events/s, p95`,
    unit: 'ms',
    atMost: 33,
    value: ({ frameGapMs }) => frameGapMs,
  },
  {
    id: 'longest_task',
    what: 'longest task of the live tail',
    unit: 'ms',
    atMost: 100,
    value: ({ longestTaskMs }) => longestTaskMs,
  },
  {
    id: 'tail_objects',
    what: 'objects in the heap of the live tail',
    unit: 'MiB',
    value: ({ tailObjectsMib }) => tailObjectsMib,
  },
  {
    id: 'sockets',
    what: `cores that ${otherDashboards} more dashboards cost the hub at ${socketEventsPerSecond} events/s`,
    unit: 'cores',
    atMost: 0.05,
    value: ({ socketCores }) => socketCores,
  },
];

/** The browser's processes count as other work, so a round beside real other work cannot be told: no bound on these. */
function figuresOf(rounds: readonly Round[], isDisturbed: boolean): Figure[] {
  return forms.map(({ id, what, unit, atMost, value }) =>
    figureOf({
      id: `console.${id}`,
      what,
      unit,
      better: 'lower',
      rounds: rounds.map(value),
      ...(atMost === undefined ? {} : { target: { at_most: atMost, of: 'value' } satisfies Target }),
      isDisturbed,
    }),
  );
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
  report('starting the hub', 0);
  const otherCores = await readOtherCores();
  const hub = await openHub(options);
  const [loader, dashboards] = [new Loader(), new StreamClient()];
  const rounds: Round[] = [];
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
      figures: figuresOf(rounds, isDisturbed),
      rivals: [],
    };
  } finally {
    loader.stop();
    dashboards.stop();
    await (await browser()).close();
    await hub.stop();
  }
}
