// Rows of tables that scroll and reload: only rows with new data render.
import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { itAtNight } from '../runs.ts';
import { noFaults, view } from './browser.ts';
import { tenantWithKey } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie, key } = await tenantWithKey();
const agents = 60;

async function report(callIds: readonly string[]): Promise<void> {
  const events = callIds.map((id, n) => ({
    ...{ call_id: id, agent_id: `agent-${n}`, tool_name: `tool_${id}`, verdict: 'call_allowed' },
    timestamp: new Date(Date.now() - n * 1_000).toISOString(),
  }));
  const { status } = await hub.call('POST', '/api/v1/events', { key, agent: 'agent-0', body: { events } });
  expect(status).toBe(200);
}

beforeAll(async () => {
  await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: library } });
  await report(Array.from({ length: agents }, (_, n) => `${n}`));
});

/**
 * Counts the renders of a row's parts, by the text of its first cell. React calls this hook of its developer tools
 * after each commit. Flag 1 marks a component that rendered. With the same properties it rendered by itself, as a time
 * does.
 */
const countRenders = `(() => {
  globalThis.renders = {};
  const walk = (fiber, before, row) => {
    const isComponent = row !== null && typeof fiber.type === 'function';
    const isNew = before === null || fiber.memoizedProps !== before.memoizedProps;
    if (isComponent && (before === null || (fiber.flags & 1) !== 0)) {
      if (!isNew) return;
      const name = row.querySelector('.cell-link')?.firstChild.textContent.trim();
      if (name) renders[name] = (renders[name] ?? 0) + 1;
    }
    if (before !== null && fiber.child === before.child) return;
    const inside = fiber.type === 'div' && fiber.memoizedProps.role === 'row' ? fiber.stateNode : row;
    for (let child = fiber.child; child; child = child.sibling) walk(child, child.alternate, inside);
  };
  globalThis.__REACT_DEVTOOLS_GLOBAL_HOOK__ = {
    supportsFiber: true,
    inject: () => 1,
    onCommitFiberUnmount: () => undefined,
    onCommitFiberRoot: (_, { current }) => walk(current, current.alternate, null),
  };
})()`;

/** The rows that rendered since the last call. */
const rendered = async (page: Page): Promise<string[]> =>
  Object.keys(
    (await page.evaluate(
      '(() => { const all = renders; globalThis.renders = {}; return all; })()',
    )) as object,
  );

const names = async (page: Page): Promise<string[]> =>
  (await page.locator('.grid-row .cell-link > :first-child').allTextContents()).map((name) => name.trim());

it('renders only rows that come into sight while a list scrolls', async () => {
  const visit = await view(hub.url, { cookie, height: 600 });
  const { page } = visit;
  await page.addInitScript(countRenders);
  await page.goto('/dashboard/fleet?view=agents');
  const table = page.getByRole('grid', { name: 'Agents' });
  await table.getByRole('row').nth(5).waitFor();
  const before = await names(page);
  expect((await rendered(page)).sort()).toEqual([...before].sort());
  await page.evaluate(`document.querySelector('.table-scroll').scrollTop = 400`);
  await expect
    .poll(async () => (await names(page)).filter((name) => !before.includes(name)).length)
    .toBeGreaterThan(5);
  const entered = (await names(page)).filter((name) => !before.includes(name));
  expect((await rendered(page)).sort()).toEqual(entered.sort());
  noFaults(visit);
  await visit.context.close();
});

it('renders only the row that changed when a list reloads', async () => {
  const visit = await view(hub.url, { cookie, height: 600 });
  const { page } = visit;
  await page.addInitScript(countRenders);
  await page.goto('/dashboard/fleet?view=agents');
  const table = page.getByRole('grid', { name: 'Agents' });
  await table.getByText('agent-0', { exact: true }).waitFor();
  await page.locator('.live-live').waitFor();
  await rendered(page);
  const { status } = await hub.call('PATCH', '/api/v1/agent-registrations/agent-0', {
    cookie,
    body: { bundle_name: 'shop' },
  });
  expect(status).toBe(200);
  await table.getByText('shop', { exact: true }).waitFor();
  expect(await rendered(page)).toEqual(['agent-0']);
  noFaults(visit);
  await visit.context.close();
});

itAtNight('renders only the new row when an event arrives above the others', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.addInitScript(countRenders);
  await page.goto('/dashboard/explore');
  const table = page.getByRole('grid', { name: 'Events' });
  await table.getByRole('row').nth(5).waitFor();
  await page.locator('.live-live').waitFor();
  const before = await names(page);
  await rendered(page);
  await report(['new']);
  await table.getByText('tool_new').first().waitFor();
  const [newest] = await names(page);
  expect(await rendered(page)).toEqual([newest]);
  // Each row is one further down.
  const second = table.getByRole('row').filter({ hasText: before[0] ?? '' });
  await expect.poll(() => second.getAttribute('aria-rowindex')).toBe('3');
  noFaults(visit);
  await visit.context.close();
});
