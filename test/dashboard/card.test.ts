// The card of an approval: everything that somebody needs who decides, rendered as what it is; and many decided at
// once with different ends.
import { describe, expect, it } from 'vitest';
import { moneyOf } from '../../src/approval/rules/argument-line.ts';
import { commandParts, editsOf } from '../../src/dashboard/lib/call-values.ts';
import { diffLines, pairedWords } from '../../src/dashboard/lib/diff.ts';
import { itAtNight } from '../runs.ts';
import { accessible, ask, noFaults, view } from './browser.ts';
import { tenantWithKey } from './file-hub.ts';

const { hub, cookie, key } = await tenantWithKey();

describe('the card of an approval', () => {
  it('says on whose behalf, which contracts ask, and what the agent did before but not since', async () => {
    const report = (tool: string, path: string) =>
      hub.call('POST', '/api/v1/events', {
        key,
        agent: 'asker',
        body: {
          events: [
            { call_id: tool, tool_name: tool, verdict: 'call_allowed', payload: { tool_args: { path } } },
          ],
        },
      });
    await report('earlier_tool', '/srv/seen.txt');
    const id = await ask(
      hub,
      key,
      {
        tool_name: 'refund',
        call_id: 'the-call',
        session_id: 'the-session',
        principal: { user_id: 'ann', role: 'clerk', team: 'returns' },
        contracts: [
          { name: 'large-refunds', message: 'Over 500.' },
          { name: 'new-customers', message: 'Known for a day.' },
        ],
        tool_args: {
          amount_cents: 90_050,
          currency: 'EUR',
          path: '/srv/shop/orders/A-1.json',
          url: 'https://bank.example@evil.example/pay?x=1',
          argv: ['rm', '-rf', '/tmp/a b'],
          edits: [{ oldText: 'const limit = 500;\nsame', newText: 'const limit = 900;\nsame' }],
          patch: '@@ -1 +1 @@\n-old line\n+new line',
        },
      },
      'asker',
    );
    await report('later_tool', '/srv/later.txt');
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto(`/dashboard/approvals/${id}`);
    const card = page.getByRole('article');
    await card.getByText('on behalf of ann as clerk (team: returns)').waitFor();
    await card.getByText('large-refunds').waitFor();
    await card.getByText('Known for a day.').waitFor();
    await card.getByText('EUR 900.50').waitFor();
    await expect.poll(() => card.locator('strong', { hasText: /^A-1\.json$/ }).count()).toBe(1);
    await expect.poll(() => card.locator('strong', { hasText: /^evil\.example$/ }).count()).toBe(1);
    await expect.poll(() => card.locator('.command-program').allTextContents()).toEqual(['rm']);
    await card.getByText("rm -rf '/tmp/a b'").waitFor();
    const edit = card.getByRole('group', { name: 'Edit 1' });
    await expect.poll(() => edit.locator('.diff-word').allTextContents()).toEqual(['500', '900']);
    await card
      .getByRole('group', { name: 'patch' })
      .getByText('added: new line')
      .or(card.getByText('new line'))
      .first()
      .waitFor();
    await card.getByRole('link', { name: 'earlier_tool /srv/seen.txt' }).waitFor();
    expect(await card.getByText('later_tool').count()).toBe(0);
    await accessible(page);
    await card.getByRole('link', { name: 'View run' }).click();
    await page.waitForURL(/runs\/asker\/the-session/);
    noFaults(visit);
    await visit.context.close();
  });

  it('shows all of arguments that a list leaves out', async () => {
    const last = 'the very last line';
    await ask(
      hub,
      key,
      {
        tool_name: 'write_all',
        timeout: 50,
        tool_args: { old_string: 'x\n'.repeat(3_000), new_string: `${'y\n'.repeat(3_000)}${last}` },
      },
      'writer',
    );
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/inbox');
    const card = page.getByRole('article', { name: 'Approval of write_all' });
    await card.getByRole('button', { name: /^Show all [\d,]+ lines/ }).click();
    await card.getByText(last).waitFor();
    noFaults(visit);
    await visit.context.close();
  });
});

