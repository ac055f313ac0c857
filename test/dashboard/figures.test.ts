// Figures that stand on several pages: the fleet in the overview, in the matrix and in the list of agents, and what
// waits in the overview, beside the link of the inbox, in its tabs, groups and rows. They add up.
import type { Locator } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { AgentStreams } from './agent-streams.ts';
import { ask, go, noFaults, view } from './browser.ts';
import { tenantWithKey } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie, key } = await tenantWithKey();
const agents = new AgentStreams(hub, key);
const amounts = [10, 20, 30];

beforeAll(async () => {
  const hashes: string[] = [];
  for (const text of [library, library.replace('.env', '.secret')]) {
    const { body } = await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: text } });
    hashes.push(body.revision_hash);
    const path = `/api/v1/bundles/shop/${body.version}/deploy`;
    expect((await hub.call('POST', path, { cookie, body: { env: 'production' } })).status).toBe(201);
  }
  for (const [name, hash] of [
    ['current-1', hashes[1]],
    ['current-2', hashes[1]],
    ['behind-1', hashes[0]],
    ['silent-1', undefined],
  ] as const)
    await agents.open(name, `&bundle_name=shop${hash ? `&policy_version=${hash}` : ''}`);
  for (const [at, amount] of amounts.entries())
    await ask(
      hub,
      key,
      { tool_name: 'refund', timeout: 900 + at, tool_args: { amount, currency: 'EUR' } },
      `asks-${at}`,
    );
  const id = await ask(hub, key, { tool_name: 'deploy', timeout: 100 }, 'asks-once');
  const me = (await hub.call('GET', '/api/v1/auth/me', { cookie })).body.user_id;
  await hub.call('PUT', `/api/v1/approvals/${id}/assignee`, { cookie, body: { user_id: me } });
});

/** The first number in a text, without the signs between its digits. */
const numberIn = async (place: Locator): Promise<number> =>
  Number(/[\d,]+/.exec((await place.first().textContent()) ?? '')?.[0].replaceAll(',', ''));
const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

it('the fleet and the inbox have the same figures on every page, and their parts add up', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  const main = page.getByRole('main');
  const figure = (name: string) => main.getByRole('link', { name: new RegExp(`^${name} `) });
  await page.goto('/dashboard/');
  const value = (name: string): Promise<number> => numberIn(figure(name).locator('.figure-value'));
  await expect.poll(() => value('Connected agents')).toBe(4);
  const [connected, behind, pending] = await Promise.all(
    ['Connected agents', 'Out of date', 'Pending approvals'].map(value),
  );
  // "2 current, 1 unknown"
  const others = (await figure('Out of date').locator('.figure-note').textContent())?.match(/\d+/g) ?? [];
  expect((behind ?? 0) + sum(others.map(Number))).toBe(connected);
  const knownCount = await numberIn(figure('Connected agents').locator('.figure-note'));
  const inbox = page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: /^Inbox/ });
  await expect.poll(() => numberIn(inbox)).toBe(pending);
  const attention = page.getByRole('region', { name: /^Needs attention/ });
  const items = attention.getByRole('listitem');
  await items.first().waitFor();
  await expect
    .poll(async () => numberIn(attention.getByRole('heading')).then(async (n) => n - (await items.count())))
    .toBe(0);

  await go(page, '/fleet');
  const versions = page
    .getByRole('grid', { name: 'Matrix' })
    .getByRole('button', { name: / of \d+ agents$/ });
  await versions.first().waitFor();
  const parts = (await versions.allTextContents()).map((text) => /^(\S+) (\d+) of (\d+)/.exec(text) ?? []);
  expect(sum(parts.map(([, , part]) => Number(part)))).toBe(connected);
  expect(parts.every(([, , , all]) => Number(all) === connected)).toBe(true);
  expect(sum(parts.filter(([, name]) => name === 'v1').map(([, , part]) => Number(part)))).toBe(behind);
  // A press on a part lists as many agents as it counts.
  const list = page.getByRole('grid', { name: 'Agents' });
  for (const [, name, part] of parts) {
    await versions.filter({ hasText: `${name} ` }).click();
    await main.getByText(`${part} agent${part === '1' ? '' : 's'}`, { exact: true }).waitFor();
    expect(await list.getByRole('row').count()).toBe(Number(part) + 1);
  }
  await go(page, '/fleet?view=agents');
  await main.getByText(`${knownCount} agents`, { exact: true }).waitFor();
  for (const [state, size] of [
    ['connected', `${connected} agents`],
    ['out of date', `${behind} agent`],
  ] as const) {
    const term = main.getByRole('button', { name: state, exact: true });
    await term.click();
    await main.getByText(size, { exact: true }).waitFor();
    await term.click();
    await main.getByText(`${knownCount} agents`, { exact: true }).waitFor();
  }

  await go(page, '/inbox');
  await main.getByText(`${pending} pending calls.`).waitFor();
  await main.getByRole('tab', { name: `Pending ${pending}` }).waitFor();
  await main.getByRole('tab', { name: 'Mine 1' }).waitFor();
  const queue = page.getByRole('grid', { name: 'Approvals' });
  await queue.getByText(`Σ EUR ${sum(amounts)}.00`).waitFor();
  const group = await numberIn(queue.getByRole('button', { name: /^Review \d+/ }));
  expect(group).toBe(amounts.length);
  expect(await queue.locator('.queue-item').count()).toBe(pending);
  await main.getByRole('checkbox', { name: `Select all ${pending}` }).waitFor();
  await main.getByRole('tab', { name: 'Mine 1' }).click();
  await expect.poll(() => queue.locator('.queue-item').count()).toBe(1);
  agents.close();
  noFaults(visit);
  await visit.context.close();
});
