// New events in the console: the list follows live, and holds still while a person reads it.
import { describe, expect, it } from 'vitest';
import { noFaults, view } from './browser.ts';
import { tenantWithKey } from './file-hub.ts';

const { hub, cookie, key } = await tenantWithKey();

const send = async (events: readonly object[]): Promise<void> => {
  const { status } = await hub.call('POST', '/api/v1/events', {
    key,
    agent: 'shop-agent-0',
    body: { events },
  });
  expect(status).toBe(200);
};

const eventOf = (name: string, n: number): object => ({
  call_id: `${name}-${n}`,
  agent_id: `${name}-agent`,
  tool_name: `${name}_${n}`,
  verdict: 'call_allowed',
  mode: 'enforce',
  timestamp: new Date().toISOString(),
  payload: { tool_args: { n } },
});

/** The list of an agent without events, once its stream is open; with the link of each event that comes. */
async function openList(name: string) {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto(`/dashboard/explore?agent_id=${name}-agent&from=now-1h`);
  await page.getByText('No events match these filters').waitFor();
  await page
    .getByRole('status')
    .filter({ hasText: /^Live$/ })
    .waitFor();
  const link = (n: number) =>
    page.getByRole('grid', { name: 'Events' }).getByRole('link', { name: `${name}_${n}` });
  return { visit, page, link };
}

describe('the list of events', () => {
  it('follows live, holds still while one is read, and says how many came', async () => {
    const { visit, page, link } = await openList('late');
    await send([eventOf('late', 1)]);
    await link(1).click();
    await send([eventOf('late', 2)]);
    await page.getByRole('button', { name: /Show 1 new event from the whole hub/ }).click();
    await link(2).waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it('holds still while the focus is in a row, and then shows all without a press', async () => {
    const { visit, page, link } = await openList('focus');
    const pill = page.getByRole('button', { name: /^Show \d+ new events? from the whole hub$/ });
    await send([eventOf('focus', 1)]);
    await link(1).focus();
    await send([eventOf('focus', 2), eventOf('focus', 3)]);
    await page.getByRole('button', { name: 'Show 2 new events from the whole hub' }).waitFor();
    expect(await link(2).count()).toBe(0);
    await link(1).blur();
    await send([eventOf('focus', 4)]);
    for (const n of [1, 2, 3, 4]) await link(n).waitFor();
    await pill.waitFor({ state: 'detached' });
    noFaults(visit);
    await visit.context.close();
  });
});