describe('a decision by keyboard and by thumb', () => {
  it.each([800, 600])(
    'shows all of a long name, and scrolls by Space at a width of %i, too',
    async (width) => {
      const tool_name = `long_${'name_'.repeat(39)}`;
      const tool_args = { steps: Array.from({ length: 60 }, (_, n) => `step ${n}`).join('\n') };
      await ask(hub, key, { tool_name, tool_args, timeout: 3_600 }, `asker-${width}`);
      const visit = await view(hub.url, { cookie, width });
      const { page } = visit;
      await page.goto(`/dashboard/inbox?q=agent%3Aasker-${width}`);
      // A phone opens the first call by itself.
      if (width > 640)
        await page.getByRole('grid', { name: 'Approvals' }).getByRole('button', { name: /asker/ }).click();
      const card = page.getByRole('article');
      await card
        .getByRole('heading', { level: 2 })
        .getByRole('button', { name: 'Show all 200 characters' })
        .click();
      await card.getByText(tool_name).first().waitFor();
      await page.evaluate('document.activeElement.blur()');
      const top = () => page.evaluate("document.querySelector('#content').scrollTop") as Promise<number>;
      const before = await top();
      await page.keyboard.press('Space');
      await expect.poll(top).toBeGreaterThan(before);
      noFaults(visit);
      await visit.context.close();
    },
  );

  it('takes the focus to what came of it', async () => {
    const id = await ask(hub, key, { tool_name: 'focused' }, 'focus-agent');
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto(`/dashboard/approvals/${id}`);
    const approve = page.getByRole('button', { name: /^Approve/ });
    await approve.focus();
    await page.keyboard.press('Enter');
    await page.getByText('Approved by admin@example.com').waitFor();
    await expect
      .poll(() => page.evaluate('document.activeElement?.textContent'))
      .toMatch(/^Approved by admin@example.com/);
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight('has its buttons under the thumb on a phone, however long the card is', async () => {
    const lines = Array.from({ length: 40 }, (_, n) => [`argument_${n}`, `value ${n}`]);
    const id = await ask(
      hub,
      key,
      { tool_name: 'long_card', tool_args: Object.fromEntries(lines) },
      'thumb-agent',
    );
    const visit = await view(hub.url, { cookie, width: 360, height: 740, touch: true });
    const { page } = visit;
    await page.goto(`/dashboard/approvals/${id}`);
    const deny = page.getByRole('button', { name: /^Deny/ });
    await page.getByText('argument_0').waitFor();
    await page.getByText('argument_0').scrollIntoViewIfNeeded();
    const box = await deny.boundingBox();
    expect(box?.height).toBeGreaterThanOrEqual(44);
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThan(740);
    expect(box?.y).toBeGreaterThan(370);
    await accessible(page);
    await deny.tap();
    await page.getByText('Denied by admin@example.com').waitFor();
    noFaults(visit);
    await visit.context.close();
  });
});

describe('many approvals at once', () => {
  itAtNight('says what came of each; those that failed stay selected, with the reason', async () => {
    const ids = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        ask(hub, key, { tool_name: 'mixed', timeout: 400 + n }, `mixed-agent-${n}`),
      ),
    );
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/inbox?search=mixed');
    await page.getByText('Search found 10 pending calls.').waitFor();
    let max = 0;
    let now = 0;
    await page.route(/\/api\/v1\/approvals\/[\w-]+$/, async (route) => {
      const request = route.request();
      if (request.method() !== 'PUT') return route.continue();
      now += 1;
      max = Math.max(max, now);
      // One is decided by somebody else a moment before, one meets a hub that is too busy.
      if (request.url().endsWith(ids[3] ?? '')) {
        await hub.call('PUT', `/api/v1/approvals/${ids[3]}`, { cookie, body: { approved: false } });
      }
      const response = request.url().endsWith(ids[4] ?? '') ? null : await route.fetch();
      now -= 1;
      return response
        ? route.fulfill({ response })
        : route.fulfill({
            status: 503,
            headers: { 'Retry-After': '2' },
            contentType: 'application/json',
            body: '{"detail":"Not now.","code":"overloaded"}',
          });
    });
    await page.getByRole('checkbox', { name: /from mixed-agent-2$/ }).check();
    await page.getByRole('checkbox', { name: /from mixed-agent-5$/ }).click({ modifiers: ['Shift'] });
    await page.getByText('4 selected').waitFor();
    await page.getByRole('checkbox', { name: 'Select all 10' }).check();
    await page.getByRole('textbox', { name: 'Reason for all' }).fill('looked at them');
    await page.getByRole('button', { name: 'Approve 10' }).click();
    await page.getByRole('dialog').locator('.read-end').scrollIntoViewIfNeeded();
    await page.getByRole('dialog').getByRole('button', { name: 'Approve 10' }).click();
    await page
      .getByText('8 calls approved, 1 already decided by others, 1 failed and still selected.')
      .waitFor();
    expect(max).toBeLessThanOrEqual(8);
    const bulk = page.getByRole('region', { name: 'Bulk decision' });
    await bulk.getByText(/^Try again in \d s/).waitFor();
    expect(await bulk.getByRole('textbox').inputValue()).toBe('looked at them');
    await accessible(page);
    await page.unroute(/\/api\/v1\/approvals\/[\w-]+$/);
    await page.getByRole('button', { name: 'Approve 1' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Approve 1' }).click();
    await page.getByText('1 call approved.').waitFor();
    const { body } = await hub.call('GET', `/api/v1/approvals/${ids[4]}`, { cookie });
    expect(body).toMatchObject({ status: 'approved', decision_reason: 'looked at them' });
    noFaults(visit);
    await visit.context.close();
  });
});

describe('values of a call', () => {
  it('keep every character of a command, whatever it is', () => {
    for (const command of [
      `FOO=1 sudo rm -rf "$HOME/x y" 'a''b' | tee >(cat) && echo \`id\` ; $(curl -s x)`,
      'a \\\n -b "unfinished',
      `'`,
      '$',
      '\\',
      '${x',
      '((1+2))',
    ]) {
      expect(
        commandParts(command)
          .map(([, text]) => text)
          .join(''),
      ).toBe(command);
    }
    expect(commandParts('A=1 sudo -n ls | wc').filter(([kind]) => kind === 'program')).toEqual([
      ['program', 'sudo'],
      ['program', 'wc'],
    ]);
  });

  it('show nothing as an edit that says more than an edit', () => {
    expect(editsOf({ edits: [{ oldText: 'a', newText: 'b', line: 3 }] }).edits).toEqual([]);
    expect(editsOf({ old_string: 'a', new_string: 'b', path: 'p' })).toEqual({
      names: ['old_string', 'new_string'],
      edits: [{ before: 'a', after: 'b' }],
    });
  });

  it('name a sum only where its currency is known, and round nothing away', () => {
    expect(moneyOf('amount', 900, {})).toBeNull();
    expect(moneyOf('amount', 900, { currency: 'eur' })).toBe('EUR 900.00');
    expect(moneyOf('price', '12.3456', { currency: 'USD' })).toBe('USD 12.3456');
    expect(moneyOf('amount_minor', 900, { currency: 'JPY' })).toBe('JPY 900');
    expect(moneyOf('amount', { value: 5, currency: 'EUR' }, {})).toBe('EUR 5.00');
    expect(moneyOf('amount', 'many', { currency: 'EUR' })).toBeNull();
  });

  it('mark the words of a line that stands for another, and of no others', () => {
    const lines = diffLines('a b c\nqqq\n', 'a x c\nzzz\n');
    const words = pairedWords(lines);
    expect([...words.values()].flat().filter(({ kind }) => kind !== 'same')).toEqual([
      { kind: 'removed', text: 'b' },
      { kind: 'added', text: 'x' },
    ]);
  });
});
