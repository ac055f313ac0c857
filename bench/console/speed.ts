// Times in which pages answer a person: another page, a query's rows, the first word of a long search, the matrix, and
// frames while a list scrolls. The page's own clock measures them all.
import type { Locator, Page } from 'playwright-core';
import type { Admin } from '../admin.ts';
import { type Evenness, frames } from './page.ts';

/** A search or a page that takes longer has failed. Milliseconds. */
const patienceMs = 30_000;

/** From the press (click or key) until the expression is true at the beginning of a frame, in milliseconds. */
async function timeFromPress(page: Page, press: () => Promise<unknown>, isThere: string): Promise<number> {
  await page.evaluate(`window.pressWatch = new Promise((done) => {
    let pressedAt = 0;
    const press = () => { pressedAt ||= performance.now(); };
    for (const type of ['click', 'keydown']) addEventListener(type, press, { capture: true, once: true });
    const look = (at) => {
      if (pressedAt > 0 && ${isThere}) done(performance.now() - pressedAt);
      else if (pressedAt > 0 && at - pressedAt > ${patienceMs}) done(1e9);
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }); 0`);
  await press();
  return Number(await page.evaluate('window.pressWatch'));
}

const navigated = ['Explore', 'Fleet', 'Policies', 'Changes', 'Runs', 'Overview'] as const;

const linkTo = (page: Page, name: string): Locator =>
  page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: new RegExp(`^${name}`) });

/** The slowest of six pages, from the press on its link until its heading stands. Scripts are there: a second visit. */
export async function pageChangeTime(page: Page): Promise<number> {
  await page.goto('/dashboard/');
  let slowest = 0;
  for (const isFirstVisit of [true, false]) {
    for (const name of navigated) {
      const isThere = `document.querySelector('main h1')?.textContent.startsWith(${JSON.stringify(name)})`;
      const ms = await timeFromPress(page, () => linkTo(page, name).click(), isThere);
      if (!isFirstVisit) slowest = Math.max(slowest, ms);
      // The requests of this page end within its own visit.
      await page.waitForTimeout(500);
    }
  }
  return slowest;
}

const matrixBundles = 20;

/** Documents in three environments, for the matrix. */
export async function deployBundles(admin: Admin): Promise<void> {
  for (let n = 0; n < matrixBundles; n += 1) {
    const name = `bundle-${n}`;
    const yaml = [
      ...['apiVersion: service/v1', 'kind: ContractBundle', `metadata: { name: ${name} }`],
      ...['defaults: { mode: enforce }', 'contracts:', '  - id: no-secrets', '    type: pre'],
      ...['    tool: read_file', '    when: { args.path: { contains: .env } }'],
      '    then: { effect: deny, message: No secrets }',
    ];
    await admin.call('POST', '/api/v1/bundles', { yaml_content: `${yaml.join('\n')}\n` });
    for (const env of ['development', 'staging', 'production'])
      await admin.call('POST', `/api/v1/bundles/${name}/1/deploy`, { env });
  }
}

/** From the press on Fleet until the cells of the matrix stand. */
export async function matrixTime(page: Page): Promise<number> {
  await page.goto('/dashboard/fleet');
  await page.getByRole('grid', { name: 'Matrix' }).getByRole('row').nth(1).waitFor({ timeout: patienceMs });
  await linkTo(page, 'Overview').click();
  await page.waitForTimeout(1_000);
  const isThere = `document.querySelectorAll('[role=grid][aria-label=Matrix] tbody tr').length > 0`;
  return timeFromPress(page, () => linkTo(page, 'Fleet').click(), isThere);
}

type Cells = { readonly [column: string]: string };

/** Queries, and the cells of each row that they match, by column. Three read arguments. */
const queriesOf = (agent: string): readonly (readonly [query: string, cells: Cells])[] => [
  ['verdict:denied', { Verdict: 'denied' }],
  ['tool:tool-2', { Tool: 'tool-2' }],
  ['contract:contract-1', { Contract: 'contract-1' }],
  [`agent:${agent}`, { Agent: agent }],
  ['tool:tool-1 contract:contract-2', { Tool: 'tool-1', Contract: 'contract-2' }],
  ['verdict:denied tool:tool-0', { Verdict: 'denied', Tool: 'tool-0' }],
  [`verdict:allowed agent:${agent}`, { Verdict: 'allowed', Agent: agent }],
  ['verdict:denied "34.txt"', { Verdict: 'denied', Tool: 'tool-4' }],
  ['verdict:denied "17.txt"', { Verdict: 'denied', Tool: 'tool-2' }],
  ['verdict:denied args.path:*/0.txt', { Verdict: 'denied', Tool: 'tool-0' }],
];

const rowsHave = (cells: Cells): string => `(() => {
  const heads = [...document.querySelectorAll('.events-list [role=columnheader]')];
  const rows = [...document.querySelectorAll('.events-list [role=row]')].slice(1);
  return rows.length > 0 && Object.entries(${JSON.stringify(cells)}).every(([name, value]) => {
    const column = heads.findIndex((head) => head.textContent.startsWith(name));
    return rows.every((row) => row.children[column]?.textContent.trim() === value);
  });
})()`;

async function typeQuery(page: Page, query: string): Promise<Locator> {
  await page.goto('/dashboard/explore');
  await page.locator('.events-list [role=row]').nth(5).waitFor({ timeout: patienceMs });
  // Counts of the whole range belong to the visit before the query.
  await page.waitForTimeout(2_000);
  const field = page.getByRole('combobox', { name: 'Query' });
  await field.fill(query);
  return field;
}

/** From Enter in the query bar until every row that is drawn has the query's values; for each of ten queries. */
export async function queryTimes(page: Page): Promise<number[]> {
  await page.goto('/dashboard/explore');
  const facet = page.locator('.facet', { has: page.locator('summary', { hasText: 'Agent' }) });
  // The agents of the newest rows are those of any list.
  const agent = facet.locator('.facet-value').nth(5).locator(':scope > :first-child');
  const times: number[] = [];
  for (const [query, cells] of queriesOf((await agent.textContent({ timeout: patienceMs })) ?? '')) {
    const field = await typeQuery(page, query);
    times.push(await timeFromPress(page, () => field.press('Enter'), rowsHave(cells)));
  }
  return times;
}

/**
 * From Enter with a word that no event has until the page shows how far back it has searched. A small store has
 * searched all by then.
 */
export async function searchedBackTime(page: Page): Promise<number> {
  const field = await typeQuery(page, 'zanzibar');
  const isThere = `/Searched back to|No events match/.test(document.querySelector('.events-list')?.textContent)`;
  return timeFromPress(page, () => field.press('Enter'), isThere);
}

/** Frames while a list scrolls down by 40 pixels a frame, and back up at its end. */
export async function scrolledFrames(page: Page, grid: string, ms: number): Promise<Evenness> {
  const rows = page.getByRole('grid', { name: grid }).getByRole('row');
  await rows.nth(5).waitFor({ timeout: patienceMs });
  await page.waitForTimeout(2_000);
  return frames(
    page,
    ms,
    `let box = document.querySelector('[role=grid][aria-label=${JSON.stringify(grid)}]');
    while (box.parentElement && !(box.scrollHeight > box.clientHeight + 50 && /auto|scroll/.test(getComputedStyle(box).overflowY)))
      box = box.parentElement;
    let by = 40;`,
    `const before = box.scrollTop;
      box.scrollTop += by;
      if (box.scrollTop === before) by = -by;`,
  );
}
