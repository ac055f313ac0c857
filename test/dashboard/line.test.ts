// Long texts in one line: a cut is marked, halves no character, and leaves the end of an id in sight.
import { expect, it } from 'vitest';
import { cappedText, endCut } from '../../src/dashboard/lib/text.ts';
import { noFaults, view } from './browser.ts';
import { tenantWithKey } from './file-hub.ts';

it('cuts a long text before a character of two code units, with a mark', () => {
  expect(endCut('abc', 3)).toBe('abc');
  expect(endCut('abcd', 3)).toBe('abc…');
  expect(endCut('ab😀d', 3)).toBe('ab…');
  expect(endCut('a😀cd', 3)).toBe('a😀…');
});

it('counts as many at least where more were not counted', () => {
  expect(cappedText(1, 'deployment', false)).toBe('1 deployment');
  expect(cappedText(1_500, 'deployment', true)).toBe('1,500+ deployments');
});

it('cuts a long id of a facet in the middle: its end is in sight, and no second end of a short one', async () => {
  const { hub, cookie, key } = await tenantWithKey();
  const long = `mcp-${'shop-'.repeat(12)}refund-9f3c1`;
  const short = 'refund-9f3c2';
  const events = [long, short].map((tool) => ({
    ...{ call_id: tool, agent_id: 'shop-agent-0', tool_name: tool, verdict: 'call_allowed' },
    timestamp: new Date().toISOString(),
    payload: { tool_args: {} },
  }));
  const sent = await hub.call('POST', '/api/v1/events', { key, agent: 'shop-agent-0', body: { events } });
  expect(sent.status).toBe(200);
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/explore');
  const filters = page.getByRole('complementary', { name: 'Filters' });
  await filters.getByText('2 matching events').waitFor();
  const ids = [long, short].map((text) =>
    filters.getByRole('button', { name: new RegExp(`^${text}`) }).locator('.id'),
  );
  const pictures = () => Promise.all(ids.map((id) => id.screenshot()));
  await expect
    .poll(() => Promise.all(ids.map((id) => id.getAttribute('data-end'))))
    .toEqual(['9f3c1', '9f3c2']);
  const [longBefore, shortBefore] = await pictures();
  await page.evaluate(
    `for (const id of document.querySelectorAll('.facets .id')) id.removeAttribute('data-end')`,
  );
  const [longAfter, shortAfter] = await pictures();
  // The last letters are those of the attribute where the id is cut, and hidden where it is not.
  expect(longBefore?.equals(longAfter ?? longBefore)).toBe(false);
  expect(shortBefore?.equals(shortAfter ?? Buffer.alloc(0))).toBe(true);
  noFaults(visit);
  await visit.context.close();
});
